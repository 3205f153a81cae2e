#include "core/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/cluster_impl.h"
#include "core/policy.h"

namespace tessera::core {
namespace {

bool same_spec(const NodeSpec& a, const NodeSpec& b) {
  return a.devices == b.devices && a.offered == b.offered && a.cordoned == b.cordoned &&
         a.locked == b.locked;
}

Node::VendorSum& row_of(Node& node, VendorId vendor) {
  for (Node::VendorSum& row : node.vendors) {
    if (row.vendor == vendor) return row;
  }
  return node.vendors.emplace_back(Node::VendorSum{vendor, 0, 0});
}

void set_used(Node& node, std::size_t device, const Usage& used) {
  const std::int64_t load = load_ppm(node.spec.devices[device], used);
  row_of(node, node.spec.devices[device].vendor).load_ppm += load - node.load[device];
  node.used[device] = used;
  node.load[device] = load;
}

bool charge_before(const Charge& a, const Charge& b) {
  return std::tie(a.vendor, a.device) < std::tie(b.vendor, b.device);
}

}  // namespace

Node::VendorSum Node::sum_of(VendorId vendor) const {
  for (const VendorSum& row : vendors) {
    if (row.vendor == vendor) return row;
  }
  return {vendor, 0, 0};
}

NodeId Cluster::Impl::intern(std::string_view name) {
  if (const auto found = ids.find(name); found != ids.end()) return found->second;
  const NodeId id{static_cast<std::uint32_t>(nodes.size())};
  nodes.emplace_back().node.spec.name = name;
  ids.emplace(std::string(name), id);
  by_name.push_back(id);
  ranks_stale = true;
  return id;
}

void Cluster::Impl::refresh_ranks() {
  if (!ranks_stale) return;
  std::sort(by_name.begin(), by_name.end(), [this](NodeId a, NodeId b) {
    return state(a).node.spec.name < state(b).node.spec.name;
  });
  ranks.resize(nodes.size());
  for (std::uint32_t i = 0; i < by_name.size(); ++i) ranks[by_name[i].v] = i;
  ranks_stale = false;
}

void Cluster::Impl::add_charge(NodeState& state, const Charge& charge) {
  Node& node = state.node;
  const std::size_t device = find_device(node.spec.devices, charge.vendor, charge.device);
  if (device < node.used.size()) {
    Usage used = node.used[device];
    used += charge.usage;
    set_used(node, device, used);
    return;
  }
  const auto at =
      std::lower_bound(state.orphans.begin(), state.orphans.end(), charge, charge_before);
  if (at != state.orphans.end() && !charge_before(charge, *at)) {
    at->usage += charge.usage;
    if (at->usage == Usage{}) state.orphans.erase(at);
  } else {
    state.orphans.insert(at, charge);
  }
}

void Cluster::Impl::remove_charge(NodeState& state, const Charge& charge) {
  Charge negative = charge;
  negative.usage = {};
  negative.usage -= charge.usage;
  add_charge(state, negative);
}

void Cluster::Impl::replace_devices(NodeState& state, std::vector<Device> devices) {
  std::vector<Charge> carried = std::move(state.orphans);
  Node& node = state.node;
  for (std::size_t i = 0; i < node.used.size(); ++i) {
    if (node.used[i] == Usage{}) continue;
    carried.push_back({node.spec.devices[i].vendor, node.spec.devices[i].id, node.used[i]});
  }
  node.spec.devices = std::move(devices);
  node.used.assign(node.spec.devices.size(), Usage{});
  node.load.assign(node.spec.devices.size(), 0);
  node.vendors.clear();
  for (const Device& device : node.spec.devices) ++row_of(node, device.vendor).devices;
  state.orphans.clear();
  for (const Charge& charge : carried) add_charge(state, charge);
}

void Cluster::Impl::charge(const Record& record) {
  NodeState& target = state(record.node);
  for (const Charge& charge : effective_charges(record.hold.allocation)) add_charge(target, charge);
  ++target.node.version;
}

void Cluster::Impl::uncharge(const Record& record) {
  NodeState& target = state(record.node);
  for (const Charge& charge : effective_charges(record.hold.allocation)) {
    remove_charge(target, charge);
  }
  ++target.node.version;
}

bool Cluster::Impl::fits(const Allocation& allocation, NodeId id, const Record* replaced) const {
  const Node& node = nodes[id.v].node;
  std::vector<Charge> freed;
  if (replaced != nullptr && replaced->node == id) {
    freed = effective_charges(replaced->hold.allocation);
  }
  for (const Charge& charge : effective_charges(allocation)) {
    const std::size_t device = find_device(node.spec.devices, charge.vendor, charge.device);
    if (device == node.used.size()) return false;
    Usage used = node.used[device];
    for (const Charge& own : freed) {
      if (own.vendor == charge.vendor && own.device == charge.device) used -= own.usage;
    }
    used += charge.usage;
    if (!within(node.spec.devices[device], used)) return false;
  }
  return true;
}

void Cluster::Impl::insert(const PodUid& uid, Hold hold) {
  erase(uid);
  const NodeId node = intern(hold.allocation.node);
  const auto [at, fresh] = holds.emplace(uid, Record{std::move(hold), node});
  state(node).holders.push_back(&at->first);
  if (at->second.hold.state == HoldState::kReserved) {
    deadlines.emplace(at->second.hold.deadline, uid);
  }
  charge(at->second);
}

bool Cluster::Impl::erase(const PodUid& uid) {
  const auto found = holds.find(uid);
  if (found == holds.end()) return false;
  const Record& record = found->second;
  uncharge(record);
  if (record.hold.state == HoldState::kReserved) deadlines.erase({record.hold.deadline, uid});
  std::erase(state(record.node).holders, &found->first);
  holds.erase(found);
  return true;
}

Cluster::Cluster(VendorTable rules) : impl_(std::make_unique<Impl>(std::move(rules))) {}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

const VendorTable& Cluster::rules() const { return impl_->rules; }

NodeId Cluster::set_node(NodeSpec spec) {
  const NodeId id = impl_->intern(spec.name);
  Impl::NodeState& state = impl_->state(id);
  Node& node = state.node;
  if (node.present && same_spec(node.spec, spec)) return id;
  if (node.spec.devices != spec.devices) Impl::replace_devices(state, std::move(spec.devices));
  node.spec.offered = std::move(spec.offered);
  node.spec.cordoned = std::move(spec.cordoned);
  node.spec.locked = spec.locked;
  node.present = true;
  ++node.version;
  return id;
}

void Cluster::set_locked(NodeId id, bool locked) {
  if (id.v >= impl_->nodes.size()) return;
  Node& node = impl_->state(id).node;
  if (node.spec.locked == locked) return;
  node.spec.locked = locked;
  ++node.version;
}

void Cluster::remove_node(std::string_view name) {
  const NodeId id = find_node(name);
  if (!id.valid()) return;
  Impl::NodeState& state = impl_->state(id);
  if (!state.node.present) return;
  Impl::replace_devices(state, {});
  state.node.spec.offered.clear();
  state.node.spec.cordoned.clear();
  state.node.spec.locked = false;
  state.node.present = false;
  ++state.node.version;
}

NodeId Cluster::find_node(std::string_view name) const {
  const auto found = impl_->ids.find(name);
  return found == impl_->ids.end() ? NodeId{} : found->second;
}

const Node& Cluster::node(NodeId id) const { return impl_->nodes[id.v].node; }
std::size_t Cluster::node_count() const { return impl_->nodes.size(); }

std::vector<NodeId> Cluster::present_nodes() const {
  impl_->refresh_ranks();
  std::vector<NodeId> present;
  for (const NodeId id : impl_->by_name) {
    if (node(id).present) present.push_back(id);
  }
  return present;
}

std::uint32_t Cluster::rank(NodeId id) const {
  impl_->refresh_ranks();
  return impl_->ranks[id.v];
}

Status Cluster::reserve(const PodUid& uid, Allocation allocation, MonoTime deadline) {
  const auto held = impl_->holds.find(uid);
  const Impl::Record* replaced = held == impl_->holds.end() ? nullptr : &held->second;
  if (replaced != nullptr && replaced->hold.state == HoldState::kBound) {
    return fail(Code::kConflict,
                fmt::format("pod {} is bound to node {}", uid.v, replaced->hold.allocation.node));
  }
  const NodeId node = find_node(allocation.node);
  if (!node.valid() || !this->node(node).present) {
    return fail(Code::kConflict, fmt::format("node {} is not registered", allocation.node));
  }
  if (!impl_->fits(allocation, node, replaced)) {
    return fail(Code::kConflict, fmt::format("the slices of pod {} do not fit on node {} any more",
                                             uid.v, allocation.node));
  }
  impl_->insert(uid, {std::move(allocation), HoldState::kReserved, deadline});
  return {};
}

void Cluster::confirm(const PodUid& uid, Allocation allocation) {
  impl_->insert(uid, {std::move(allocation), HoldState::kBound, {}});
}

bool Cluster::release(const PodUid& uid) { return impl_->erase(uid); }

bool Cluster::extend(const PodUid& uid, MonoTime deadline) {
  const auto found = impl_->holds.find(uid);
  if (found == impl_->holds.end()) return false;
  Hold& hold = found->second.hold;
  if (hold.state != HoldState::kReserved) return false;
  impl_->deadlines.erase({hold.deadline, uid});
  hold.deadline = deadline;
  impl_->deadlines.emplace(deadline, uid);
  return true;
}

bool Cluster::finish_init(const PodUid& uid) {
  const auto found = impl_->holds.find(uid);
  if (found == impl_->holds.end()) return false;
  Allocation& allocation = found->second.hold.allocation;
  if (allocation.init_finished) return true;
  impl_->uncharge(found->second);
  allocation.init_finished = true;
  impl_->charge(found->second);
  return true;
}

std::vector<PodUid> Cluster::expire(MonoTime now) {
  std::vector<PodUid> ended;
  for (const auto& [deadline, uid] : impl_->deadlines) {
    if (deadline > now) break;
    ended.push_back(uid);
  }
  std::sort(ended.begin(), ended.end());
  for (const PodUid& uid : ended) impl_->erase(uid);
  return ended;
}

const Hold* Cluster::hold(const PodUid& uid) const {
  const auto found = impl_->holds.find(uid);
  return found == impl_->holds.end() ? nullptr : &found->second.hold;
}

std::vector<PodUid> Cluster::holders() const {
  std::vector<PodUid> uids;
  uids.reserve(impl_->holds.size());
  for (const auto& [uid, record] : impl_->holds) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  return uids;
}

std::vector<PodUid> Cluster::holders_on(NodeId node) const {
  std::vector<PodUid> uids;
  if (node.v >= impl_->nodes.size()) return uids;
  for (const PodUid* uid : impl_->state(node).holders) uids.push_back(*uid);
  std::sort(uids.begin(), uids.end());
  return uids;
}

std::size_t Cluster::hold_count() const { return impl_->holds.size(); }

}  // namespace tessera::core
