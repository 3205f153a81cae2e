/// How few pods of a node must go at the very least before a pod has any chance there, without
/// lifting anything: card by card, as if the pods freed the most of every kind at once. Never more
/// than the truth, so nodes that cannot beat the best set found so far need not be tried.
/// Thread rule: one object per decision; cluster and request must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/card_check.h"
#include "core/cluster.h"
#include "core/demand.h"
#include "core/preempt.h"

namespace tessera::core {

/// A pod that may go, with what it holds.
struct Movable {
  const Evictable* pod = nullptr;
  const Hold* hold = nullptr;
};

class RoomBound {
 public:
  static constexpr std::uint32_t kNever = UINT32_MAX;

  RoomBound(const Cluster& cluster, const Request& request);
  RoomBound(const RoomBound&) = delete;
  RoomBound& operator=(const RoomBound&) = delete;

  /// A node that is present, and who may go there. What is lifted already counts as gone.
  void open(NodeId node, std::span<const Movable> pods);
  /// Fewest pods of priorities up to `level`; kNever when not even all of them would do.
  std::uint32_t fewest(std::int64_t level);
  /// By device, after fewest(): pods that must go before it could serve any of the demands.
  std::span<const std::uint32_t> costs() const { return costs_; }
  /// With fewer pods on the node the pod fits at least as well. Not certain where a vendor chooses
  /// cards by its own mind, in HAMi's mode, and where instances are laid one way or another.
  bool orderly() const;

 private:
  struct Use {
    std::uint32_t device = 0;
    std::uint32_t pod = 0;
    std::int64_t priority = 0;
    Usage usage;
  };
  void add_uses(std::uint32_t pod, const Movable& movable);
  std::uint32_t cost(const Demand& demand, std::uint32_t device, std::int64_t level);
  std::uint32_t sharing(std::uint64_t sum, std::int64_t level);
  std::uint32_t covering(const Demand& demand, const Device& device, Usage seen);

  const Cluster& cluster_;
  const Request& request_;
  DemandList list_;
  CardCheck check_;
  const Node* node_ = nullptr;
  std::vector<Usage> used_;  ///< without the pod's own hold
  std::vector<Use> uses_;    ///< by device, then pod; one each
  std::vector<std::uint32_t> costs_, needed_, cards_of_;
  std::vector<std::int64_t> slots_, memory_, cores_;
};

}  // namespace tessera::core
