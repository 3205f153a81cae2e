/// What users write on pods to steer a placement: policies and lists. Source: spec/device-model.md
/// sections 4, 13; decisions D7. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/request.h"
#include "k8s/objects.h"
#include "vendors/vendor.h"
#include "vendors/vendors.h"

namespace tessera::vendors {

inline constexpr std::string_view kNodePolicyKey = "hami.io/node-scheduler-policy";
inline constexpr std::string_view kDevicePolicyKey = "hami.io/gpu-scheduler-policy";
inline constexpr std::string_view kNodeLockKey = "hami.io/mutex.lock";
inline constexpr std::string_view kAssignedNodeKey = "hami.io/vgpu-node";

/// The pod's policies where it names ones that exist, else the defaults; every word that is not
/// served gives a warning.
PolicyDefaults pod_policies(const k8s::Pod& pod, const PolicyDefaults& defaults,
                            std::vector<std::string>& warnings);

core::Constraints pod_constraints(const k8s::Pod& pod, const Vendor& vendor, VendorId id);

/// Pieces between commas, trimmed, empty ones dropped.
std::vector<std::string> comma_list(std::string_view text);

/// Annotations spelled like a resource: the user meant limits, the scheduler never reads them (case
/// 40).
void warn_about_resource_annotations(const k8s::Pod& pod, const std::vector<std::string>& resources,
                                     std::vector<std::string>& warnings);

/// Written by schedulers and agents only.
bool scheduler_key(std::string_view key);

}  // namespace tessera::vendors
