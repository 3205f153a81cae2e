// The scheduler as it comes: the limits of its API client are its defaults.
#include <fmt/format.h>

#include "live_run.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {

Result<Report> run_e4(const ScenarioOptions& options) {
  LiveRunOptions live{.cluster = {.nodes = 100}, .flags = {}};
  std::int64_t pods = options.quick ? 20 : 100, many = options.quick ? 40 : 1000;
  if (Status status = refuse_compare(options); !status) return tl::unexpected(status.error());
  if (Status status = read_more(
          options, {{"nodes", &live.cluster.nodes, 1}, {"pods", &pods, 1}, {"many", &many, 1}});
      !status)
    return tl::unexpected(status.error());
  Report report{
      .scenario = "E4",
      .setting = fmt::format(
          "{} nodes of 8 cards, pod 1 card 2000 MiB 10 cores, default policies and client "
          "limits (200 requests a second, 400 at once), API latency 2 ms, Allocate 20 ms",
          live.cluster.nodes),
      .rows = {}};
  for (const std::int64_t count : {pods, many}) {
    auto run = LiveRun::start(live, options.program);
    if (!run) return tl::unexpected(run.error());
    auto row = (*run)->round({.what = fmt::format("{} pods", count),
                              .in_flight = 64,
                              .asks = std::vector<PodAsk>(static_cast<std::size_t>(count))});
    if (!row) return tl::unexpected(row.error());
    row->must(kFailedBinds, 0).must(kRefused, 0);
    report.rows.push_back(std::move(*row));
  }
  return report;
}

}  // namespace tessera::bench
