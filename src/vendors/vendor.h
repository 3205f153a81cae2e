/// A vendor is data plus the few functions that data cannot say. Source: spec/device-model.md
/// section 4, devices/*.md. Everything that vendors share (codecs, filters, asks from resource
/// names, defaults) is written once in this module for all of them; an empty hook means the shared
/// rule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/allocation.h"
#include "core/cluster.h"
#include "core/device.h"
#include "core/request.h"
#include "core/vendor_hooks.h"
#include "k8s/objects.h"

namespace tessera::vendors {

struct Vendor;

/// What the webhook does to one container of a device pod. Values are quantity texts.
struct ContainerMutation {
  bool uses_device = false;
  std::vector<std::pair<std::string, std::string>> set_limits;    ///< resource -> quantity text
  std::vector<std::pair<std::string, std::string>> set_requests;  ///< the same
  std::vector<std::pair<std::string, std::string>> append_env;    ///< name -> value
  std::vector<std::string> warnings;  ///< "… 9000 counts as 16384": rounded values (D7)
};

/// A pair of pod annotations with comma lists of device ids.
struct IdKeys {
  std::string use, nouse;
};

struct Vendor {
  std::string word;     ///< common word, e.g. in device texts
  std::string section;  ///< of the device configuration
  std::string count_resource, memory_resource, memory_percent_resource, core_resource,
      priority_resource;  ///< "" = none
  std::int64_t memory_factor = 1, default_memory = 0, default_cores = 0, default_count = 0;
  std::string register_key, handshake_key, score_key;  ///< node annotations, "" = none
  std::string cordon_key;                      ///< node annotation, comma list of device ids
  std::string to_allocate_key, allocated_key;  ///< pod annotations
  std::string use_model_key, nouse_model_key, numa_bind_key, mode_key;
  std::vector<IdKeys> id_keys;         ///< every pair must accept a device
  std::vector<std::string> pod_keys;   ///< further annotations that only the scheduler or agents
                                       ///< write (kept, stripped on CREATE)
  std::vector<std::string> user_keys;  ///< further pod annotations of users that hooks read
  std::vector<std::string> node_keys;  ///< further node annotations that hooks read
  bool offered_by_capacity = false;  ///< D9: status.capacity of the count resource, not allocatable
  /// D9: its agents report in the handshake annotation, so after a loss a fresh report is waited
  /// for. False: they write none, only allocatable counts. Without handshake_key it says nothing.
  bool reports_by_handshake = true;
  bool locks_node = true;         ///< its agents rely on hami.io/mutex.lock
  std::string runtime_class;      ///< put on pods that use it and have none
  bool hide_from_others = false;  ///< containers without device get the hiding env
  std::string hide_env_name, hide_env_value;
  std::string core_policy_env_name,
      core_policy_env_value;  ///< appended to every container when the value is set
  std::string priority_env_name;
  core::VendorRules rules;
  std::shared_ptr<const core::VendorHooks> hooks;  ///< keeps rules.hooks alive

  // Functions; empty = the shared rule. They may hold what they need of the configuration.
  std::function<Result<ContainerMutation>(const Vendor&, const k8s::Pod&, const k8s::Container&)>
      mutate;
  /// nullopt: nothing is asked. Warnings are appended.
  std::function<Result<std::optional<core::DeviceAsk>>(
      const Vendor&, const k8s::Container&, VendorId, std::vector<std::string>& warnings)>
      ask;
  /// Devices of a node that come from elsewhere than the register annotation. nullopt = the node
  /// has none.
  std::function<Result<std::optional<std::vector<core::Device>>>(const Vendor&, const k8s::Node&,
                                                                 VendorId)>
      devices;
  /// Traits, links and the like, after the devices are in `spec`. An error costs this vendor's
  /// devices on the node.
  std::function<Status(const Vendor&, const k8s::Node&, VendorId, core::NodeSpec& spec)> node_extra;
  std::function<void(const Vendor&, const k8s::Pod&, core::Constraints&)> constrain;
  /// Further pod annotations of a decision that grants devices of this vendor.
  std::function<void(const Vendor&, VendorId, const core::Allocation&, WallTime now,
                     k8s::StringMap& out)>
      annotate;
  /// Reads back what `annotate` wrote, into an allocation that has the grants already.
  std::function<Status(const Vendor&, VendorId, const k8s::Pod&, core::Allocation&)> recall;
};

}  // namespace tessera::vendors
