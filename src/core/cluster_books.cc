// How holds are charged to nodes and quotas, one at a time.
#include <algorithm>
#include <tuple>

#include "core/cluster.h"
#include "core/cluster_impl.h"
#include "core/policy.h"

namespace tessera::core {
namespace {

/// Of a vendor that the table does not know.
const VendorRules kPlainRules;

Node::VendorSum& row_of(Node& node, VendorId vendor) {
  for (Node::VendorSum& row : node.vendors) {
    if (row.vendor == vendor) return row;
  }
  return node.vendors.emplace_back(Node::VendorSum{vendor, 0, 0});
}

bool charge_before(const Charge& a, const Charge& b) {
  return std::tie(a.vendor, a.device) < std::tie(b.vendor, b.device);
}

void insert_sorted(std::vector<MigPlacement>& list, const std::vector<MigPlacement>& more) {
  for (const MigPlacement& placement : more) {
    list.insert(std::upper_bound(list.begin(), list.end(), placement), placement);
  }
}

void erase_sorted(std::vector<MigPlacement>& list, const std::vector<MigPlacement>& fewer) {
  for (const MigPlacement& placement : fewer) {
    const auto at = std::lower_bound(list.begin(), list.end(), placement);
    if (at != list.end() && *at == placement) list.erase(at);
  }
}

std::vector<Node::Instances>::iterator instances_of(Node& node, std::size_t device) {
  return std::lower_bound(
      node.instances.begin(), node.instances.end(), device,
      [](const Node::Instances& card, std::size_t d) { return card.device < d; });
}

/// What lies on the card; an empty list where there was none.
std::vector<MigPlacement>& placed_on(Node& node, std::size_t device) {
  auto at = instances_of(node, device);
  if (at == node.instances.end() || at->device != device)
    at = node.instances.insert(at, {static_cast<std::uint32_t>(device), {}});
  return at->placed;
}

void forget_instances(Node& node, std::size_t device) {
  node.instances.erase(instances_of(node, device));
}

/// The grants of finished init containers that have no instance are no longer in the charge.
bool nothing(const Charge& charge) {
  return charge.usage == Usage{} && charge.instances.empty() && charge.plain == 0;
}

}  // namespace

NodeId Cluster::Impl::intern(std::string_view name) {
  if (const auto found = ids.find(name); found != ids.end()) return found->second;
  const NodeId id{static_cast<std::uint32_t>(nodes.size())};
  std::string& kept = nodes.emplace_back().node.spec.name;
  kept = name;
  ids.emplace(kept, id);
  by_name.push_back(id);
  ranks_stale = true;
  ++rank_version;
  return id;
}

void Cluster::Impl::touch(NodeId id) {
  ++state(id).node.version;
  if (changes.size() < kChangesKept) {
    changes.push_back(id);
  } else {
    changes[change_count % kChangesKept] = id;
  }
  ++change_count;
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

void Cluster::Impl::set_used(Node& node, std::size_t device, const Usage& used) {
  const std::int64_t load = load_ppm(node.spec.devices[device], used);
  row_of(node, node.spec.devices[device].vendor).load_ppm += load - node.load[device];
  node.used[device] = used;
  node.load[device] = load;
}

template <class Change>
void Cluster::Impl::change_users(Node& node, std::size_t device, Change change) {
  node.unexplained_users -= node.unexplained(device);
  change();
  node.unexplained_users += node.unexplained(device);
}

void Cluster::Impl::add_charge(NodeState& state, const Charge& charge) {
  Node& node = state.node;
  const std::size_t device = find_device(node.spec.devices, charge.vendor, charge.device);
  if (device == node.used.size()) return add_waiting(state, charge);
  Usage used = node.used[device];
  used += charge.usage;
  set_used(node, device, used);
  change_users(node, device, [&] {
    node.plain[device] += charge.plain;
    if (!charge.instances.empty()) insert_sorted(placed_on(node, device), charge.instances);
  });
}

void Cluster::Impl::remove_charge(NodeState& state, const Charge& charge) {
  Node& node = state.node;
  const std::size_t device = find_device(node.spec.devices, charge.vendor, charge.device);
  if (device == node.used.size()) return remove_waiting(state, charge);
  Usage used = node.used[device];
  used -= charge.usage;
  set_used(node, device, used);
  change_users(node, device, [&] {
    node.plain[device] -= charge.plain;
    if (charge.instances.empty()) return;
    std::vector<MigPlacement>& placed = placed_on(node, device);
    erase_sorted(placed, charge.instances);
    if (placed.empty()) forget_instances(node, device);
  });
}

void Cluster::Impl::add_waiting(NodeState& state, const Charge& charge) {
  std::vector<Charge>& waiting = state.orphans;
  state.node.lost_instances += static_cast<std::uint32_t>(charge.instances.size());
  const auto at = std::lower_bound(waiting.begin(), waiting.end(), charge, charge_before);
  if (at == waiting.end() || charge_before(charge, *at)) {
    waiting.insert(at, charge);
    return;
  }
  at->usage += charge.usage;
  at->plain += charge.plain;
  insert_sorted(at->instances, charge.instances);
}

void Cluster::Impl::remove_waiting(NodeState& state, const Charge& charge) {
  std::vector<Charge>& waiting = state.orphans;
  state.node.lost_instances -= static_cast<std::uint32_t>(charge.instances.size());
  const auto at = std::lower_bound(waiting.begin(), waiting.end(), charge, charge_before);
  at->usage -= charge.usage;
  at->plain -= charge.plain;
  erase_sorted(at->instances, charge.instances);
  if (nothing(*at)) waiting.erase(at);
}

void Cluster::Impl::replace_devices(NodeState& state, std::vector<Device> devices) {
  std::vector<Charge> carried = std::move(state.orphans);
  Node& node = state.node;
  for (std::size_t i = 0; i < node.used.size(); ++i) {
    const std::span<const MigPlacement> placed = node.placed_on(i);
    Charge charge{node.spec.devices[i].vendor,
                  node.spec.devices[i].id,
                  node.used[i],
                  {placed.begin(), placed.end()},
                  node.plain[i]};
    if (!nothing(charge)) carried.push_back(std::move(charge));
  }
  const std::size_t count = devices.size();
  for (Device& device : devices) {
    texts.unite(device.model);
    texts.unite(device.mode);
  }
  node.spec.devices = std::move(devices);
  node.used.assign(count, Usage{});
  node.load.assign(count, 0);
  node.plain.assign(count, 0);
  node.instances.clear();
  node.vendors.clear();
  for (const Device& device : node.spec.devices) ++row_of(node, device.vendor).devices;
  state.orphans.clear();
  node.lost_instances = 0;
  node.unexplained_users = 0;
  for (const Charge& charge : carried) add_charge(state, charge);
}

void Cluster::Impl::charge(const Record& record, std::span<const Charge> charges) {
  const Allocation& allocation = record.hold.allocation;
  NodeState& target = state(record.node);
  for (const Charge& charge : charges) add_charge(target, charge);
  quotas.charge(allocation.subject, scratch.asked_needs.of(allocation));
  touch(record.node);
}

void Cluster::Impl::uncharge(const Record& record) {
  const Allocation& allocation = record.hold.allocation;
  NodeState& target = state(record.node);
  for (const Charge& charge : scratch.held.of(allocation)) remove_charge(target, charge);
  quotas.uncharge(allocation.subject, scratch.held_needs.of(allocation));
  touch(record.node);
}

bool Cluster::Impl::fits(const Allocation& allocation, std::span<const Charge> charges, NodeId id,
                         const Record* replaced) {
  const Node& node = state(id).node;
  std::span<const Charge> freed;
  if (replaced != nullptr && replaced->node == id) {
    freed = scratch.held.of(replaced->hold.allocation);
  }
  scratch.ledger.open(node, Ledger::own_uses(node, freed));
  for (const Grant& grant : allocation.grants) {
    const std::size_t device = find_device(node.spec.devices, grant.vendor, grant.device);
    if (device == node.used.size()) return false;
    const Device& card = node.spec.devices[device];
    if (grant.mig && !legal_placement(card, grant.mig->profile, grant.mig->placement)) return false;
  }
  for (const Charge& charge : charges) {
    const std::size_t device = find_device(node.spec.devices, charge.vendor, charge.device);
    if (device == node.used.size()) return false;
    if (!has_room(node, static_cast<std::uint32_t>(device), charge)) return false;
  }
  return true;
}

bool Cluster::Impl::has_room(const Node& node, std::uint32_t device, const Charge& charge) const {
  const Ledger& ledger = scratch.ledger;
  const Device& card = node.spec.devices[device];
  Usage used = ledger.base(device);
  used += charge.usage;
  const VendorId vendor = card.vendor;
  if (!within(card, used, vendor.v < rules.size() ? rules[vendor.v] : kPlainRules)) return false;
  if (!ledger.explained(device)) return false;
  if (card.partitioned() && charge.plain > 0) return false;
  const std::span<const MigPlacement> occupied = ledger.occupied(device);
  for (std::size_t i = 0; i < charge.instances.size(); ++i) {
    const MigPlacement& placement = charge.instances[i];
    const auto overlaps = [&](const MigPlacement& other) { return placement.overlaps(other); };
    if (!legal_placement(card, {}, placement)) return false;
    if (std::any_of(occupied.begin(), occupied.end(), overlaps)) return false;
    // They are sorted: if any two overlap, two neighbours do.
    if (i > 0 && overlaps(charge.instances[i - 1])) return false;
  }
  return true;
}

std::optional<QuotaExcess> Cluster::Impl::over_quota(const Allocation& allocation,
                                                     const Record* replaced) {
  if (!quotas.limits(allocation.subject.ns)) return std::nullopt;
  const QuotaNeeds none;
  const bool frees = replaced != nullptr && replaced->hold.allocation.subject == allocation.subject;
  const QuotaNeeds& freed = frees ? scratch.held_needs.of(replaced->hold.allocation) : none;
  return quotas.excess(allocation.subject, scratch.asked_needs.of(allocation), freed);
}

void Cluster::Impl::insert(PodUid uid, Hold hold) {
  const std::span<const Charge> charges = scratch.asked.of(hold.allocation);
  insert(std::move(uid), std::move(hold), charges);
}

void Cluster::Impl::insert(PodUid uid, Hold hold, std::span<const Charge> charges) {
  const NodeId node = intern(hold.allocation.node);
  const auto [at, fresh] = holds.try_emplace(std::move(uid));
  Record& record = at->second;
  if (!fresh) take_off(at->first, record);
  record = {std::move(hold), node};
  state(node).holders.push_back(&at->first);
  charge(record, charges);
}

/// The record itself stays.
void Cluster::Impl::take_off(const PodUid& key, const Record& record) {
  uncharge(record);
  std::erase(state(record.node).holders, &key);
}

bool Cluster::Impl::erase(const PodUid& uid) {
  const auto found = holds.find(uid);
  if (found == holds.end()) return false;
  take_off(found->first, found->second);
  holds.erase(found);
  return true;
}

}  // namespace tessera::core
