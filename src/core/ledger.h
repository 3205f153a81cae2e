/// Trial account of one pod on one node: slices are taken on top of what others use, and given back
/// by rollback to a mark. Nothing is ever undone by hand, and the node itself is never touched.
///   ledger.open(node, own); const auto start = ledger.mark(); ledger.take(0, {position, kind,
///   slice}); ledger.rollback(start);
/// Thread rule: plain object of one caller; the node must outlive the use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/allocation.h"
#include "core/cluster.h"
#include "core/request.h"

namespace tessera::core {

class Ledger {
 public:
  /// What one container takes of one device. With an instance, memory and cores are its profile's,
  /// and the slice stays for the pod's life like a sidecar's, whatever the container is (N-3).
  struct Slice {
    std::uint32_t position = 0;
    PositionKind kind = PositionKind::kApp;
    Usage usage;  ///< slices need not be set, the placement tells them
    std::optional<MigPlacement> mig = std::nullopt;
  };
  struct Entry {
    std::uint32_t device = 0;  ///< index into the node's devices
    std::uint32_t demand = 0;  ///< which ask of the pod this answers (the caller's number)
    Slice slice;
  };
  /// What the pod already holds on the node.
  struct OwnUse {
    std::uint32_t device = 0;
    Usage usage;
    std::vector<MigPlacement> instances = {};
    std::uint32_t plain = 0;  ///< as in Charge
  };
  static constexpr std::uint32_t kAbsent = UINT32_MAX;  ///< device of a card that is not there now
  using Mark = std::size_t;

  /// The charges of a hold on this node in the form that open() wants.
  static std::vector<OwnUse> own_uses(const Node& node, std::span<const Charge> charges);

  /// Starts on a node with nothing taken. What the pod already holds there (own) counts as free.
  void open(const Node& node, std::span<const OwnUse> own = {});

  Mark mark() const { return log_.size(); }
  void rollback(Mark mark);
  void take(std::uint32_t device, const Slice& slice, std::uint32_t demand = 0);

  /// What others use, without the pod's own hold.
  const Usage& base(std::uint32_t device) const { return base_[device]; }
  /// What a container of this kind and position finds in use: init containers run before the apps
  /// and one after the other, beside the sidecars; a sidecar stays beside the largest of them and
  /// beside the apps.
  Usage seen(std::uint32_t device, PositionKind kind, std::uint32_t position) const {
    return touched(device) ? seen_with_share(device, kind, position) : base_[device];
  }
  /// base plus the pod's effective use: sidecars + max(init peak, apps).
  Usage total(std::uint32_t device) const {
    Usage sum = base_[device];
    if (touched(device)) sum += effective(shares_[device]);
    return sum;
  }
  /// The same as if the slice were taken.
  Usage total_with(std::uint32_t device, const Slice& slice) const {
    if (touched(device)) return total_with_share(device, slice);
    Usage sum = base_[device];
    sum += cost(slice);
    return sum;
  }
  bool touched(std::uint32_t device) const { return shares_[device].touched; }
  /// Two devices in the same state of this account.
  bool same_state(std::uint32_t a, std::uint32_t b) const;

  /// Sorted: the instances of others on a partitioned card and those this pod has taken so far.
  std::span<const MigPlacement> occupied(std::uint32_t device) const;
  /// False: somebody uses the card, or a card of this node that is not there, in a way that the
  /// instances do not explain; nothing may be placed on the card.
  bool explained(std::uint32_t device) const {
    if (node_->unexplained_users == 0 && node_->lost_instances == 0) return true;
    return explained_one(device);
  }

  /// Everything taken, in order.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Share {
    Usage sidecars, init_peak, current_init, apps;
    std::uint32_t init_position = 0;  ///< whose sum current_init is
    bool touched = false;
    friend bool operator==(const Share&, const Share&) = default;
  };
  /// A card whose occupation differs from the node's.
  struct MigChange {
    std::uint32_t device = 0;
    std::vector<MigPlacement> occupied;
    std::uint32_t own_unexplained = 0;
  };
  Usage seen_with_share(std::uint32_t device, PositionKind kind, std::uint32_t position) const;
  Usage total_with_share(std::uint32_t device, const Slice& slice) const;
  static void add(Share& share, const Slice& slice);
  static Usage cost(const Slice& slice) {
    Usage usage = slice.usage;
    usage.slices = slice.mig ? slice.mig->size : 0;
    return usage;
  }
  static Usage effective(const Share& share);
  void free_own(const Node& node, const OwnUse& own);
  bool explained_one(std::uint32_t device) const;
  const MigChange* change_of(std::uint32_t device) const;
  MigChange& changed(std::uint32_t device);

  const Node* node_ = nullptr;
  std::span<const Usage> base_;
  std::vector<Usage> adjusted_;
  std::vector<Share> shares_;
  std::vector<MigChange> mig_;  ///< few: cards with own or newly taken instances
  std::uint32_t own_lost_ = 0;
  std::vector<Entry> entries_;
  std::vector<Share> log_;  ///< parallel to entries_: the share before the take
};

}  // namespace tessera::core
