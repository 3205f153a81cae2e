/// A vendor is data plus the few functions that data cannot say. Source: spec/device-model.md
/// section 4, devices/*.md. Everything that vendors share (codecs, filters, asks from resource
/// names, defaults) is written once in this module for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/allocation.h"
#include "core/device.h"
#include "core/request.h"
#include "k8s/objects.h"

namespace tessera::vendors {

struct Vendor;

/// What the webhook does to one container of a device pod. Values are JSON-ready texts.
struct ContainerMutation {
  bool uses_device = false;
  std::vector<std::pair<std::string, std::string>> set_limits;  ///< resource -> quantity text
  std::vector<std::pair<std::string, std::string>> append_env;  ///< name -> value
};

struct Vendor {
  std::string word;  ///< common word, e.g. in device texts
  std::string count_resource, memory_resource, memory_percent_resource, core_resource,
      priority_resource;  ///< "" = none
  std::int64_t memory_factor = 1, default_memory = 0, default_cores = 0, default_count = 0;
  std::string register_key, handshake_key, score_key;  ///< node annotations, "" = none
  std::string cordon_key;                      ///< node annotation, comma list of device ids
  std::string to_allocate_key, allocated_key;  ///< pod annotations
  std::string use_model_key, nouse_model_key, use_id_key, nouse_id_key, numa_bind_key, mode_key;
  bool locks_node = true;         ///< its agents rely on hami.io/mutex.lock
  std::string runtime_class;      ///< put on pods that use it and have none
  bool hide_from_others = false;  ///< containers without device get the hiding env
  std::string hide_env_name, hide_env_value;
  std::string core_policy_env_name,
      core_policy_env_value;  ///< appended to every container when the value is set
  std::string priority_env_name;
  core::VendorRules rules;
  /// Hooks; null = the shared rule.
  Result<ContainerMutation> (*mutate)(const Vendor&, const k8s::Container&) = nullptr;
};

}  // namespace tessera::vendors
