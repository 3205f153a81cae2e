// What would have fitted: a few trials on the most promising nodes, one amount changed at a time.
#include <algorithm>
#include <functional>

#include "core/card_check.h"
#include "core/demand.h"
#include "core/explain.h"
#include "core/ledger.h"

namespace tessera::core {
namespace {

constexpr std::size_t kNodesTried = 8;
constexpr int kHalvings = 24;  ///< of an interval below 16 TiB in MiB

/// The ask that fails on a node, as a place in the request.
struct FailedAsk {
  std::uint32_t position = 0;
  std::size_t ask = 0;
};

class Trials {
 public:
  Trials(const Cluster& cluster, const Request& request, FailedAsk failed)
      : cluster_(cluster), request_(request), failed_(failed) {}

  const DeviceAsk& asked() const { return request_.positions[failed_.position].asks[failed_.ask]; }

  bool fits(NodeId node, const DeviceAsk& changed) {
    Request trial = request_;
    trial.positions[failed_.position].asks[failed_.ask] = changed;
    return fit_node(cluster_, trial, node).allocation.has_value();
  }

  /// Largest amount in [1, most] that fits on the node, 0 = none. What fits with an amount fits
  /// with less.
  template <class Change>
  std::int64_t largest(NodeId node, std::int64_t most, Change change) {
    if (most < 1) return 0;
    if (fits(node, change(asked(), most))) return most;
    std::int64_t good = 0, bad = most;
    for (int i = 0; i < kHalvings && bad - good > 1; ++i) {
      const std::int64_t middle = good + (bad - good) / 2;
      (fits(node, change(asked(), middle)) ? good : bad) = middle;
    }
    return good;
  }

 private:
  const Cluster& cluster_;
  const Request& request_;
  FailedAsk failed_;
};

struct Candidate {
  NodeId node;
  std::int64_t bound = 0;  ///< no more than this can fit there
};

/// Over the nodes with the highest bounds, stopping when no bound promises more.
template <class Change>
std::optional<Offer> best_offer(Trials& trials, std::vector<Candidate> nodes, std::int64_t below,
                                Change change) {
  const std::size_t tried = std::min(nodes.size(), kNodesTried);
  std::partial_sort(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(tried), nodes.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.bound != b.bound ? a.bound > b.bound : a.node < b.node;
                    });
  std::optional<Offer> best;
  for (std::size_t i = 0; i < tried; ++i) {
    if (best && nodes[i].bound <= best->amount) break;
    const std::int64_t most = std::min(nodes[i].bound, below);
    const std::int64_t amount = trials.largest(nodes[i].node, most, change);
    if (amount > 0 && (!best || amount > best->amount)) best = Offer{amount, nodes[i].node};
  }
  return best;
}

/// The ask of the first refused container that counts: that of the rejection met most often.
std::optional<FailedAsk> failed_ask(const Request& request, const Outcome& outcome) {
  std::vector<int> votes(request.positions.size(), 0);
  for (const auto& rejected : outcome.rejected) {
    const Reject& reject = rejected.reject;
    if (reject.node_reason == NodeReason::kUnregistered) continue;
    if (reject.position < votes.size()) ++votes[reject.position];
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  if (most == votes.end() || *most == 0) return std::nullopt;
  const auto position = static_cast<std::uint32_t>(most - votes.begin());
  const auto& asks = request.positions[position].asks;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (asks[i].count > 0) return FailedAsk{position, i};
  }
  return std::nullopt;
}

/// How much the k-th best card of a node has free; k = cards asked for.
struct FreeAmounts {
  std::int64_t memory = 0, cores = 0, cards = 0;
};

class FreeScan {
 public:
  explicit FreeScan(const DeviceAsk& asked) : asked_(asked) {}

  FreeAmounts of(const Node& node) {
    memory_.clear();
    cores_.clear();
    FreeAmounts free;
    for (std::size_t i = 0; i < node.spec.devices.size(); ++i) {
      const Device& device = node.spec.devices[i];
      if (device.vendor != asked_.vendor || !device.healthy) continue;
      // A partitioned card may serve one container several times.
      const std::int64_t times =
          device.partitioned() ? std::clamp<std::int64_t>(device.slots, 1, kMostInstances) : 1;
      free.cards += times;
      for (std::int64_t t = 0; t < std::min(times, asked_.count); ++t) {
        memory_.push_back((device.memory - node.used[i].memory).v);
        cores_.push_back((device.cores - node.used[i].cores).v);
      }
    }
    free.memory = of_last_needed(memory_);
    free.cores = of_last_needed(cores_);
    return free;
  }

 private:
  static constexpr std::int64_t kMostInstances = 64;

  std::int64_t of_last_needed(std::vector<std::int64_t>& amounts) const {
    if (static_cast<std::int64_t>(amounts.size()) < asked_.count) return 0;
    const auto at = amounts.begin() + static_cast<std::ptrdiff_t>(asked_.count - 1);
    std::nth_element(amounts.begin(), at, amounts.end(), std::greater<>());
    return *at;
  }

  DeviceAsk asked_;
  std::vector<std::int64_t> memory_, cores_;
};

}  // namespace

std::optional<Hints> what_would_fit(const Cluster& cluster, const Request& request,
                                    std::span<const NodeId> candidates, const Outcome& outcome) {
  const auto failed = failed_ask(request, outcome);
  if (!failed) return std::nullopt;
  Trials trials(cluster, request, *failed);
  Hints hints;
  hints.position = failed->position;
  hints.asked = trials.asked();
  if (cluster.quotas().limits(request.subject.ns)) {
    QuotaNeeds freed;
    if (const Hold* hold = cluster.hold(request.uid)) freed = quota_needs(hold->allocation);
    hints.quota = cluster.quotas().excess(request.subject, quota_needs(request), freed);
    if (hints.quota) return hints;
  }
  FreeScan scan(hints.asked);
  std::vector<Candidate> memory, cores, count;
  for (const auto& rejected : outcome.rejected) {
    if (rejected.reject.node_reason == NodeReason::kUnregistered) continue;
    const NodeId id = candidates[rejected.candidate];
    const FreeAmounts free = scan.of(cluster.node(id));
    memory.push_back({id, free.memory});
    cores.push_back({id, free.cores});
    count.push_back({id, free.cards});
  }
  const bool by_amount = hints.asked.memory.v > 0;
  hints.memory = best_offer(trials, memory, by_amount ? hints.asked.memory.v - 1 : INT64_MAX,
                            [](DeviceAsk ask, std::int64_t amount) {
                              ask.memory = {amount};
                              ask.memory_percent = DeviceAsk::kNoPercent;
                              return ask;
                            });
  hints.cores = best_offer(trials, cores, std::min<std::int64_t>(hints.asked.cores.v, 100) - 1,
                           [](DeviceAsk ask, std::int64_t amount) {
                             ask.cores = {amount};
                             return ask;
                           });
  hints.count =
      best_offer(trials, count, hints.asked.count - 1, [](DeviceAsk ask, std::int64_t amount) {
        ask.count = amount;
        return ask;
      });
  return hints;
}

}  // namespace tessera::core
