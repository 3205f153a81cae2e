/// Which pods must go so that one pod fits: the cheapest set over all nodes. Source: decisions D13,
/// spec/extender-protocol.md section 5.5. The cluster is changed while a plan is made (holds are
/// lifted to see what would be without them) and is as before, to the letter, when a call returns.
/// Thread rule: the owner of the cluster calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/allocation.h"
#include "core/cluster.h"
#include "core/request.h"

namespace tessera::core {

/// A pod that holds devices and may be evicted for the pod in question: of lower priority, bound,
/// not on its way out already, not refused before.
struct Evictable {
  PodUid uid;
  std::int64_t priority = 0;
  std::int64_t started = 0;            ///< seconds since the epoch; larger = younger
  std::vector<std::uint32_t> budgets;  ///< places in the list of budgets that count this pod
};

struct PreemptionPlan {
  NodeId node;
  std::vector<PodUid>
      victims;  ///< empty: the pod fits as it is; none can be left out; order: most constrained
                ///< first (fewest disruptions left), then lowest priority, youngest, uid
  Allocation allocation;  ///< of the preemptor, when they are gone
};

/// The order of sets: lowest highest priority, fewest victims, youngest (the set whose oldest pod
/// is younger), lowest rank of the node, uids in order.
struct PreemptionLimits {
  /// Sets tried on one node before the best found so far (if any) is taken as the node's answer.
  /// Up to eleven evictable pods on a node every set is looked at, and the answer is exact.
  std::uint32_t sets_per_node = 4000;
  /// The same over all nodes: then the best found so far is the answer.
  std::uint32_t sets_in_all = 20'000;
};

/// Only sets that stay within all budgets (disruptions still allowed, by place) are plans. Empty:
/// no eviction would help on any candidate.
std::optional<PreemptionPlan> plan_preemption(Cluster& cluster, const Request& request,
                                              std::span<const NodeId> candidates,
                                              std::span<const Evictable> evictable,
                                              std::span<const std::int64_t> budgets,
                                              const PreemptionLimits& limits = {});

/// For the preempt verb: the smallest set of `evictable` (by the same order, budgets only counted)
/// that must go besides `given` so that the pod fits on the node. Empty optional: not even all of
/// them would help. `given` may name pods that hold nothing.
struct CompletedVictims {
  std::vector<PodUid> more;
  std::int64_t budget_violations = 0;  ///< of the pods in `more`
};
std::optional<CompletedVictims> complete_victims(Cluster& cluster, const Request& request,
                                                 NodeId node, std::span<const PodUid> given,
                                                 std::span<const Evictable> evictable,
                                                 std::span<const std::int64_t> budgets,
                                                 const PreemptionLimits& limits = {});

}  // namespace tessera::core
