// From filter to bound in a closed loop: how many pods a second, how long each takes, and how many
// API calls. Spread lets the pods of a moment go to different nodes; with binpack they queue for
// the lock of one node, which is the agents' time and not ours.
#include <fmt/format.h>

#include "live_run.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {
namespace {

struct Sizes {
  std::int64_t pods = 2000;  ///< with 64 in flight; fewer with less
  std::int64_t latency_ms = 2, allocate_ms = 20;
};

Status add_rows(std::int64_t nodes, const Sizes& sizes, const ScenarioOptions& options,
                Report& report) {
  LiveRunOptions live;
  live.cluster = {.nodes = nodes, .allocate = std::chrono::milliseconds(sizes.allocate_ms)};
  live.latency = std::chrono::milliseconds(sizes.latency_ms);
  live.flags = unlimited();
  auto run = LiveRun::start(live, options.program);
  if (!run) return tl::unexpected(run.error());
  if (auto warm = (*run)->round({.what = "warm-up",
                                 .in_flight = 8,
                                 .asks = std::vector<PodAsk>(20),
                                 .policies = {"spread", "spread"}});
      !warm)
    return tl::unexpected(warm.error());
  struct Case {
    std::size_t in_flight;
    std::int64_t pods;
    const char* policy;
  };
  const Case cases[] = {{1, sizes.pods / 4, "spread"},
                        {8, sizes.pods / 2, "spread"},
                        {64, sizes.pods, "spread"},
                        {64, sizes.pods / 8, "binpack"}};
  for (const Case& c : cases) {
    auto row = (*run)->round({.what = fmt::format("{} nodes, {}, {} in flight, {} pods", nodes,
                                                  c.policy, c.in_flight, c.pods),
                              .in_flight = c.in_flight,
                              .asks = std::vector<PodAsk>(static_cast<std::size_t>(c.pods)),
                              .policies = {c.policy, "spread"}});
    if (!row) return tl::unexpected(row.error());
    row->must(kApiMedian, 2, 2).must(kApiCalls, 2.05, 2).must(kFailedBinds, 0);
    report.rows.push_back(std::move(*row));
  }
  return {};
}

}  // namespace

Result<Report> run_e1(const ScenarioOptions& options) {
  Sizes sizes;
  std::int64_t nodes = 0;
  if (options.quick) sizes.pods = 160;
  if (Status status = refuse_compare(options); !status) return tl::unexpected(status.error());
  if (Status status = read_more(options, {{"nodes", &nodes},
                                          {"pods", &sizes.pods, 8},
                                          {"latency-ms", &sizes.latency_ms},
                                          {"allocate-ms", &sizes.allocate_ms}});
      !status)
    return tl::unexpected(status.error());
  std::vector<std::int64_t> all = {1000, 5000};
  if (options.quick) all = {100};
  if (nodes > 0) all = {nodes};
  Report report{.scenario = "E1",
                .setting = fmt::format(
                    "pod 1 card 2000 MiB 10 cores, 8 x 80 GiB cards of 10 slots a node, device "
                    "policy spread, "
                    "API latency {} ms, Allocate {} ms, filter by all names, one filter at a time",
                    sizes.latency_ms, sizes.allocate_ms),
                .rows = {}};
  for (const std::int64_t n : all)
    if (Status status = add_rows(n, sizes, options, report); !status)
      return tl::unexpected(status.error());
  return report;
}

}  // namespace tessera::bench
