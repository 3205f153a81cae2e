#include "core/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cluster_impl.h"

namespace tessera::core {
bool same_apart_from_lock(const NodeSpec& a, const NodeSpec& b) {
  return a.devices == b.devices && a.offered == b.offered && a.cordoned == b.cordoned &&
         a.links == b.links && a.traits == b.traits && a.label_priority == b.label_priority;
}

bool offers_anything(const NodeSpec& node) {
  return std::any_of(node.devices.begin(), node.devices.end(), [&](const Device& device) {
    return device.vendor.v < node.offered.size() && node.offered[device.vendor.v];
  });
}

Node::VendorSum Node::sum_of(VendorId vendor) const {
  for (const VendorSum& row : vendors) {
    if (row.vendor == vendor) return row;
  }
  return {vendor, 0, 0};
}

std::span<const MigPlacement> Node::placed_on(std::size_t device) const {
  for (const Instances& card : instances) {
    if (card.device == device) return card.placed;
  }
  return {};
}

std::span<const MigPlacement> Node::occupied(std::size_t device) const {
  if (!spec.devices[device].partitioned()) return {};
  return placed_on(device);
}

std::uint32_t Node::unexplained(std::size_t device) const {
  if (spec.devices[device].partitioned()) return plain[device];
  return static_cast<std::uint32_t>(placed_on(device).size());
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
  if (node.present && node.spec.locked == spec.locked && same_apart_from_lock(node.spec, spec))
    return id;
  ++node.spec_version;
  if (node.spec.devices != spec.devices) impl_->replace_devices(state, std::move(spec.devices));
  node.spec.offered = std::move(spec.offered);
  node.spec.cordoned = std::move(spec.cordoned);
  node.spec.locked = spec.locked;
  node.spec.links = std::move(spec.links);
  node.spec.traits = std::move(spec.traits);
  node.spec.label_priority = spec.label_priority;
  node.present = true;
  impl_->touch(id);
  return id;
}

void Cluster::set_locked(NodeId id, bool locked) {
  if (id.v >= impl_->nodes.size()) return;
  Node& node = impl_->state(id).node;
  if (node.spec.locked == locked) return;
  node.spec.locked = locked;
  impl_->touch(id);
}

void Cluster::remove_node(std::string_view name) {
  const NodeId id = find_node(name);
  if (!id.valid()) return;
  Impl::NodeState& state = impl_->state(id);
  if (!state.node.present) return;
  ++state.node.spec_version;
  impl_->replace_devices(state, {});
  state.node.spec.offered.clear();
  state.node.spec.cordoned.clear();
  state.node.spec.locked = false;
  state.node.spec.links.clear();
  state.node.spec.traits.clear();
  state.node.spec.label_priority = 0;
  state.node.present = false;
  impl_->touch(id);
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

std::uint64_t Cluster::rank_version() const { return impl_->rank_version; }

std::span<const std::uint32_t> Cluster::ranks() const {
  impl_->refresh_ranks();
  return impl_->ranks;
}

std::uint64_t Cluster::change_count() const { return impl_->change_count; }

bool Cluster::changes_since(std::uint64_t seen, std::vector<NodeId>& changed) const {
  const std::uint64_t count = impl_->change_count;
  if (count - seen > impl_->changes.size()) return false;
  for (std::uint64_t i = seen; i < count; ++i)
    changed.push_back(impl_->changes[i % Impl::kChangesKept]);
  return true;
}

Status Cluster::reserve(PodUid uid, Allocation allocation, MonoTime deadline) {
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
  const std::span<const Charge> charges = impl_->scratch.asked.of(allocation);
  if (!impl_->fits(allocation, charges, node, replaced)) {
    return fail(Code::kConflict, fmt::format("the slices of pod {} do not fit on node {} any more",
                                             uid.v, allocation.node));
  }
  if (const auto excess = impl_->over_quota(allocation, replaced)) {
    return fail(Code::kConflict, fmt::format("pod {} would exceed {}", uid.v, words(*excess)));
  }
  impl_->insert(std::move(uid), {std::move(allocation), HoldState::kReserved, deadline}, charges);
  return {};
}

void Cluster::confirm(PodUid uid, Allocation allocation) {
  impl_->insert(std::move(uid), {std::move(allocation), HoldState::kBound, {}});
}

void Cluster::restore(PodUid uid, Hold hold) { impl_->insert(std::move(uid), std::move(hold)); }

bool Cluster::release(const PodUid& uid) { return impl_->erase(uid); }

bool Cluster::extend(const PodUid& uid, MonoTime deadline) {
  const auto found = impl_->holds.find(uid);
  if (found == impl_->holds.end()) return false;
  Hold& hold = found->second.hold;
  if (hold.state != HoldState::kReserved) return false;
  hold.deadline = deadline;
  return true;
}

bool Cluster::finish_init(const PodUid& uid) {
  const auto found = impl_->holds.find(uid);
  if (found == impl_->holds.end()) return false;
  Allocation& allocation = found->second.hold.allocation;
  if (allocation.init_finished) return true;
  impl_->uncharge(found->second);
  allocation.init_finished = true;
  impl_->charge(found->second, impl_->scratch.asked.of(allocation));
  return true;
}

std::vector<PodUid> Cluster::expire(MonoTime now) {
  std::vector<PodUid> ended;
  for (const auto& [uid, record] : impl_->holds) {
    const Hold& hold = record.hold;
    if (hold.state == HoldState::kReserved && hold.deadline <= now) ended.push_back(uid);
  }
  std::sort(ended.begin(), ended.end());
  for (const PodUid& uid : ended) impl_->erase(uid);
  return ended;
}

void Cluster::set_quota(QuotaSpec quota) { impl_->quotas.set(std::move(quota)); }

void Cluster::remove_quota(std::string_view ns, std::string_view name) {
  impl_->quotas.remove(ns, name);
}

const QuotaBook& Cluster::quotas() const { return impl_->quotas; }

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
