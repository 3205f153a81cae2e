// The decision and the books, without HTTP: nodes x 8 cards, 4 pods per node. Names of the rows:
// benchmark/nodes.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/cluster.h"
#include "core/place.h"
#include "core/preempt.h"
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

/// Everybody may go; priorities and ages are mixed.
std::vector<Evictable> everybody(std::uint32_t nodes) {
  std::vector<Evictable> pods;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    for (std::uint32_t p = 0; p < kPodsPerNode; ++p) {
      pods.push_back({{"pod-" + std::to_string(n) + "-" + std::to_string(p)},
                      static_cast<std::int64_t>((n + p) % 3),
                      1'700'000'000 + static_cast<std::int64_t>((n * 7919 + p * 104'729) % 86'400),
                      {p % 2}});
    }
  }
  return pods;
}

constexpr std::int64_t kWhole = 81'920;

/// `victims`: how many must go; 0 = nothing helps anywhere.
void run_preempt(benchmark::State& state, Cluster& cluster, const Request& ask,
                 std::size_t victims) {
  const std::vector<NodeId> candidates = cluster.present_nodes();
  const auto pods = everybody(static_cast<std::uint32_t>(candidates.size()));
  const std::vector<std::int64_t> budgets = {2, 2};
  const Cluster before = cluster.rebuild();
  const auto answer = plan_preemption(cluster, ask, candidates, pods, budgets);
  if ((answer ? answer->victims.size() : 0) != victims) state.SkipWithError("another plan");
  if (!cluster.differences(before).empty()) state.SkipWithError("the books have changed");
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan_preemption(cluster, ask, candidates, pods, budgets));
  }
}

void run_preempt(benchmark::State& state, const Request& ask, std::size_t victims) {
  Cluster cluster = cluster_of(static_cast<std::uint32_t>(state.range(0)));
  run_preempt(state, cluster, ask, victims);
}

/// Half of the cards are free; every node has a plan.
void BM_PreemptOneVictim(benchmark::State& state) {
  run_preempt(state, request("p", kWhole, 5), 1);
}
void BM_PreemptFourVictims(benchmark::State& state) {
  run_preempt(state, request("p", kWhole, 8), 4);
}
/// One look at every card tells that it is hopeless.
void BM_PreemptNothingHelps(benchmark::State& state) {
  run_preempt(state, request("p", 90'000), 0);
}

/// What is in the way is seen only when they are off: others have the quota of the namespace.
void BM_PreemptInVain(benchmark::State& state) {
  Cluster cluster = cluster_of(static_cast<std::uint32_t>(state.range(0)));
  cluster.set_quota({"team", "q", {{{0}, QuotaKind::kMemory, 3 * kWhole}}, {}});
  Allocation far = *fit_node(cluster, request("far", kWhole, 2), {0}).allocation;
  far.subject.ns = "team";
  cluster.confirm({"far"}, std::move(far));
  Request ask = request("p", kWhole, 2);
  ask.subject.ns = "team";
  run_preempt(state, cluster, ask, 0);
}

/// Four cards of one NUMA node: enough are free, but not together.
void BM_PreemptBoundToNuma(benchmark::State& state) {
  Request ask = request("p", kWhole, 4);
  ask.constraints.push_back({.vendor = {0}, .numa_bind = true});
  run_preempt(state, ask, 1);
}

BENCHMARK(BM_PlaceOneCard)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceFourCards)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceNothingFits)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceModelList)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceSearchInVain)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PlaceReserveRelease)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PreemptOneVictim)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PreemptFourVictims)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PreemptNothingHelps)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PreemptInVain)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PreemptBoundToNuma)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_ReserveRelease)->Arg(1000);
BENCHMARK(BM_NodeUpdate)->Arg(1000);
BENCHMARK(BM_Rebuild)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera::core
