/// What users write on pods to steer a placement: policies and lists. Source: spec/device-model.md
/// sections 4, 13; decisions D7. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/request.h"
#include "k8s/objects.h"
#include "vendors/vendor.h"
#include "vendors/vendors.h"

namespace tessera::vendors {

inline constexpr std::string_view kNodePolicyKey = "hami.io/node-scheduler-policy";
inline constexpr std::string_view kDevicePolicyKey = "hami.io/gpu-scheduler-policy";
inline constexpr std::string_view kScoringWeightsKey = "hami.io/device-scoring-weights";
inline constexpr std::string_view kNodeLockKey = "hami.io/mutex.lock";
inline constexpr std::string_view kAssignedNodeKey = "hami.io/vgpu-node";

/// What the pod prefers, into a request whose positions are known: its policies where it names ones
/// that exist, else the defaults; weights; links. Every word that is not served gives a warning, an
/// unreadable list of weights is an error in HAMi's words.
Status read_preferences(const k8s::Pod& pod, const PolicyDefaults& defaults, core::Request& request,
                        std::vector<std::string>& warnings);
/// The warnings of read_preferences() alone.
void warn_about_policies(const k8s::Pod& pod, std::vector<std::string>& warnings);

/// `slot=1,core=1,memory=3`: all three, in any order (spec/scheduler.md section 10.3).
Result<core::ScoreWeights> parse_scoring_weights(std::string_view value);

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
