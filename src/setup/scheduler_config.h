/// A user's kube-scheduler configuration as values with their lines: what concerns extenders, from
/// every form (v1beta1 to v1, the legacy Policy), YAML or JSON. Thread rule: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "setup/config_form.h"
#include "setup/finding.h"

namespace tessera::setup {

/// A value and the line where it is written; line 0 = not written.
template <class T>
struct Given {
  T value{};
  int line = 0;
  bool given() const { return line > 0; }
};

struct ManagedResource {
  std::string path;
  int line = 0;
  Given<std::string> name;
  Given<bool> ignored_by_scheduler;
};

struct TlsConfig {
  Given<bool> insecure;
  Given<std::string> ca_file, ca_data;
  Given<std::string> server_name, cert_file, key_file, cert_data, key_data;
  bool has_ca() const { return !ca_file.value.empty() || !ca_data.value.empty(); }
};

struct ExtenderConfig {
  std::string path;  ///< "extenders[0]"
  int line = 0;
  Given<std::string> url_prefix, filter_verb, prioritize_verb, bind_verb, preempt_verb;
  Given<std::int64_t> weight;
  Given<bool> enable_https, node_cache_capable, ignorable;
  Given<std::chrono::nanoseconds> http_timeout;
  Given<TlsConfig> tls;
  Given<std::vector<ManagedResource>> managed_resources;
};

struct ProfileConfig {
  std::string path;
  Given<std::string> scheduler_name;
  Given<std::int64_t> percentage_of_nodes_to_score;
};

struct LeaderElectionConfig {
  Given<bool> leader_elect;
  Given<std::string> resource_name, resource_namespace, resource_lock;
};

struct SchedulerConfig {
  const ConfigForm* form = nullptr;
  Given<std::string> api_version;
  Given<LeaderElectionConfig> leader_election;
  Given<std::int64_t> percentage_of_nodes_to_score, pod_initial_backoff, pod_max_backoff;
  Given<std::vector<ProfileConfig>> profiles;
  Given<std::vector<ExtenderConfig>> extenders;
};

struct ReadConfig {
  SchedulerConfig config;  ///< usable when `readable`
  std::vector<Finding> findings;
  bool readable = false;  ///< false: no form of the configuration; the findings say why
};
ReadConfig read_scheduler_config(std::string_view text);

/// Every field of an extender in this form.
std::vector<std::string_view> extender_fields(const ConfigForm& form);

}  // namespace tessera::setup
