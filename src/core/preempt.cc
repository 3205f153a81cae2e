#include "core/preempt.h"

#include <algorithm>
#include <tuple>

#include "core/preempt_bound.h"
#include "core/preempt_search.h"

namespace tessera::core {
namespace {

/// A candidate with those who may go there.
struct Place {
  NodeId node;
  std::vector<Movable> pods;
  SetRank bound;  ///< no set of the node is better; uids aside
};

/// What is left of the tightest budget that counts the pod.
std::int64_t slack(const Evictable& pod, std::span<const std::int64_t> budgets) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t budget : pod.budgets) {
    least = std::min(least, budget < budgets.size() ? budgets[budget] : 0);
  }
  return least;
}

/// The quota itself is smaller than what the pod asks: nobody's going helps. Shares of cores are
/// left to the decision, an instance may have fewer than were asked.
bool quota_forbids(const Cluster& cluster, const Request& request) {
  if (!cluster.quotas().limits(request.subject.ns)) return false;
  const QuotaNeeds needs = quota_needs(request);
  for (const QuotaBook::Row& row : cluster.quotas().rows()) {
    if (!in_scope(row.quota, request.subject)) continue;
    for (const QuotaLimit& limit : row.quota.limits) {
      if (limit.kind == QuotaKind::kCores) continue;
      for (const QuotaNeed& need : needs) {
        const std::int64_t asked = need.vendor == limit.vendor ? need.amount(limit.kind) : 0;
        if (asked > 0 && asked > limit.limit) return true;
      }
    }
  }
  return false;
}

/// In order of uid, nobody twice.
void sort_by_uid(std::vector<Movable>& pods) {
  std::stable_sort(pods.begin(), pods.end(),
                   [](const Movable& a, const Movable& b) { return a.pod->uid < b.pod->uid; });
  const auto same = [](const Movable& a, const Movable& b) { return a.pod->uid == b.pod->uid; };
  pods.erase(std::unique(pods.begin(), pods.end(), same), pods.end());
}

std::vector<SearchPod> known_to(Lift& lift, const Node& node, std::span<const Movable> pods) {
  std::vector<SearchPod> known;
  for (const Movable& movable : pods) {
    const auto handle = lift.know(movable.pod->uid);
    if (!handle) continue;
    SearchPod pod{movable.pod, *handle, {}};
    for (const Grant& grant : movable.hold->allocation.grants) {
      const std::size_t device = find_device(node.spec.devices, grant.vendor, grant.device);
      if (device < node.spec.devices.size()) {
        pod.devices.push_back(static_cast<std::uint32_t>(device));
      }
    }
    known.push_back(std::move(pod));
  }
  return known;
}

std::vector<PodUid> in_eviction_order(std::vector<const Evictable*> pods,
                                      std::span<const std::int64_t> budgets) {
  std::sort(pods.begin(), pods.end(), [&](const Evictable* a, const Evictable* b) {
    const std::int64_t left = slack(*a, budgets), right = slack(*b, budgets);
    return std::tie(left, a->priority, b->started, a->uid) <
           std::tie(right, b->priority, a->started, b->uid);
  });
  std::vector<PodUid> uids;
  for (const Evictable* pod : pods) uids.push_back(pod->uid);
  return uids;
}

class Planner {
 public:
  Planner(Cluster& cluster, const Request& request, std::span<const std::int64_t> budgets,
          const PreemptionLimits& limits)
      : cluster_(cluster),
        request_(request),
        budgets_(budgets),
        limits_(limits),
        trial_(cluster, request),
        bound_(cluster, request) {}

  std::optional<PreemptionPlan> plan(std::span<const NodeId> candidates,
                                     std::span<const Evictable> evictable) {
    if (quota_forbids(cluster_, request_)) return std::nullopt;
    gather(candidates, evictable);
    if (const NodeId fitting = fitting_as_it_is(); fitting.valid()) return written(fitting, {});
    std::sort(places_.begin(), places_.end(),
              [](const Place& a, const Place& b) { return a.bound < b.bound; });
    for (Place& place : places_) {
      // The places that follow are no better either.
      if (best_ && *best_ < place.bound) break;
      if (tried_ >= limits_.sets_in_all && best_) break;
      try_place(place);
    }
    if (!best_) return std::nullopt;
    return written(best_node_, victims_);
  }

 private:
  void gather(std::span<const NodeId> candidates, std::span<const Evictable> evictable) {
    std::vector<std::uint32_t> place_of(cluster_.node_count(), RoomBound::kNever);
    for (const NodeId node : candidates) {
      if (!node.valid() || node.v >= place_of.size() || !cluster_.node(node).present) continue;
      if (place_of[node.v] != RoomBound::kNever) continue;
      place_of[node.v] = static_cast<std::uint32_t>(places_.size());
      places_.push_back({node, {}, {}});
    }
    for (const Evictable& pod : evictable) {
      if (pod.uid == request_.uid || slack(pod, budgets_) <= 0) continue;
      const Hold* hold = cluster_.hold(pod.uid);
      if (hold == nullptr) continue;
      const std::uint32_t place = place_of[cluster_.find_node(hold->allocation.node).v];
      if (place != RoomBound::kNever) places_[place].pods.push_back({&pod, hold});
    }
  }

  /// Bounds every place; those that are hopeless go.
  NodeId fitting_as_it_is() {
    NodeId fitting;
    std::erase_if(places_, [&](Place& place) {
      const std::uint32_t rank = cluster_.rank(place.node);
      bound_.open(place.node, place.pods);
      const bool perhaps = bound_.fewest(kNobody) == 0;
      if (perhaps && trial_.fits(place.node)) {
        if (!fitting.valid() || rank < cluster_.rank(fitting)) fitting = place.node;
        return true;
      }
      return !set_bound(place, rank, perhaps);
    });
    return fitting;
  }

  bool set_bound(Place& place, std::uint32_t rank, bool perhaps) {
    std::vector<std::int64_t>& levels = scratch_;
    levels.clear();
    for (const Movable& movable : place.pods) levels.push_back(movable.pod->priority);
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    for (const std::int64_t level : levels) {
      const std::uint32_t fewest = perhaps ? 1 : std::max(bound_.fewest(level), 1U);
      if (fewest == RoomBound::kNever) continue;
      place.bound = {level, fewest, youngest_possible(place, level, fewest), rank};
      return true;
    }
    return false;
  }

  /// Start of the oldest among the `count` youngest.
  std::int64_t youngest_possible(const Place& place, std::int64_t level, std::uint32_t count) {
    std::vector<std::int64_t>& starts = starts_;
    starts.clear();
    for (const Movable& movable : place.pods) {
      if (movable.pod->priority <= level) starts.push_back(movable.pod->started);
    }
    const auto at = starts.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(starts.begin(), at, starts.end(), std::greater<>());
    return *at;
  }

  void try_place(Place& place) {
    sort_by_uid(place.pods);
    bound_.open(place.node, place.pods);
    bound_.fewest(place.bound.highest);
    const auto pods = known_to(trial_.lift(), cluster_.node(place.node), place.pods);
    // Without a plan so far every place gets the few tries of a greedy set at least.
    const std::uint32_t left = limits_.sets_in_all - std::min(tried_, limits_.sets_in_all);
    const SearchTerms terms{place.node, place.bound.node, bound_.orderly(), true,
                            std::min(limits_.sets_per_node, left)};
    NodeSearch search(trial_, terms, pods, budgets_, bound_.costs());
    const auto found = search.run(place.bound.highest, place.bound.count, best_);
    tried_ += search.tried();
    if (!found) return;
    best_ = found->rank;
    best_node_ = place.node;
    victims_.clear();
    for (const std::uint32_t pod : found->pods) victims_.push_back(pods[pod]);
  }

  PreemptionPlan written(NodeId node, const std::vector<SearchPod>& victims) {
    std::vector<const Evictable*> pods;
    for (const SearchPod& victim : victims) {
      trial_.lift().off(victim.handle);
      pods.push_back(victim.pod);
    }
    Fit fit = fit_node(cluster_, request_, node);
    return {node, in_eviction_order(std::move(pods), budgets_), std::move(*fit.allocation)};
  }

  static constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::min();

  Cluster& cluster_;
  const Request& request_;
  std::span<const std::int64_t> budgets_;
  PreemptionLimits limits_;
  Trial trial_;
  RoomBound bound_;
  std::vector<Place> places_;
  std::vector<std::int64_t> scratch_, starts_;
  std::optional<SetRank> best_;
  NodeId best_node_;
  std::vector<SearchPod> victims_;
  std::uint32_t tried_ = 0;
};

/// Pods of the set that a budget does not allow any more, in the order in which they go.
std::int64_t violations(std::span<const Evictable> evictable, std::span<const PodUid> given,
                        std::span<const PodUid> more, std::span<const std::int64_t> budgets) {
  std::vector<std::int64_t> left(budgets.begin(), budgets.end());
  const auto counts = [&](const PodUid& uid) {
    bool violates = false;
    for (const Evictable& pod : evictable) {
      if (pod.uid != uid) continue;
      for (const std::uint32_t budget : pod.budgets) {
        violates = violates || budget >= left.size() || --left[budget] < 0;
      }
      break;
    }
    return violates ? 1 : 0;
  };
  for (const PodUid& uid : given) counts(uid);
  std::int64_t sum = 0;
  for (const PodUid& uid : more) sum += counts(uid);
  return sum;
}

/// Takes those off that hold something on the node; returns all of them, sorted.
std::vector<PodUid> lift_given(Lift& lift, const Cluster& cluster, const Request& request,
                               NodeId node, std::span<const PodUid> given) {
  std::vector<PodUid> gone(given.begin(), given.end());
  std::sort(gone.begin(), gone.end());
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  for (const PodUid& uid : gone) {
    // What the pod itself holds counts as free anyway.
    const Hold* hold = uid == request.uid ? nullptr : cluster.hold(uid);
    if (hold == nullptr || hold->allocation.node != cluster.node(node).spec.name) continue;
    if (const auto handle = lift.know(uid)) lift.off(*handle);
  }
  return gone;
}

/// Who else may go there, in order of uid.
std::vector<Movable> others_on(const Cluster& cluster, const Request& request, NodeId node,
                               const std::vector<PodUid>& gone,
                               std::span<const Evictable> evictable) {
  std::vector<Movable> others;
  for (const Evictable& pod : evictable) {
    if (pod.uid == request.uid || std::binary_search(gone.begin(), gone.end(), pod.uid)) continue;
    const Hold* hold = cluster.hold(pod.uid);
    const bool here = hold != nullptr && hold->allocation.node == cluster.node(node).spec.name;
    if (here) others.push_back({&pod, hold});
  }
  sort_by_uid(others);
  return others;
}

}  // namespace

std::optional<PreemptionPlan> plan_preemption(Cluster& cluster, const Request& request,
                                              std::span<const NodeId> candidates,
                                              std::span<const Evictable> evictable,
                                              std::span<const std::int64_t> budgets,
                                              const PreemptionLimits& limits) {
  return Planner(cluster, request, budgets, limits).plan(candidates, evictable);
}

std::optional<CompletedVictims> complete_victims(Cluster& cluster, const Request& request,
                                                 NodeId node, std::span<const PodUid> given,
                                                 std::span<const Evictable> evictable,
                                                 std::span<const std::int64_t> budgets,
                                                 const PreemptionLimits& limits) {
  if (!node.valid() || node.v >= cluster.node_count() || !cluster.node(node).present) {
    return std::nullopt;
  }
  Trial trial(cluster, request);
  const std::vector<PodUid> gone = lift_given(trial.lift(), cluster, request, node, given);
  if (trial.fits(node)) return CompletedVictims{};
  const std::vector<Movable> movable = others_on(cluster, request, node, gone, evictable);
  RoomBound bound(cluster, request);
  bound.open(node, movable);
  if (bound.fewest(std::numeric_limits<std::int64_t>::max()) == RoomBound::kNever) {
    return std::nullopt;
  }
  const auto pods = known_to(trial.lift(), cluster.node(node), movable);
  const SearchTerms terms{node, 0, bound.orderly(), false, limits.sets_per_node};
  NodeSearch search(trial, terms, pods, budgets, bound.costs());
  const auto found = search.run(std::numeric_limits<std::int64_t>::min(), 1, std::nullopt);
  if (!found) return std::nullopt;
  std::vector<const Evictable*> more;
  for (const std::uint32_t pod : found->pods) more.push_back(pods[pod].pod);
  CompletedVictims completed;
  completed.more = in_eviction_order(std::move(more), budgets);
  completed.budget_violations = violations(evictable, given, completed.more, budgets);
  return completed;
}

}  // namespace tessera::core
