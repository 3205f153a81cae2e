/// Builders for the tests of core and policies: short words for cards, nodes and requests. Not used
/// by production code.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "core/place.h"
#include "core/policy.h"
#include "core/request.h"

namespace tessera::core::testing {

inline constexpr VendorId kVendor{0};
inline constexpr VendorId kOtherVendor{1};

/// The policies of the default score, written again so that core is tested without the layer above.
class FullestNode final : public NodePolicy {
 public:
  std::string_view name() const override { return "fullest"; }
  std::int64_t key(const NodeView& view) const override { return view.mean_load_ppm(); }
};
class EmptiestNode final : public NodePolicy {
 public:
  std::string_view name() const override { return "emptiest"; }
  std::int64_t key(const NodeView& view) const override { return -view.mean_load_ppm(); }
};
class FullestDevice final : public DevicePolicy {
 public:
  std::string_view name() const override { return "fullest"; }
  std::int64_t key(const DeviceView& view) const override {
    return load_ppm(view.device, view.after, view.weights);
  }
};
class EmptiestDevice final : public DevicePolicy {
 public:
  std::string_view name() const override { return "emptiest"; }
  std::int64_t key(const DeviceView& view) const override {
    return -load_ppm(view.device, view.after, view.weights);
  }
};

inline const FullestNode kFullestNode;
inline const EmptiestNode kEmptiestNode;
inline const FullestDevice kFullestDevice;
inline const EmptiestDevice kEmptiestDevice;

/// A healthy shareable card. Index is set by node().
inline Device card(std::string id, std::int64_t memory = 16384, std::int64_t slots = 10,
                   std::int64_t cores = 100) {
  Device device;
  device.id = std::move(id);
  device.slots = slots;
  device.memory = {memory};
  device.cores = {cores};
  device.model = "Model-A100";
  device.mode = "plain";
  device.healthy = true;
  device.vendor = kVendor;
  return device;
}

/// Profiles of a card with 7 compute and 8 memory slices (devices page, section 14.1), figures of
/// its worked examples.
inline MigProfiles seven_slice_profiles() {
  return {{"1g.10gb", {9856}, {13}, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}},
          {"2g.20gb", {19968}, {25}, 2, {{0, 2}, {2, 2}, {4, 2}}},
          {"3g.40gb", {40448}, {46}, 3, {{0, 4}, {4, 4}}},
          {"7g.80gb", {81152}, {100}, 7, {{0, 8}}}};
}
inline Device mig_card(std::string id, MigProfiles profiles = seven_slice_profiles()) {
  Device device = card(std::move(id), 81559);
  device.mode = "split";
  device.mig = std::make_shared<const MigProfiles>(std::move(profiles));
  return device;
}

inline NodeSpec node(std::string name, std::vector<Device> devices) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.offered = {true, true};
  for (std::uint32_t i = 0; i < devices.size(); ++i) devices[i].index = i;
  spec.devices = std::move(devices);
  return spec;
}

inline DeviceAsk ask(std::int64_t count, std::int64_t memory, std::int64_t cores) {
  return {kVendor, count, {memory}, DeviceAsk::kNoPercent, {cores}};
}
inline DeviceAsk ask_percent(std::int64_t count, std::int64_t percent, std::int64_t cores) {
  return {kVendor, count, {0}, percent, {cores}};
}

inline Position app(std::vector<DeviceAsk> asks) { return {PositionKind::kApp, std::move(asks)}; }
inline Position init(std::vector<DeviceAsk> asks) { return {PositionKind::kInit, std::move(asks)}; }
inline Position sidecar(std::vector<DeviceAsk> asks) {
  return {PositionKind::kSidecar, std::move(asks)};
}

/// Spread over the cards, binpack over the nodes: HAMi's defaults.
inline Request pod(std::string uid, std::vector<Position> positions) {
  Request request;
  request.uid = {std::move(uid)};
  request.positions = std::move(positions);
  request.node_policy = &kFullestNode;
  request.device_policies = {&kEmptiestDevice};
  return request;
}
inline Request pod(std::string uid, DeviceAsk one) {
  return pod(std::move(uid), std::vector<Position>{app({one})});
}

/// Something bound: containers of the kinds given, each with cards as {id, memory, cores}.
struct Held {
  std::string id;
  std::int64_t memory = 0;
  std::int64_t cores = 0;
};
inline Allocation held(std::string node_name,
                       std::vector<std::pair<PositionKind, std::vector<Held>>> containers) {
  Allocation allocation;
  allocation.node = std::move(node_name);
  for (std::uint32_t p = 0; p < containers.size(); ++p) {
    allocation.kinds.push_back(containers[p].first);
    for (const Held& h : containers[p].second) {
      allocation.grants.push_back({p, kVendor, h.id, {h.memory}, {h.cores}});
    }
  }
  return allocation;
}

/// One instance of a seven-slice card, as a grant of a position.
inline Grant instance(std::uint32_t position, std::string device, const std::string& profile,
                      std::uint32_t start) {
  for (const MigProfile& offered : seven_slice_profiles()) {
    if (offered.name != profile) continue;
    const MigPlacement placement{start, offered.placements.front().size};
    return {position,       kVendor,       std::move(device),
            offered.memory, offered.cores, MigSlice{profile, placement}};
  }
  return {};
}
/// A pod of app containers, one per grant given, with instances.
inline Allocation held_instances(std::string node_name, std::vector<Grant> grants) {
  Allocation allocation;
  allocation.node = std::move(node_name);
  for (const Grant& grant : grants) {
    if (allocation.kinds.size() <= grant.position) allocation.kinds.resize(grant.position + 1);
  }
  for (PositionKind& kind : allocation.kinds) kind = PositionKind::kApp;
  allocation.grants = std::move(grants);
  return allocation;
}

/// A card together with what other pods already use of it.
struct Busy {
  Device device;
  std::int64_t slots = 0, memory = 0, cores = 0;
};

/// A node whose cards are in use as told: a bound pod with one container per slot; the first has
/// all memory and cores.
inline NodeId add_busy_node(Cluster& cluster, const std::string& name,
                            const std::vector<Busy>& cards) {
  std::vector<Device> devices;
  Allocation others;
  others.node = name;
  for (const Busy& busy : cards) {
    devices.push_back(busy.device);
    for (std::int64_t slot = 0; slot < busy.slots; ++slot) {
      const auto position = static_cast<std::uint32_t>(others.kinds.size());
      others.kinds.push_back(PositionKind::kApp);
      others.grants.push_back({position,
                               busy.device.vendor,
                               busy.device.id,
                               {slot == 0 ? busy.memory : 0},
                               {slot == 0 ? busy.cores : 0}});
    }
  }
  const NodeId id = cluster.set_node(node(name, std::move(devices)));
  if (!others.grants.empty()) cluster.confirm({"others-on-" + name}, others);
  return id;
}

/// "g1 4000/10, g0 4000/10; g2 500/0": grants, a piece per position that has some.
inline std::string grants_text(const Allocation& allocation) {
  std::string text;
  for (std::size_t i = 0; i < allocation.grants.size(); ++i) {
    const Grant& grant = allocation.grants[i];
    if (i > 0) text += allocation.grants[i - 1].position == grant.position ? ", " : "; ";
    text +=
        grant.device + " " + std::to_string(grant.memory.v) + "/" + std::to_string(grant.cores.v);
  }
  return text;
}

/// All nodes of the cluster, in order of id.
inline std::vector<NodeId> all_nodes(const Cluster& cluster) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < cluster.node_count(); ++i) nodes.push_back({i});
  return nodes;
}

}  // namespace tessera::core::testing
