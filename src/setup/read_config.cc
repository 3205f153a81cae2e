#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "setup/nearest.h"
#include "setup/scheduler_config.h"
#include "vendors/yaml_reader.h"

namespace tessera::setup {
namespace {

using std::string_view;
using vendors::yaml_path;

constexpr std::size_t kMaxBytes = 1u << 20;
constexpr std::int64_t kMaxInteger = INT64_MAX;
constexpr string_view kRefuses = "kube-scheduler refuses the file and does not start";

/// One document being read.
struct Source {
  vendors::YamlReader& yaml;
  const ConfigForm* form = nullptr;
  std::vector<Finding>& findings;
  int line = 0;  ///< of the key whose value is being read
};

int line_of(const YAML::Node& node) { return std::max(node.Mark().line + 1, 1); }

void read(Source& s, const YAML::Node& node, const std::string& path, Given<std::string>& out) {
  s.yaml.string(node, path, out.value);
  out.line = s.line;
}

void read(Source& s, const YAML::Node& node, const std::string& path, Given<bool>& out) {
  s.yaml.boolean(node, path, out.value);
  out.line = s.line;
}

void read(Source& s, const YAML::Node& node, const std::string& path, Given<std::int64_t>& out) {
  s.yaml.integer(node, path, kMaxInteger, out.value);
  out.line = s.line;
}

/// A member that the form does not know.
void unknown_field(Source& s, const YAML::Node& at, const std::string& path, string_view name,
                   std::span<const string_view> known) {
  const string_view meant = nearest(name, known);
  Finding f{.severity = s.form->policy ? Severity::kWarning : Severity::kError,
            .line = line_of(at),
            .path = yaml_path(path, std::string(name)),
            .value = {},
            .what = s.form->policy
                        ? "no field of a Policy: kube-scheduler drops it without a word, it has "
                          "no effect"
                        : fmt::format("no field of {}: {}", s.form->api_version, kRefuses),
            .instead = meant.empty() ? std::string() : std::string(meant)};
  s.findings.push_back(std::move(f));
}

template <class T>
struct Field {
  string_view name;
  void (*read)(Source& s, const YAML::Node& node, const std::string& path, T& out);
  enum class In : std::uint8_t { kBoth, kPolicy, kConfiguration } in = In::kBoth;
};

template <class T>
bool belongs(const Field<T>& field, const ConfigForm& form) {
  using In = typename Field<T>::In;
  return field.in == In::kBoth || (field.in == In::kPolicy) == form.policy;
}

/// Reads the members that the table names; others are findings.
template <class T, std::size_t N>
void read_object(Source& s, const YAML::Node& node, const std::string& path,
                 const std::array<Field<T>, N>& fields, T& out) {
  std::vector<string_view> known;
  for (const Field<T>& field : fields) {
    if (belongs(field, *s.form)) known.push_back(field.name);
  }
  s.yaml.members(
      node, path, [&](const std::string& name, const YAML::Node& at, const YAML::Node& value) {
        const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field<T>& f) {
          return f.name == name && belongs(f, *s.form);
        });
        if (field == fields.end()) return unknown_field(s, at, path, name, known);
        s.line = line_of(at);
        field->read(s, value, yaml_path(path, name), out);
      });
}

/// `[](…) { read(s, n, p, out.MEMBER); }` for a member that is read by its type.
template <auto Member, class T>
void plain(Source& s, const YAML::Node& node, const std::string& path, T& out) {
  read(s, node, path, out.*Member);
}

constexpr std::array<Field<TlsConfig>, 8> kTlsFields = {{
    {"insecure", plain<&TlsConfig::insecure>},
    {"serverName", plain<&TlsConfig::server_name>},
    {"certFile", plain<&TlsConfig::cert_file>},
    {"keyFile", plain<&TlsConfig::key_file>},
    {"caFile", plain<&TlsConfig::ca_file>},
    {"certData", plain<&TlsConfig::cert_data>},
    {"keyData", plain<&TlsConfig::key_data>},
    {"caData", plain<&TlsConfig::ca_data>},
}};

constexpr std::array<Field<ManagedResource>, 2> kResourceFields = {{
    {"name", plain<&ManagedResource::name>},
    {"ignoredByScheduler", plain<&ManagedResource::ignored_by_scheduler>},
}};

void read_timeout(Source& s, const YAML::Node& node, const std::string& path, ExtenderConfig& out) {
  Given<std::string> words;
  read(s, node, path, words);
  out.http_timeout.line = words.line;
  if (words.value.empty()) return;
  const auto duration = parse_duration(words.value);
  if (!duration || (words.value == "0" && node.Tag() != "!")) {
    return s.yaml.fault(node, path, "a text like 30s is expected");
  }
  out.http_timeout.value = *duration;
}

void read_nanoseconds(Source& s, const YAML::Node& node, const std::string& path,
                      ExtenderConfig& out) {
  Given<std::int64_t> count;
  read(s, node, path, count);
  out.http_timeout = {std::chrono::nanoseconds(count.value), count.line};
}

void read_tls(Source& s, const YAML::Node& node, const std::string& path, ExtenderConfig& out) {
  out.tls.line = s.line;
  read_object(s, node, path, kTlsFields, out.tls.value);
}

void read_resources(Source& s, const YAML::Node& node, const std::string& path,
                    ExtenderConfig& out) {
  out.managed_resources.line = s.line;
  s.yaml.elements(node, path, [&](const std::string& at, const YAML::Node& element) {
    ManagedResource resource{
        .path = at, .line = line_of(element), .name = {}, .ignored_by_scheduler = {}};
    read_object(s, element, at, kResourceFields, resource);
    out.managed_resources.value.push_back(std::move(resource));
  });
}

using ExtenderField = Field<ExtenderConfig>;
constexpr std::array<ExtenderField, 14> kExtenderFields = {{
    {"urlPrefix", plain<&ExtenderConfig::url_prefix>},
    {"filterVerb", plain<&ExtenderConfig::filter_verb>},
    {"preemptVerb", plain<&ExtenderConfig::preempt_verb>},
    {"prioritizeVerb", plain<&ExtenderConfig::prioritize_verb>},
    {"weight", plain<&ExtenderConfig::weight>},
    {"bindVerb", plain<&ExtenderConfig::bind_verb>},
    {"enableHTTPS", plain<&ExtenderConfig::enable_https>, ExtenderField::In::kConfiguration},
    {"enableHttps", plain<&ExtenderConfig::enable_https>, ExtenderField::In::kPolicy},
    {"tlsConfig", read_tls},
    {"httpTimeout", read_timeout, ExtenderField::In::kConfiguration},
    {"httpTimeout", read_nanoseconds, ExtenderField::In::kPolicy},
    {"nodeCacheCapable", plain<&ExtenderConfig::node_cache_capable>},
    {"managedResources", read_resources},
    {"ignorable", plain<&ExtenderConfig::ignorable>},
}};

void read_extenders(Source& s, const YAML::Node& node, const std::string& path,
                    SchedulerConfig& out) {
  out.extenders.line = s.line;
  s.yaml.elements(node, path, [&](const std::string& at, const YAML::Node& element) {
    ExtenderConfig extender;
    extender.path = at;
    extender.line = line_of(element);
    read_object(s, element, at, kExtenderFields, extender);
    out.extenders.value.push_back(std::move(extender));
  });
}

void read_profiles(Source& s, const YAML::Node& node, const std::string& path,
                   SchedulerConfig& out) {
  out.profiles.line = s.line;
  s.yaml.elements(node, path, [&](const std::string& at, const YAML::Node& element) {
    ProfileConfig profile;
    profile.path = at;
    s.yaml.members(element, at,
                   [&](const std::string& name, const YAML::Node& key, const YAML::Node& value) {
                     const auto& known = s.form->profile_fields;
                     if (std::find(known.begin(), known.end(), name) == known.end())
                       return unknown_field(s, key, at, name, known);
                     s.line = line_of(key);
                     if (name == "schedulerName")
                       read(s, value, yaml_path(at, name), profile.scheduler_name);
                     if (name == "percentageOfNodesToScore")
                       read(s, value, yaml_path(at, name), profile.percentage_of_nodes_to_score);
                   });
    out.profiles.value.push_back(std::move(profile));
  });
}

void pass(Source&, const YAML::Node&, const std::string&, LeaderElectionConfig&) {}

constexpr std::array<Field<LeaderElectionConfig>, 7> kLeaderFields = {{
    {"leaderElect", plain<&LeaderElectionConfig::leader_elect>},
    {"resourceName", plain<&LeaderElectionConfig::resource_name>},
    {"resourceNamespace", plain<&LeaderElectionConfig::resource_namespace>},
    {"resourceLock", plain<&LeaderElectionConfig::resource_lock>},
    {"leaseDuration", pass},
    {"renewDeadline", pass},
    {"retryPeriod", pass},
}};

void read_file(Source& s, const YAML::Node& document, SchedulerConfig& out) {
  s.yaml.members(document, "",
                 [&](const std::string& name, const YAML::Node& at, const YAML::Node& value) {
                   const auto& known = s.form->fields;
                   if (std::find(known.begin(), known.end(), name) == known.end())
                     return unknown_field(s, at, "", name, known);
                   s.line = line_of(at);
                   if (name == "extenders") read_extenders(s, value, name, out);
                   if (name == "profiles") read_profiles(s, value, name, out);
                   if (name == "percentageOfNodesToScore")
                     read(s, value, name, out.percentage_of_nodes_to_score);
                   if (name == "podInitialBackoffSeconds")
                     read(s, value, name, out.pod_initial_backoff);
                   if (name == "podMaxBackoffSeconds") read(s, value, name, out.pod_max_backoff);
                   if (name == "leaderElection") {
                     out.leader_election.line = s.line;
                     read_object(s, value, name, kLeaderFields, out.leader_election.value);
                   }
                 });
}

std::string scalar(const YAML::Node& document, const char* key) {
  const YAML::Node node = document[key];
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : std::string();
}

/// Sets the form, or says why there is none.
void find_kind(const YAML::Node& document, ReadConfig& result) {
  const std::string kind = scalar(document, "kind");
  const std::string version = scalar(document, "apiVersion");
  SchedulerConfig& config = result.config;
  config.form = find_form(kind, version);
  if (config.form != nullptr) {
    config.api_version = {version, line_of(document["apiVersion"])};
    return;
  }
  Finding f{.severity = Severity::kError,
            .line = 0,
            .path = "kind",
            .value = kind,
            .what = {},
            .instead = {}};
  if (kind == "ConfigMap") {
    f.what =
        "the ConfigMap around the configuration: what stands under data goes into a file of "
        "its own to be checked";
  } else if (kind != "Policy" && kind != "KubeSchedulerConfiguration") {
    f.what = fmt::format("no configuration of kube-scheduler: {}", kRefuses);
    f.instead = "kind: KubeSchedulerConfiguration";
  } else {
    const bool policy = kind == "Policy";
    f.path = "apiVersion";
    f.value = version;
    f.what = fmt::format("not a version of {} that is known: {}", kind, kRefuses);
    f.instead = policy ? "apiVersion: v1"
                       : "apiVersion: kubescheduler.config.k8s.io/v1 (Kubernetes 1.25 and newer), "
                         "v1beta3 (1.23 to 1.28), v1beta2 (1.22 to 1.27) or v1beta1 (1.19 to 1.22)";
  }
  const YAML::Node at = document[f.path == "kind" ? "kind" : "apiVersion"];
  if (at.IsDefined()) f.line = line_of(at);
  result.findings.push_back(std::move(f));
}

void read_document(const YAML::Node& document, ReadConfig& result) {
  if (!document.IsMap()) {
    result.findings.push_back({.severity = Severity::kError,
                               .line = 0,
                               .path = {},
                               .value = {},
                               .what = "empty or no mapping: no configuration of kube-scheduler",
                               .instead = {}});
    return;
  }
  find_kind(document, result);
  if (result.config.form == nullptr) return;
  vendors::ConfigResult told;
  vendors::YamlReader yaml(told);
  Source source{yaml, result.config.form, result.findings};
  read_file(source, document, result.config);
  const bool policy = result.config.form->policy;
  for (const vendors::ConfigFault& f : told.faults) {
    result.findings.push_back(
        {Severity::kError, f.line, f.key, f.value, fmt::format("{}; {}", f.what, kRefuses), {}});
  }
  for (const vendors::ConfigFault& f : told.notes) {
    result.findings.push_back({policy ? Severity::kWarning : Severity::kError,
                               f.line,
                               f.key,
                               f.value,
                               policy ? f.what : fmt::format("{}; {}", f.what, kRefuses),
                               {}});
  }
  result.readable = true;
}

/// The line where a second document begins; 0 = there is none. (The library's way to load all of
/// them does not come to an end on some broken texts.)
int second_document(string_view text) {
  bool content = false;
  int line = 0, marker = 0;
  for (const string_view raw : tessera::text::split(text, '\n')) {
    ++line;
    const string_view words = tessera::text::trim(raw);
    if (words.empty() || words.front() == '#') continue;
    if (marker > 0) return marker;
    const bool begins = raw.starts_with("---") &&
                        (raw.size() == 3 || raw[3] == ' ' || raw[3] == '\t' || raw[3] == '\r');
    if (begins && content) {
      if (words.size() > 3) return line;
      marker = line;
    }
    content = content || !begins;
  }
  return 0;
}

}  // namespace

ReadConfig read_scheduler_config(string_view text) {
  ReadConfig result;
  const auto unreadable = [&](int line, std::string what) {
    result.readable = false;
    result.findings.push_back({.severity = Severity::kError,
                               .line = line,
                               .path = {},
                               .value = {},
                               .what = std::move(what),
                               .instead = {}});
  };
  if (text.size() > kMaxBytes) {
    unreadable(0, fmt::format("larger than {} bytes", kMaxBytes));
    return result;
  }
  try {
    // The library reports bad input by exceptions; they end here.
    read_document(YAML::Load(std::string(text)), result);
    const int second = result.readable ? second_document(text) : 0;
    if (second > 0) {
      result.findings.push_back({.severity = Severity::kWarning,
                                 .line = second,
                                 .path = {},
                                 .value = {},
                                 .what = "a second document: kube-scheduler reads the first only",
                                 .instead = {}});
    }
  } catch (const YAML::Exception& e) {
    unreadable(std::max(e.mark.line + 1, 0), fmt::format("neither YAML nor JSON: {}", e.msg));
  } catch (const std::exception& e) {
    unreadable(0, fmt::format("neither YAML nor JSON: {}", e.what()));
  }
  return result;
}

std::vector<string_view> extender_fields(const ConfigForm& form) {
  std::vector<string_view> names;
  for (const ExtenderField& field : kExtenderFields) {
    if (belongs(field, form)) names.push_back(field.name);
  }
  return names;
}

}  // namespace tessera::setup
