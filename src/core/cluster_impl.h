/// Inside of Cluster, shared by cluster.cc and cluster_rebuild.cc only.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/cluster.h"

namespace tessera::core {

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const noexcept {
    return std::hash<std::string_view>{}(name);
  }
};

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

  explicit Impl(VendorTable table) : rules(std::move(table)) {}

  NodeState& state(NodeId id) { return nodes[id.v]; }
  NodeId intern(std::string_view name);
  void refresh_ranks();
  static void add_charge(NodeState& state, const Charge& charge);
  static void remove_charge(NodeState& state, const Charge& charge);
  static void replace_devices(NodeState& state, std::vector<Device> devices);
  void charge(const Record& record);
  void uncharge(const Record& record);
  bool fits(const Allocation& allocation, NodeId node, const Record* replaced) const;
  void insert(const PodUid& uid, Hold hold);
  bool erase(const PodUid& uid);

  VendorTable rules;
  std::deque<NodeState> nodes;  // a deque keeps node() references good when nodes are added
  boost::unordered_flat_map<std::string, NodeId, NameHash, std::equal_to<>> ids;
  std::unordered_map<PodUid, Record> holds;  // keys stay where they are: holders point at them
  std::set<std::pair<MonoTime, PodUid>> deadlines;
  std::vector<NodeId> by_name;
  std::vector<std::uint32_t> ranks;
  bool ranks_stale = false;
};

}  // namespace tessera::core
