// The plain recomputation of the books, and the comparison with the kept ones.
#include <fmt/format.h>

#include <algorithm>
#include <map>
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

void compare_waiting(std::string_view node, const std::vector<Charge>& mine,
                     const std::vector<Charge>& other, std::vector<std::string>& found) {
  if (mine == other) return;
  const auto list = [](const std::vector<Charge>& charges) {
    std::string text;
    for (const Charge& charge : charges) {
      text += fmt::format(" {}({})", charge.device, words(charge.usage));
    }
    return text.empty() ? std::string(" none") : text;
  };
  found.push_back(
      fmt::format("node {} charges on absent devices:{} against{}", node, list(mine), list(other)));
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

// Written without the incremental functions on purpose: one pass over all holds, one sum per
// device.
Cluster Cluster::rebuild() const {
  using Key = std::tuple<std::uint32_t, VendorId, std::string>;
  Cluster fresh(impl_->rules);
  Impl& copy = *fresh.impl_;
  copy.ids = impl_->ids;
  copy.by_name = impl_->by_name;
  copy.ranks_stale = true;
  std::map<Key, Usage> sums;
  for (const auto& [uid, record] : impl_->holds) {
    copy.holds.emplace(uid, record);
    if (record.hold.state == HoldState::kReserved) {
      copy.deadlines.emplace(record.hold.deadline, uid);
    }
    for (const Charge& charge : effective_charges(record.hold.allocation)) {
      sums[{record.node.v, charge.vendor, charge.device}] += charge.usage;
    }
  }
  for (std::uint32_t id = 0; id < impl_->nodes.size(); ++id) {
    const Node& source = impl_->nodes[id].node;
    Impl::NodeState& target = copy.nodes.emplace_back();
    target.node.spec = source.spec;
    target.node.present = source.present;
    target.node.version = source.version;
    for (const Device& device : source.spec.devices) {
      const auto sum = sums.extract({id, device.vendor, device.id});
      const Usage used = sum.empty() ? Usage{} : sum.mapped();
      target.node.used.push_back(used);
      target.node.load.push_back(load_ppm(device, used));
    }
    target.node.vendors = sums_of(target.node);
  }
  for (const auto& [key, usage] : sums) {
    const auto& [id, vendor, device] = key;
    copy.nodes[id].orphans.push_back({vendor, device, usage});
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
  if (impl_->deadlines != other.impl_->deadlines) found.push_back("different deadlines");
  compare_holds(*this, other, found);
  return found;
}

}  // namespace tessera::core
