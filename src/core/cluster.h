/// The books of the cluster: nodes with their devices, and per pod the slices it holds, as a
/// reservation (with a deadline) or bound. Kept up to date by messages; no query ever rebuilds the
/// usage of a node from its pods. After any history it equals rebuild(). Thread rule: owned by one
/// thread (the state thread, a test, the simulator); no locks inside.
///   Cluster c(rules); c.set_node({.name = "n1", .devices = …}); c.reserve(uid, allocation,
///   deadline); c.confirm(uid, allocation);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "core/allocation.h"
#include "core/device.h"
#include "core/quota.h"

namespace tessera::core {

struct NodeSpec {
  std::string name;
  std::vector<Device> devices;  ///< all vendors, register order; ids unique
  std::vector<bool> offered;  ///< by VendorId: D9, allocatable > 0. A missing entry counts as false
  std::vector<std::string> cordoned;  ///< device ids closed for new pods
  bool locked = false;  ///< somebody holds the node lock (an equally good free node is preferred)
  /// Link score of device i towards device j at [i * devices.size() + j]; empty = none known.
  std::vector<std::int32_t> links;
  /// By VendorId, missing = 0: bits that only the vendor's hooks understand.
  std::vector<std::uint64_t> traits;
  std::int64_t label_priority = 0;  ///< what the operator's priority label says; 0 = no label
};
/// Equal in everything but name and lock.
bool same_apart_from_lock(const NodeSpec& a, const NodeSpec& b);
/// Some vendor has devices here that are offered.
bool offers_anything(const NodeSpec& node);

struct Node {
  /// What a vendor has on this node; kept so that a decision need not walk all devices.
  struct VendorSum {
    VendorId vendor;
    std::uint32_t devices = 0;
    std::int64_t load_ppm = 0;  ///< sum of load over these devices
    friend bool operator==(const VendorSum&, const VendorSum&) = default;
  };
  NodeSpec spec;
  std::vector<Usage> used;  ///< parallel to spec.devices
  std::vector<std::int64_t>
      load;  ///< load_ppm of each device as used now; parallel to spec.devices
  /// Who uses the cards, kept whether they are partitioned or not: agents switch that under running
  /// pods.
  struct Instances {
    std::uint32_t device = 0;          ///< index into spec.devices
    std::vector<MigPlacement> placed;  ///< sorted, not empty; never overlapping by our own doing
    friend bool operator==(const Instances&, const Instances&) = default;
  };
  std::vector<Instances> instances;  ///< of the cards that have some, by device
  std::vector<std::uint32_t> plain;  ///< grants without an instance; parallel to spec.devices
  std::uint32_t lost_instances = 0;  ///< instances on cards that are not there: no partitioned card
                                     ///< of the node takes anybody
  std::uint32_t unexplained_users = 0;  ///< sum of unexplained(): most nodes have none
  std::vector<VendorSum> vendors;       ///< in order of first device
  std::uint64_t version = 0;            ///< changes whenever spec or used changes
  std::uint64_t spec_version = 0;       ///< changes whenever spec changes, the lock aside
  bool present = false;                 ///< false: only pods refer to it, or it was removed

  /// All zero when the vendor has no device here.
  VendorSum sum_of(VendorId vendor) const;
  /// The instances of the card, whatever kind it is.
  std::span<const MigPlacement> placed_on(std::size_t device) const;
  /// The same where the card is partitioned, else nothing.
  std::span<const MigPlacement> occupied(std::size_t device) const;
  /// Users whose instance is not known, or instances on a card that is not partitioned: the card
  /// takes nobody.
  std::uint32_t unexplained(std::size_t device) const;
};

enum class HoldState : std::uint8_t { kReserved, kBound };
struct Hold {
  Allocation allocation;
  HoldState state = HoldState::kReserved;
  MonoTime deadline{};  ///< of a reservation
};

class Cluster {
 public:
  explicit Cluster(VendorTable rules);
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;

  const VendorTable& rules() const;

  /// Adds or replaces. Pods that hold devices there keep their charges; charges on a device that is
  /// gone wait for its return.
  NodeId set_node(NodeSpec spec);
  void set_locked(NodeId node, bool locked);
  /// The node stays known by id while pods refer to it, but is no candidate.
  void remove_node(std::string_view name);

  NodeId find_node(std::string_view name) const;  ///< invalid when never seen
  const Node& node(NodeId id) const;          ///< the reference stays good while the cluster lives
  std::size_t node_count() const;             ///< ids are 0 … node_count()-1
  std::vector<NodeId> present_nodes() const;  ///< byte order of the names = rank
  std::uint32_t rank(
      NodeId id) const;  ///< place of the name in byte order among all known nodes (D18)

  /// What moves on whenever a node is seen for the first time: ranks are others afterwards.
  std::uint64_t rank_version() const;
  /// By NodeId; good until a node is seen for the first time.
  std::span<const std::uint32_t> ranks() const;
  /// How often any node has changed (its version moved) since the cluster was made.
  std::uint64_t change_count() const;
  /// The nodes that have changed since change_count() was `seen`, the same one perhaps several
  /// times, appended. False: too long ago, look at all versions.
  bool changes_since(std::uint64_t seen, std::vector<NodeId>& changed) const;

  /// Takes the slices until deadline; replaces an earlier reservation of the same pod in one step.
  /// kConflict: the pod is bound, or the slices do not fit any more (nothing changes then).
  Status reserve(PodUid uid, Allocation allocation, MonoTime deadline);
  /// What the API server says of a bound pod: replaces whatever is held. Never refused (the truth
  /// may exceed a device).
  void confirm(PodUid uid, Allocation allocation);
  /// Puts a hold in place as it is, whatever is there: what was lifted for a moment to see what
  /// would be without it, and a claim on slices whose users are still leaving. Until they are gone
  /// the devices may show more in use than they have, so nobody else is given any of it.
  void restore(PodUid uid, Hold hold);
  /// Ends a hold of any state. False when there was none.
  bool release(const PodUid& uid);
  bool extend(const PodUid& uid, MonoTime deadline);
  /// Init containers have finished: counts the app containers (and sidecars) only.
  bool finish_init(const PodUid& uid);
  /// Ends reservations whose deadline is not after now; returns them in uid order.
  std::vector<PodUid> expire(MonoTime now);

  /// Quotas are kept by the same messages as devices; reserve() refuses with kConflict what they
  /// forbid.
  void set_quota(QuotaSpec quota);
  void remove_quota(std::string_view ns, std::string_view name);
  const QuotaBook& quotas() const;

  const Hold* hold(const PodUid& uid) const;
  std::vector<PodUid> holders() const;  ///< uid order
  std::vector<PodUid> holders_on(NodeId node) const;
  std::size_t hold_count() const;

  /// Plain recomputation from nodes and holds: the oracle, and the self-check.
  Cluster rebuild() const;
  /// Differences of the counters against another cluster, in words; empty = equal.
  std::vector<std::string> differences(const Cluster& other) const;

 private:
  friend class Lift;  // cluster_lift.h
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::core
