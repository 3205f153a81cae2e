#include "worse.h"

#include <algorithm>
#include <vector>

#include "core/topology.h"
#include "core/vendor_hooks.h"

namespace tessera::golden {
namespace {

using core::Usage;
using Keys = std::vector<std::int64_t>;

const core::Device& device_of(const core::Node& node, const core::Grant& grant) {
  return node.spec.devices[core::find_device(node.spec.devices, grant.vendor, grant.device)];
}

std::vector<std::uint32_t> first_cards(const core::Node& node, const core::Allocation& allocation) {
  std::vector<std::uint32_t> cards;
  for (const core::Grant& grant : allocation.grants) {
    if (grant.position != allocation.grants.front().position) break;
    cards.push_back(static_cast<std::uint32_t>(
        core::find_device(node.spec.devices, grant.vendor, grant.device)));
  }
  return cards;
}

/// How well the cards of the first container suit, summed over them.
Keys card_keys(const core::Node& node, const core::Request& request,
               const core::Allocation& allocation) {
  Keys keys;
  if (request.topology && !node.spec.links.empty()) {
    const auto cards = first_cards(node, allocation);
    if (cards.size() > 1) keys.push_back(core::linked_value(node.spec, cards, cards, request.mode));
  }
  for (const core::DevicePolicy* policy : request.device_policies) {
    std::int64_t sum = 0;
    for (const core::Grant& grant : allocation.grants) {
      if (grant.position != allocation.grants.front().position) break;
      const core::Device& device = device_of(node, grant);
      const auto at = static_cast<std::size_t>(&device - node.spec.devices.data());
      Usage after = node.used[at];
      after += Usage{1, grant.memory, grant.cores, grant.mig ? grant.mig->placement.size : 0};
      sum += policy->key({device, node.used[at], after, request.weights});
    }
    keys.push_back(sum);
  }
  return keys;
}

std::int64_t node_key(const core::Node& node, const core::Request& request,
                      const core::Allocation& allocation) {
  std::vector<VendorId> vendors;
  for (const core::Grant& grant : allocation.grants) {
    if (std::find(vendors.begin(), vendors.end(), grant.vendor) == vendors.end()) {
      vendors.push_back(grant.vendor);
    }
  }
  const auto charges = core::effective_charges(allocation);
  std::vector<core::NodeView::Vendor> view;
  for (const VendorId vendor : vendors) {
    core::NodeView::Vendor sum;
    for (std::size_t i = 0; i < node.spec.devices.size(); ++i) {
      const core::Device& device = node.spec.devices[i];
      if (device.vendor != vendor) continue;
      Usage used = node.used[i];
      for (const core::Charge& charge : charges) {
        if (charge.vendor == vendor && charge.device == device.id) used += charge.usage;
      }
      ++sum.devices;
      sum.load_sum_ppm += core::load_ppm(device, used, request.weights);
    }
    view.push_back(sum);
  }
  return request.node_policy->key({view});
}

/// What the vendors' own hooks think of the cards.
std::int64_t hooks_key(const core::Cluster& cluster, const core::Node& node,
                       const core::Allocation& allocation) {
  std::int64_t sum = 0;
  const core::VendorTable& rules = cluster.rules();
  for (std::uint16_t v = 0; v < rules.size(); ++v) {
    std::vector<core::TopologyView::Pick> picks;
    for (const core::Grant& grant : allocation.grants) {
      if (grant.vendor != VendorId{v}) continue;
      picks.push_back({grant.position, static_cast<std::uint32_t>(core::find_device(
                                           node.spec.devices, grant.vendor, grant.device))});
    }
    if (rules[v].hooks == nullptr || picks.empty()) continue;
    sum += rules[v].hooks->topology_score({node.spec, VendorId{v}, node.used, picks});
  }
  return sum;
}

}  // namespace

bool not_worse(const core::Cluster& cluster, const core::Request& request,
               const core::Decision& ours, const core::Allocation& theirs) {
  const core::Node& our_node = cluster.node(ours.node);
  const NodeId their_id = cluster.find_node(theirs.node);
  const core::Node& their_node = cluster.node(their_id);
  const std::int64_t our_links = hooks_key(cluster, our_node, ours.allocation);
  const std::int64_t their_links = hooks_key(cluster, their_node, theirs);
  if (our_links != their_links) return our_links > their_links;
  if (their_id == ours.node) {
    return card_keys(our_node, request, ours.allocation) >= card_keys(their_node, request, theirs);
  }
  if (request.topology) {
    const core::Fit there = core::fit_node(cluster, request, their_id);
    if (there.allocation && there.key.topology != ours.key.topology) {
      return ours.key.topology > there.key.topology;
    }
  }
  return node_key(our_node, request, ours.allocation) >= node_key(their_node, request, theirs);
}

}  // namespace tessera::golden
