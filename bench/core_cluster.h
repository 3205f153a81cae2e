/// The cluster of the core's benchmarks: nodes of eight cards, four pods on each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "core/place.h"
#include "policies/registry.h"

namespace tessera::core::bench {

inline constexpr std::uint32_t kCards = 8, kPodsPerNode = 4;

inline std::string card_id(std::uint32_t node, std::uint32_t card) {
  return "GPU-0a1b2c3d-0000-4000-8000-" + std::to_string(100'000 + node) + std::to_string(card);
}

inline NodeSpec node_spec(std::uint32_t n) {
  NodeSpec spec;
  spec.name = "node-" + std::to_string(10'000 + n);
  spec.offered = {true};
  for (std::uint32_t c = 0; c < kCards; ++c) {
    Device device;
    device.id = card_id(n, c);
    device.index = c;
    device.slots = 10;
    device.memory = {81'920};
    device.cores = {100};
    device.model = n % 4 == 0 ? "Model A100-SXM4-80GB" : "Model H100 80GB HBM3";
    device.numa = c / 4;
    device.healthy = true;
    device.vendor = {0};
    spec.devices.push_back(std::move(device));
  }
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
    for (std::uint32_t p = 0; p < kPodsPerNode; ++p) {
      Allocation allocation;
      allocation.node = "node-" + std::to_string(10'000 + n);
      allocation.kinds = {PositionKind::kApp};
      allocation.grants = {
          {0, {0}, card_id(n, (n + p * 3) % kCards), {2000 + 500 * (n % 7)}, {10}}};
      if (different) allocation.grants[0].memory = {2000 + n * kPodsPerNode + p};
      cluster.confirm({"pod-" + std::to_string(n) + "-" + std::to_string(p)}, allocation);
    }
  }
  return cluster;
}

}  // namespace tessera::core::bench
