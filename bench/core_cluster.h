/// The cluster of the core's benchmarks: nodes of eight cards, four pods on each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "core/place.h"
#include "policies/registry.h"
#include "sim/synthetic.h"

namespace tessera::core::bench {

inline constexpr std::uint32_t kCards = 8, kPodsPerNode = 4;

inline sim::SyntheticCards cards_of(std::uint32_t node) {
  return {.model = node % 4 == 0 ? "Model A100-SXM4-80GB" : "Model H100 80GB HBM3",
          .count = kCards};
}

inline NodeSpec node_spec(std::uint32_t n) {
  NodeSpec spec;
  spec.name = "node-" + std::to_string(10'000 + n);
  spec.offered = {true};
  spec.devices = sim::synthetic_cards(cards_of(n), n);
  return spec;
}

inline Request request(std::string uid, std::int64_t memory, std::int64_t count = 1) {
  Request ask;
  ask.uid = {std::move(uid)};
  ask.positions.push_back(
      {PositionKind::kApp, {{{0}, count, {memory}, DeviceAsk::kNoPercent, {10}}}});
  ask.node_policy = policies::find_node_policy("binpack");
  ask.device_policies = {policies::find_device_policy("spread")};
  return ask;
}

/// `different`: no two pods take the same, so no two nodes look alike.
inline Cluster cluster_of(std::uint32_t nodes, bool different = false) {
  Cluster cluster{VendorTable(1)};
  for (std::uint32_t n = 0; n < nodes; ++n) cluster.set_node(node_spec(n));
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const std::vector<Device> cards = sim::synthetic_cards(cards_of(n), n);
    for (std::uint32_t p = 0; p < kPodsPerNode; ++p) {
      Allocation allocation;
      allocation.node = "node-" + std::to_string(10'000 + n);
      allocation.kinds = {PositionKind::kApp};
      allocation.grants = {{0, {0}, cards[(n + p * 3) % kCards].id, {2000 + 500 * (n % 7)}, {10}}};
      if (different) allocation.grants[0].memory = {2000 + n * kPodsPerNode + p};
      cluster.confirm({"pod-" + std::to_string(n) + "-" + std::to_string(p)}, allocation);
    }
  }
  return cluster;
}

}  // namespace tessera::core::bench
