/// Inside of Cluster, shared by the cluster*.cc files only.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/charge_list.h"
#include "core/cluster.h"
#include "core/ledger.h"
#include "core/quota_sum.h"

namespace tessera::core {

struct Cluster::Impl {
  struct NodeState {
    Node node;
    std::vector<Charge> orphans;  ///< charges on devices that are not there now; sorted by vendor,
                                  ///< device; none is zero
    std::vector<const PodUid*> holders;  ///< keys of holds; in no order
  };
  struct Record {
    Hold hold;
    NodeId node;
  };
  /// Memory that one change leaves to the next.
  struct Scratch {
    ChargeList asked, held;  ///< of what comes, and of what it takes the place of
    QuotaSum asked_needs, held_needs;
    Ledger ledger;
  };

  using CardSums = std::map<std::tuple<std::uint32_t, VendorId, std::string>, Charge>;

  explicit Impl(VendorTable table) : rules(std::move(table)) {}

  /// Changes that are remembered; whoever is further behind looks at all nodes.
  static constexpr std::size_t kChangesKept = 8192;

  NodeState& state(NodeId id) { return nodes[id.v]; }
  /// The node has changed.
  void touch(NodeId id);
  NodeId intern(std::string_view name);
  void refresh_ranks();
  static void set_used(Node& node, std::size_t device, const Usage& used);
  static void add_charge(NodeState& state, const Charge& charge);
  static void remove_charge(NodeState& state, const Charge& charge);
  /// Users come to a card or leave it.
  template <class Change>
  static void change_users(Node& node, std::size_t device, Change change);
  static void add_waiting(NodeState& state, const Charge& charge);
  static void remove_waiting(NodeState& state, const Charge& charge);
  void replace_devices(NodeState& state, std::vector<Device> devices);
  static void rebuild_node(const Node& source, CardSums& sums, std::uint32_t id, NodeState& target);
  void charge(const Record& record, std::span<const Charge> charges);
  void uncharge(const Record& record);
  /// Whether there is room for the charges, which are the allocation's.
  bool fits(const Allocation& allocation, std::span<const Charge> charges, NodeId node,
            const Record* replaced);
  bool has_room(const Node& node, std::uint32_t device, const Charge& charge) const;
  std::optional<QuotaExcess> over_quota(const Allocation& allocation, const Record* replaced);
  void insert(PodUid uid, Hold hold);
  void insert(PodUid uid, Hold hold, std::span<const Charge> charges);
  void take_off(const PodUid& key, const Record& record);
  bool erase(const PodUid& uid);

  VendorTable rules;
  QuotaBook quotas;
  std::deque<NodeState> nodes;  // a deque keeps node() references good when nodes are added
  boost::unordered_flat_map<std::string_view, NodeId> ids;  // the names lie in nodes
  std::unordered_map<PodUid, Record> holds;  // keys stay where they are: holders point at them
  std::vector<NodeId> by_name;
  std::vector<std::uint32_t> ranks;
  bool ranks_stale = false;
  std::uint64_t rank_version = 0;
  std::vector<NodeId> changes;  // a ring of the last ones
  std::uint64_t change_count = 0;
  Scratch scratch;
  SharedTexts texts;  // of all devices
};

}  // namespace tessera::core
