/// The best set of pods to evict on one node. Sets are tried in the order of preference, so the
/// first one with which the pod fits is the answer; where there are too many sets, a good one that
/// is found greedily stands first, and better ones are looked for as long as the limit allows.
/// Thread rule: one object per node and decision.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/cluster_lift.h"
#include "core/fitter.h"
#include "core/preempt.h"

namespace tessera::core {

/// Smaller is better; uids decide when all is equal.
struct SetRank {
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();  ///< priority among them
  std::uint32_t count = 0;
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();  ///< start of the oldest
  std::uint32_t node = 0;                                          ///< rank of the node

  friend bool operator<(const SetRank& a, const SetRank& b) {
    if (a.highest != b.highest) return a.highest < b.highest;
    if (a.count != b.count) return a.count < b.count;
    if (a.oldest != b.oldest) return a.oldest > b.oldest;
    return a.node < b.node;
  }
};

/// Asks whether the pod fits with what is lifted now.
class Trial {
 public:
  Trial(Cluster& cluster, const Request& request);
  bool fits(NodeId node);
  Lift& lift() { return lift_; }

 private:
  Cluster& cluster_;
  const Request& request_;
  Lift lift_;
  /// Kept when no quota limits the pod: verdicts on quotas are remembered within a Fitter.
  std::optional<Fitter> fitter_;
};

struct SearchPod {
  const Evictable* pod = nullptr;
  Lift::Handle handle = 0;
  std::vector<std::uint32_t> devices;  ///< that it uses, by place on the node
};

struct SearchTerms {
  NodeId node;
  std::uint32_t rank = 0;
  bool orderly = false;    ///< RoomBound::orderly()
  bool budgeted = true;    ///< false: budgets forbid nothing
  std::uint32_t sets = 0;  ///< that may be tried
};

class NodeSearch {
 public:
  struct Found {
    SetRank rank;
    std::vector<std::uint32_t> pods;  ///< places in the list given
  };

  /// `pods` in order of uid; `costs` of the node's devices, see RoomBound.
  NodeSearch(Trial& trial, const SearchTerms& terms, std::span<const SearchPod> pods,
             std::span<const std::int64_t> budgets, std::span<const std::uint32_t> costs);

  /// The best non-empty set that has at least `fewest` pods and a highest priority of at least
  /// `level`, if it beats the rank given. Nothing is lifted afterwards that was not before.
  std::optional<Found> run(std::int64_t level, std::uint32_t fewest,
                           const std::optional<SetRank>& beat);
  std::uint32_t tried() const { return tried_; }

 private:
  std::optional<Found> at_level(std::int64_t level, std::uint32_t fewest,
                                const std::optional<SetRank>& beat);
  bool fits();
  void put_all_back();
  bool everything_helps(std::int64_t level);
  std::optional<std::int64_t> youngest_start(std::int64_t level);
  SetRank rank_of(const std::vector<std::uint32_t>& set) const;
  bool affords(std::uint32_t pod) const;
  void choose(std::uint32_t pod);
  void unchoose();

  // In order of preference.
  std::optional<Found> enumerate(std::int64_t level, std::uint32_t fewest, std::int64_t youngest,
                                 const std::optional<SetRank>& beat);
  bool sets_with(std::int64_t level, std::uint32_t count, std::int64_t oldest);
  bool extend(std::size_t from, std::uint32_t missing);
  bool completes(std::uint32_t pod) const;

  // Greedily (preempt_greedy.cc).
  std::optional<Found> greedy(std::int64_t level);
  std::vector<std::uint32_t> reprieve(const std::vector<std::uint32_t>& order);
  std::vector<std::uint32_t> going_order(std::int64_t level,
                                         std::span<const std::uint32_t> distance) const;
  std::vector<std::uint32_t> affordable(const std::vector<std::uint32_t>& order);
  std::vector<std::uint32_t> distances(std::span<const std::uint32_t> device_order) const;

  Trial& trial_;
  SearchTerms terms_;
  std::span<const SearchPod> pods_;
  std::vector<std::int64_t> left_;  ///< of each budget
  std::span<const std::uint32_t> costs_;
  bool few_ = false;  ///< all sets can be tried
  std::uint32_t tried_ = 0;
  std::uint64_t steps_ = 0;
  bool exhausted_ = false;

  // The sets being looked at.
  std::int64_t level_ = 0, oldest_ = 0;
  std::vector<std::uint32_t> pool_;  ///< in order of uid
  std::vector<std::uint32_t> chosen_;
};

}  // namespace tessera::core
