// A good set of victims where there are too many sets to try them all: everybody is taken off, then
// one after the other comes back if the pod fits all the same. Who comes back first decides what is
// left, so this is done for several orders: by priority and age alone, and with a card of the node
// kept in mind, whose users come back last.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/preempt_search.h"

namespace tessera::core {

std::optional<NodeSearch::Found> NodeSearch::greedy(std::int64_t level) {
  std::optional<Found> best;
  const auto consider = [&](std::span<const std::uint32_t> distance) {
    std::vector<std::uint32_t> set = reprieve(affordable(going_order(level, distance)));
    if (set.empty()) return;
    std::sort(set.begin(), set.end());
    const SetRank rank = rank_of(set);
    if (!best || rank < best->rank) best = Found{rank, std::move(set)};
  };
  consider(std::vector<std::uint32_t>(pods_.size(), 0));
  // Cards in order of what they cost; each in turn stands first.
  std::vector<std::uint32_t> order(costs_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return costs_[a] < costs_[b]; });
  for (std::size_t anchor = 0; anchor < order.size(); ++anchor) {
    if (tried_ > terms_.sets / 2) break;
    std::vector<std::uint32_t> anchored = order;
    std::rotate(anchored.begin(), anchored.begin() + static_cast<std::ptrdiff_t>(anchor),
                anchored.begin() + static_cast<std::ptrdiff_t>(anchor + 1));
    consider(distances(anchored));
  }
  return best;
}

/// By pod: place of the first of its cards in the order.
std::vector<std::uint32_t> NodeSearch::distances(
    std::span<const std::uint32_t> device_order) const {
  std::vector<std::uint32_t> place(device_order.size());
  for (std::uint32_t i = 0; i < device_order.size(); ++i) place[device_order[i]] = i;
  std::vector<std::uint32_t> result;
  for (const SearchPod& pod : pods_) {
    auto nearest = static_cast<std::uint32_t>(device_order.size());
    for (const std::uint32_t device : pod.devices) nearest = std::min(nearest, place[device]);
    result.push_back(nearest);
  }
  return result;
}

/// Whoever should rather go stands first.
std::vector<std::uint32_t> NodeSearch::going_order(std::int64_t level,
                                                   std::span<const std::uint32_t> distance) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t pod = 0; pod < pods_.size(); ++pod) {
    if (pods_[pod].pod->priority <= level) order.push_back(pod);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Evictable &left = *pods_[a].pod, &right = *pods_[b].pod;
    return std::tie(distance[a], left.priority, right.started, a) <
           std::tie(distance[b], right.priority, left.started, b);
  });
  return order;
}

/// The first ones that the budgets allow together.
std::vector<std::uint32_t> NodeSearch::affordable(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> allowed;
  for (const std::uint32_t pod : order) {
    if (!affords(pod)) continue;
    choose(pod);
    allowed.push_back(pod);
  }
  while (!chosen_.empty()) unchoose();
  return allowed;
}

/// Empty when not even all of them help. None of those returned can come back.
std::vector<std::uint32_t> NodeSearch::reprieve(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> gone = order;
  for (const std::uint32_t pod : gone) trial_.lift().off(pods_[pod].handle);
  if (!fits()) gone.clear();
  // Where the pod's cards are chosen by another's mind, one who comes back may let another come
  // back.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = gone.size(); i > 0; --i) {
      const Lift::Handle handle = pods_[gone[i - 1]].handle;
      trial_.lift().on(handle);
      if (fits()) {
        gone.erase(gone.begin() + static_cast<std::ptrdiff_t>(i - 1));
        changed = !terms_.orderly;
      } else {
        trial_.lift().off(handle);
      }
    }
  }
  put_all_back();
  return gone;
}

}  // namespace tessera::core
