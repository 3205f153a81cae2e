// Many pods onto one node: its lock lets one at a time through to Allocate. What can be won is the
// time between one Allocate and the next.
#include <fmt/format.h>

#include "live_run.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {

Result<Report> run_e3(const ScenarioOptions& options) {
  std::int64_t pods = options.quick ? 8 : 40, allocate = 50, latency = 0;
  if (Status status = refuse_compare(options); !status) return tl::unexpected(status.error());
  if (Status status = read_more(
          options, {{"pods", &pods, 1}, {"allocate-ms", &allocate}, {"latency-ms", &latency}});
      !status)
    return tl::unexpected(status.error());
  LiveRunOptions live;
  live.cluster = {.nodes = 1, .allocate = std::chrono::milliseconds(allocate)};
  live.flags = unlimited();
  live.latency = std::chrono::milliseconds(latency);
  auto run = LiveRun::start(live, options.program);
  if (!run) return tl::unexpected(run.error());
  auto row = (*run)->round({.what = fmt::format("{} pods onto one node", pods),
                            .in_flight = static_cast<std::size_t>(pods),
                            .asks = std::vector<PodAsk>(static_cast<std::size_t>(pods))});
  if (!row) return tl::unexpected(row.error());
  // Every Allocate but the last lies between two binds.
  const double floor = static_cast<double>((pods - 1) * allocate) / 1000;
  row->add("allocate_seconds", floor);
  for (const Figure& figure : row->figures())
    if (figure.name == kSeconds && floor > 0) {
      const double over = figure.value / floor;
      row->add(kRatio, over);
      break;
    }
  row->must(kFailedBinds, 0).must(kRefused, 0);
  Report report{.scenario = "E3",
                .setting = fmt::format("1 node of 8 cards, pod 1 card 2000 MiB 10 cores, policies "
                                       "binpack/spread, Allocate {} ms, API latency {} ms; ratio: "
                                       "over the Allocates between the binds",
                                       allocate, latency),
                .rows = {}};
  report.rows.push_back(std::move(*row));
  return report;
}

}  // namespace tessera::bench
