// The decision and the books, without HTTP: nodes x 8 cards, 4 pods per node. Names of the rows:
// benchmark/nodes.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/place.h"
#include "policies/registry.h"

namespace tessera::core {
namespace {

constexpr std::uint32_t kCards = 8, kPodsPerNode = 4;

std::string card_id(std::uint32_t node, std::uint32_t card) {
  return "GPU-0a1b2c3d-0000-4000-8000-" + std::to_string(100'000 + node) + std::to_string(card);
}

NodeSpec node_spec(std::uint32_t n) {
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

Request request(std::string uid, std::int64_t memory, std::int64_t count = 1) {
  Request ask;
  ask.uid = {std::move(uid)};
  ask.positions.push_back(
      {PositionKind::kApp, {{{0}, count, {memory}, DeviceAsk::kNoPercent, {10}}}});
  ask.node_policy = policies::find_node_policy("binpack");
  ask.device_policies = {policies::find_device_policy("spread")};
  return ask;
}

Cluster cluster_of(std::uint32_t nodes) {
  Cluster cluster{VendorTable(1)};
  for (std::uint32_t n = 0; n < nodes; ++n) cluster.set_node(node_spec(n));
  for (std::uint32_t n = 0; n < nodes; ++n) {
    for (std::uint32_t p = 0; p < kPodsPerNode; ++p) {
      Allocation allocation;
      allocation.node = "node-" + std::to_string(10'000 + n);
      allocation.kinds = {PositionKind::kApp};
      allocation.grants = {
          {0, {0}, card_id(n, (n + p * 3) % kCards), {2000 + 500 * (n % 7)}, {10}}};
      cluster.confirm({"pod-" + std::to_string(n) + "-" + std::to_string(p)}, allocation);
    }
  }
  return cluster;
}

void run_place(benchmark::State& state, const Request& ask) {
  const Cluster cluster = cluster_of(static_cast<std::uint32_t>(state.range(0)));
  const std::vector<NodeId> candidates = cluster.present_nodes();
  for (auto _ : state) benchmark::DoNotOptimize(place(cluster, ask, candidates));
}

void BM_PlaceOneCard(benchmark::State& state) { run_place(state, request("p", 2000)); }
void BM_PlaceFourCards(benchmark::State& state) { run_place(state, request("p", 2000, 4)); }
void BM_PlaceNothingFits(benchmark::State& state) { run_place(state, request("p", 90'000)); }

void BM_PlaceModelList(benchmark::State& state) {
  Request ask = request("p", 2000);
  ask.constraints.push_back({.vendor = {0}, .use_models = {"A100"}});
  run_place(state, ask);
}

/// Two containers that fit alone but never together: the bounded search on every node.
void BM_PlaceSearchInVain(benchmark::State& state) {
  Request ask = request("p", 79'000, 6);
  ask.positions.push_back(ask.positions.front());
  run_place(state, ask);
}

void BM_PlaceReserveRelease(benchmark::State& state) {
  Cluster cluster = cluster_of(static_cast<std::uint32_t>(state.range(0)));
  const std::vector<NodeId> candidates = cluster.present_nodes();
  const Request ask = request("p", 2000);
  for (auto _ : state) {
    Outcome outcome = place(cluster, ask, candidates);
    if (!cluster.reserve(ask.uid, std::move(outcome.decision->allocation), MonoTime{})) {
      state.SkipWithError("refused");
    }
    cluster.release(ask.uid);
  }
}

void BM_ReserveRelease(benchmark::State& state) {
  Cluster cluster = cluster_of(static_cast<std::uint32_t>(state.range(0)));
  const Request ask = request("p", 2000);
  const Allocation allocation = *fit_node(cluster, ask, {0}).allocation;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cluster.reserve(ask.uid, allocation, MonoTime{}));
    cluster.release(ask.uid);
  }
}

void BM_NodeUpdate(benchmark::State& state) {
  Cluster cluster = cluster_of(static_cast<std::uint32_t>(state.range(0)));
  NodeSpec spec = cluster.node({0}).spec;
  bool healthy = false;
  for (auto _ : state) {
    spec.devices[0].healthy = healthy;
    healthy = !healthy;
    cluster.set_node(spec);
  }
}

void BM_Rebuild(benchmark::State& state) {
  const Cluster cluster = cluster_of(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(cluster.rebuild());
}

BENCHMARK(BM_PlaceOneCard)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceFourCards)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceNothingFits)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceModelList)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceSearchInVain)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceReserveRelease)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_ReserveRelease)->Arg(1000);
BENCHMARK(BM_NodeUpdate)->Arg(1000);
BENCHMARK(BM_Rebuild)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera::core
