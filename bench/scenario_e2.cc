// A burst of equal pods, then jobs of all sizes, all there before the first is looked at: how long
// until the last is bound, and whether the books of the bench agree with every placement.
#include <fmt/format.h>

#include <random>

#include "live_run.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {
namespace {

constexpr std::size_t kInFlight = 512;

/// One to eight cards; whole cards and slices.
std::vector<PodAsk> mixed_jobs(std::int64_t count) {
  constexpr std::int64_t kCounts[] = {1, 1, 1, 2, 2, 4, 8};
  constexpr std::int64_t kMemories[] = {1'000, 4'000, 10'240, 20'480, 40'960};
  constexpr std::int64_t kCores[] = {0, 5, 10, 25, 50};
  std::mt19937_64 random(20'260);
  const auto any = [&random](const auto& list) { return list[random() % std::size(list)]; };
  std::vector<PodAsk> asks;
  for (std::int64_t i = 0; i < count; ++i)
    asks.push_back({.cards = any(kCounts), .memory = any(kMemories), .cores = any(kCores)});
  return asks;
}

Status add_rows(const std::string& policy, const LiveRunOptions& live, std::int64_t equal,
                std::int64_t mixed, const ScenarioOptions& options, Report& report) {
  auto run = LiveRun::start(live, options.program);
  if (!run) return tl::unexpected(run.error());
  const Round rounds[] = {{.what = fmt::format("{}: {} equal pods", policy, equal),
                           .in_flight = kInFlight,
                           .asks = std::vector<PodAsk>(static_cast<std::size_t>(equal)),
                           .policies = {policy, "spread"}},
                          {.what = fmt::format("{}: then {} mixed jobs", policy, mixed),
                           .in_flight = kInFlight,
                           .asks = mixed_jobs(mixed),
                           .policies = {policy, "spread"}}};
  for (const Round& round : rounds) {
    auto row = (*run)->round(round);
    if (!row) return tl::unexpected(row.error());
    row->must(kFailedBinds, 0).must(kRefused, 0);
    report.rows.push_back(std::move(*row));
  }
  return {};
}

}  // namespace

Result<Report> run_e2(const ScenarioOptions& options) {
  LiveRunOptions live{.cluster = {}, .flags = unlimited()};
  std::int64_t equal = 5000, mixed = 500;
  if (options.quick) live.cluster.nodes = 50, equal = 200, mixed = 40;
  if (Status status = refuse_compare(options); !status) return tl::unexpected(status.error());
  if (Status status = read_more(
          options, {{"nodes", &live.cluster.nodes, 1}, {"pods", &equal, 1}, {"mixed", &mixed, 1}});
      !status)
    return tl::unexpected(status.error());
  Report report{.scenario = "E2",
                .setting = fmt::format("{} nodes of 8 x 80 GiB cards, 10 slots; equal pods 1 card "
                                       "2000 MiB 10 cores; mixed 1 to 8 cards; API latency 2 ms, "
                                       "Allocate 20 ms, at most {} binds at once",
                                       live.cluster.nodes, kInFlight),
                .rows = {}};
  for (const char* policy : {"spread", "binpack"})
    if (Status status = add_rows(policy, live, equal, mixed, options, report); !status)
      return tl::unexpected(status.error());
  return report;
}

}  // namespace tessera::bench
