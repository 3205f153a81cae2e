// The plain recomputation of the books, and the comparison with the kept ones.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "core/cluster.h"
#include "core/cluster_impl.h"
#include "core/policy.h"

namespace tessera::core {
namespace {

std::string words(const Usage& usage) {
  return fmt::format("{} slots, {} MiB, {} % cores", usage.slots, usage.memory.v, usage.cores.v);
}

std::vector<Node::VendorSum> sums_of(const Node& node) {
  std::vector<Node::VendorSum> sums;
  for (std::size_t i = 0; i < node.load.size(); ++i) {
    const VendorId vendor = node.spec.devices[i].vendor;
    auto row = std::find_if(sums.begin(), sums.end(), [&](auto& s) { return s.vendor == vendor; });
    if (row == sums.end()) row = sums.insert(sums.end(), {vendor, 0, 0});
    ++row->devices;
    row->load_ppm += node.load[i];
  }
  return sums;
}

void compare_used(const Node& mine, const Node& other, std::vector<std::string>& found) {
  for (std::size_t i = 0; i < mine.used.size(); ++i) {
    if (mine.used[i] != other.used[i]) {
      found.push_back(fmt::format("node {} device {}: {} against {}", mine.spec.name,
                                  mine.spec.devices[i].id, words(mine.used[i]),
                                  words(other.used[i])));
    }
    if (mine.load[i] != other.load[i]) {
      found.push_back(fmt::format("node {} device {}: load {} against {}", mine.spec.name,
                                  mine.spec.devices[i].id, mine.load[i], other.load[i]));
    }
  }
}

std::string words(std::span<const MigPlacement> placements) {
  std::string text;
  for (const MigPlacement& p : placements) text += fmt::format(" {}+{}", p.start, p.size);
  return text.empty() ? " none" : text;
}

void compare_instances(const Node& mine, const Node& other, std::vector<std::string>& found) {
  for (std::size_t i = 0; i < mine.plain.size(); ++i) {
    const std::span<const MigPlacement> a = mine.placed_on(i), b = other.placed_on(i);
    if (std::equal(a.begin(), a.end(), b.begin(), b.end()) && mine.plain[i] == other.plain[i])
      continue;
    found.push_back(fmt::format(
        "node {} device {}: instances{} and {} users without against{} and {}", mine.spec.name,
        mine.spec.devices[i].id, words(a), mine.plain[i], words(b), other.plain[i]));
  }
  if (mine.unexplained_users != other.unexplained_users) {
    found.push_back(fmt::format("node {}: {} unexplained users against {}", mine.spec.name,
                                mine.unexplained_users, other.unexplained_users));
  }
  if (mine.lost_instances != other.lost_instances) {
    found.push_back(fmt::format("node {}: {} instances on absent devices against {}",
                                mine.spec.name, mine.lost_instances, other.lost_instances));
  }
}

void compare_waiting(std::string_view node, const std::vector<Charge>& mine,
                     const std::vector<Charge>& other, std::vector<std::string>& found) {
  if (mine == other) return;
  const auto list = [](const std::vector<Charge>& charges) {
    std::string text;
    for (const Charge& charge : charges) {
      text += fmt::format(" {}({}{})", charge.device, words(charge.usage),
                          charge.instances.empty() ? "" : "," + words(charge.instances));
    }
    return text.empty() ? std::string(" none") : text;
  };
  found.push_back(
      fmt::format("node {} charges on absent devices:{} against{}", node, list(mine), list(other)));
}

std::string words(const QuotaNeeds& needs) {
  std::string text;
  for (const QuotaNeed& need : needs) {
    text += fmt::format(" [vendor {}: {} cards, {} MiB, {} % cores]", need.vendor.v, need.count,
                        need.memory, need.cores);
  }
  return text.empty() ? " nothing" : text;
}

void compare_quotas(const QuotaBook& mine, const QuotaBook& other,
                    std::vector<std::string>& found) {
  if (mine == other) return;
  const std::vector<QuotaBook::Row> left = mine.rows(), right = other.rows();
  if (left.size() != right.size()) {
    found.push_back(fmt::format("{} quotas against {}", left.size(), right.size()));
    return;
  }
  const std::size_t before = found.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::string name = left[i].quota.ns + "/" + left[i].quota.name;
    if (!(left[i].quota == right[i].quota)) {
      found.push_back(fmt::format("quota {} has different limits", name));
    } else if (left[i].used != right[i].used) {
      found.push_back(fmt::format("quota {} used:{} against{}", name, words(left[i].used),
                                  words(right[i].used)));
    }
  }
  if (found.size() == before) found.push_back("namespaces outside any quota are used differently");
}

void compare_holds(const Cluster& mine, const Cluster& other, std::vector<std::string>& found) {
  for (const PodUid& uid : mine.holders()) {
    const Hold& a = *mine.hold(uid);
    const Hold* b = other.hold(uid);
    if (b == nullptr) {
      found.push_back(fmt::format("pod {} is held on one side only", uid.v));
    } else if (!(a.allocation == b->allocation) || a.state != b->state ||
               a.deadline != b->deadline) {
      found.push_back(fmt::format("pod {} is held differently", uid.v));
    }
  }
  for (const PodUid& uid : other.holders()) {
    if (mine.hold(uid) == nullptr) {
      found.push_back(fmt::format("pod {} is held on one side only", uid.v));
    }
  }
}

}  // namespace

void Cluster::Impl::rebuild_node(const Node& source, CardSums& sums, std::uint32_t id,
                                 NodeState& target) {
  Node& node = target.node;
  node.spec = source.spec;
  node.present = source.present;
  node.version = source.version;
  node.spec_version = source.spec_version;
  for (const Device& device : source.spec.devices) {
    const auto sum = sums.extract({id, device.vendor, device.id});
    const Charge charge = sum.empty() ? Charge{} : sum.mapped();
    node.used.push_back(charge.usage);
    node.load.push_back(load_ppm(device, charge.usage));
    if (!charge.instances.empty()) {
      const auto index = static_cast<std::uint32_t>(node.plain.size());
      node.instances.push_back({index, charge.instances});
    }
    node.plain.push_back(charge.plain);
    node.unexplained_users +=
        device.partitioned() ? charge.plain : static_cast<std::uint32_t>(charge.instances.size());
  }
  node.vendors = sums_of(node);
}

// Written without the incremental functions on purpose: one pass over all holds, one sum per
// device.
Cluster Cluster::rebuild() const {
  Cluster fresh(impl_->rules);
  Impl& copy = *fresh.impl_;
  copy.by_name = impl_->by_name;
  copy.ranks_stale = true;
  for (const QuotaBook::Row& row : impl_->quotas.rows()) copy.quotas.set(row.quota);
  Impl::CardSums sums;
  for (const auto& [uid, record] : impl_->holds) {
    const Allocation& allocation = record.hold.allocation;
    copy.holds.emplace(uid, record);
    for (const Charge& charge : effective_charges(allocation)) {
      Charge& sum = sums[{record.node.v, charge.vendor, charge.device}];
      sum.usage += charge.usage;
      sum.plain += charge.plain;
      sum.instances.insert(sum.instances.end(), charge.instances.begin(), charge.instances.end());
    }
    copy.quotas.charge(allocation.subject, quota_needs(allocation));
  }
  for (auto& [key, sum] : sums) std::sort(sum.instances.begin(), sum.instances.end());
  for (std::uint32_t id = 0; id < impl_->nodes.size(); ++id) {
    Impl::NodeState& target = copy.nodes.emplace_back();
    Impl::rebuild_node(impl_->nodes[id].node, sums, id, target);
    copy.ids.emplace(target.node.spec.name, NodeId{id});
  }
  for (auto& [key, sum] : sums) {  // what is left: devices that are not there
    const auto& [id, vendor, device] = key;
    copy.nodes[id].node.lost_instances += static_cast<std::uint32_t>(sum.instances.size());
    copy.nodes[id].orphans.push_back({vendor, device, sum.usage, sum.instances, sum.plain});
  }
  for (const auto& [uid, record] : copy.holds) {
    copy.nodes[record.node.v].holders.push_back(&uid);
  }
  return fresh;
}

std::vector<std::string> Cluster::differences(const Cluster& other) const {
  std::vector<std::string> found;
  for (const Impl::NodeState& state : impl_->nodes) {
    const Node& mine = state.node;
    const NodeId id = other.find_node(mine.spec.name);
    if (!id.valid()) {
      found.push_back(fmt::format("node {} is known on one side only", mine.spec.name));
      continue;
    }
    const Impl::NodeState& theirs = other.impl_->nodes[id.v];
    if (mine.present != theirs.node.present || mine.spec.devices != theirs.node.spec.devices) {
      found.push_back(fmt::format("node {} has different devices", mine.spec.name));
      continue;
    }
    compare_used(mine, theirs.node, found);
    compare_instances(mine, theirs.node, found);
    if (mine.vendors != theirs.node.vendors) {
      found.push_back(fmt::format("node {} has different sums by vendor", mine.spec.name));
    }
    compare_waiting(mine.spec.name, state.orphans, theirs.orphans, found);
    if (holders_on(find_node(mine.spec.name)) != other.holders_on(id)) {
      found.push_back(fmt::format("node {} has different holders", mine.spec.name));
    }
  }
  if (node_count() != other.node_count()) {
    found.push_back(fmt::format("{} nodes against {}", node_count(), other.node_count()));
  }
  compare_quotas(quotas(), other.quotas(), found);
  compare_holds(*this, other, found);
  return found;
}

}  // namespace tessera::core
