// The decision and the books, without HTTP: nodes x 8 cards, 4 pods per node. Names of the rows:
// benchmark/nodes.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/cluster.h"
#include "core/place.h"
#include "core_cluster.h"

namespace tessera::core {
namespace {

using namespace bench;

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
