// The decision with its memory: the kept verdicts per class beside the plain decision over the same
// cluster (core_bench). Each row makes sure that both give the same answer. Names of the rows:
// benchmark/nodes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidates.h"
#include "core/place_index.h"
#include "core_cluster.h"

namespace tessera::core {
namespace {

using namespace bench;

std::uint32_t nodes_of(const benchmark::State& state) {
  return static_cast<std::uint32_t>(state.range(0));
}

CandidateSet all_candidates(const Cluster& cluster) {
  CandidateSet set;
  set.open(cluster);
  for (const NodeId id : cluster.present_nodes()) set.add(id);
  return set;
}

/// An answer that is fast and wrong is no figure.
void check(benchmark::State& state, const Cluster& cluster, PlaceIndex& index,
           const CandidateSet& candidates, const Request& ask) {
  const auto mine = index.choose(cluster, ask, candidates);
  const Outcome plain = place(cluster, ask, candidates.ids());
  const bool same = mine.decision.has_value() == plain.decision.has_value() &&
                    mine.fitting == plain.fitting.size() &&
                    (!mine.decision || mine.decision->allocation == plain.decision->allocation);
  if (!same) state.SkipWithError("not the plain answer");
}

Request ask_by(std::string uid, std::string_view node_policy) {
  Request ask = request(std::move(uid), 2000);
  ask.node_policy = policies::find_node_policy(node_policy);
  return ask;
}

/// One pod after the other of one kind: decided, reserved, and the eldest of 1,000 goes.
void run_known(benchmark::State& state, std::string_view node_policy) {
  Cluster cluster = cluster_of(nodes_of(state));
  const CandidateSet candidates = all_candidates(cluster);
  PlaceIndex index({});
  Request ask = ask_by("p", node_policy);
  std::uint64_t serial = 0;
  const auto uid_of = [](std::uint64_t n) { return PodUid{"asking-" + std::to_string(n)}; };
  for (auto _ : state) {
    ask.uid = uid_of(serial++);
    auto choice = index.choose(cluster, ask, candidates);
    if (!choice.decision ||
        !cluster.reserve(ask.uid, std::move(choice.decision->allocation), MonoTime::max())) {
      state.SkipWithError("nothing fits");
      break;
    }
    if (serial > 1000) cluster.release(uid_of(serial - 1001));
  }
  ask.uid = {"another"};
  check(state, cluster, index, candidates, ask);
  state.counters["rows/decision"] =
      static_cast<double>(index.figures().rows_made) / static_cast<double>(index.figures().asked);
}

void BM_DecideKnownBinpack(benchmark::State& state) { run_known(state, "binpack"); }
void BM_DecideKnownSpread(benchmark::State& state) { run_known(state, "spread"); }

/// Every pod asks for what nobody asked for before.
void run_new(benchmark::State& state, unsigned threads, bool different = false) {
  const Cluster cluster = cluster_of(nodes_of(state), different);
  const CandidateSet candidates = all_candidates(cluster);
  PlaceIndex index({.threads = threads});
  std::int64_t serial = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(index.choose(cluster, request("p", 2000 + serial++), candidates));
  }
  check(state, cluster, index, candidates, request("p", 2000 + serial));
}

void BM_DecideNewClass(benchmark::State& state) { run_new(state, 1); }
/// The same where no two nodes look alike.
void BM_DecideNewClassAllDiffer(benchmark::State& state) { run_new(state, 1, true); }
void BM_DecideNewClassTwoThreads(benchmark::State& state) { run_new(state, 2); }

/// The same for two containers that do not fit onto one card together, which the fitter decides.
void BM_DecideNewClassTwoContainers(benchmark::State& state) {
  const Cluster cluster = cluster_of(nodes_of(state));
  const CandidateSet candidates = all_candidates(cluster);
  PlaceIndex index({});
  std::int64_t serial = 0;
  const auto next = [&] {
    Request ask = request("p", 2000 + serial++, 2);
    ask.positions.push_back(ask.positions.front());
    return ask;
  };
  for (auto _ : state) benchmark::DoNotOptimize(index.choose(cluster, next(), candidates));
  check(state, cluster, index, candidates, next());
}

/// The first question of all, after a start.
void BM_DecideFirst(benchmark::State& state) {
  const Cluster cluster = cluster_of(nodes_of(state));
  const CandidateSet candidates = all_candidates(cluster);
  for (auto _ : state) {
    PlaceIndex index({});
    benchmark::DoNotOptimize(index.choose(cluster, request("p", 2000), candidates));
  }
}

/// Fits nowhere, with all refusals, by a known class.
void BM_RefuseKnown(benchmark::State& state) {
  const Cluster cluster = cluster_of(nodes_of(state));
  const CandidateSet candidates = all_candidates(cluster);
  PlaceIndex index({});
  const Request ask = request("p", 90'000);
  std::size_t rejected = 0;
  for (auto _ : state) rejected = index.place(cluster, ask, candidates).rejected.size();
  if (rejected != cluster.node_count()) state.SkipWithError("somebody fits");
}

/// The names of a call, in the order of the call before but for where it begins.
void BM_ReadNames(benchmark::State& state) {
  const Cluster cluster = cluster_of(nodes_of(state));
  std::vector<std::string> names;
  for (const NodeId id : cluster.present_nodes()) names.push_back(cluster.node(id).spec.name);
  std::vector<std::string_view> views(names.begin(), names.end());
  CandidateReader reader;
  CandidateSet set;
  for (auto _ : state) {
    std::rotate(views.begin(), views.begin() + 17 % static_cast<long>(views.size()), views.end());
    reader.read(cluster, views, set);
    benchmark::DoNotOptimize(set.words().data());
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (set.ids()[i] != cluster.find_node(views[i])) state.SkipWithError("another node");
  }
}

BENCHMARK(BM_DecideKnownBinpack)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideKnownSpread)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideNewClass)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideNewClassAllDiffer)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideNewClassTwoThreads)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideNewClassTwoContainers)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_DecideFirst)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_RefuseKnown)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_ReadNames)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tessera::core
