// Memory while a large cluster changes: a million events, no growth.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "large_server.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kRss = "rss_mb", kRssBefore = "rss_before_mb", kGrowth = "growth_ratio",
                           kCpuPerEvent = "cpu_us_per_event", kWatches = "watches";

struct Sizes {
  LargeClusterOptions cluster;
  std::int64_t events = 1'000'000, warm_up = 100'000;  // the memory of 8,192 deleted pods fills
};

Result<Row> measure(const Sizes& sizes, LargeCluster& cluster, const LargeServer& server) {
  if (Status status = cluster.churn(sizes.warm_up); !status) return tl::unexpected(status.error());
  wait_quiet(*server.child);
  const double before = memory_mb(*server.child, "VmRSS"), cpu = server.child->cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  constexpr std::int64_t kParts = 10;
  for (std::int64_t part = 0; part < kParts; ++part) {
    if (Status status = cluster.churn(sizes.events / kParts); !status)
      return tl::unexpected(status.error());
    fmt::print(stderr, "{:8} events  {:.1f} MB resident\n", (part + 1) * sizes.events / kParts,
               memory_mb(*server.child, "VmRSS"));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double spent = server.child->cpu_seconds() - cpu;
  wait_quiet(*server.child);
  const double after = memory_mb(*server.child, "VmRSS");
  const double peak = memory_mb(*server.child, "VmHWM");
  const auto watches = cluster.watches();
  if (!watches) return tl::unexpected(watches.error());
  const auto cards = check_books(server, cluster);
  if (!cards) return tl::unexpected(cards.error());
  const auto events = static_cast<double>(sizes.events);
  Row row(fmt::format("{} nodes, {} pods, {} events", sizes.cluster.nodes,
                      sizes.cluster.device_pods + sizes.cluster.plain_pods, sizes.events));
  row.add(kRate, events / took.count()).add(kCpuPerEvent, spent * 1e6 / events);
  row.add(kRssBefore, before).add(kRss, after).add(kPeakRss, peak).add(kGrowth, after / before);
  row.add(kWatches, static_cast<double>(*watches));
  row.checked(*cards, "each card shows what its pods hold; no self-check differs");
  return row;
}

}  // namespace

Result<Report> run_m1(const ScenarioOptions& options) {
  Sizes sizes;
  if (options.quick) {
    sizes.cluster = {
        .nodes = 100, .device_pods = 400, .plain_pods = 2600, .namespaces = 8, .quotas = 2};
    sizes.events = 8000;
    sizes.warm_up = 8000;
  }
  if (Status status = refuse_compare(options); !status) return tl::unexpected(status.error());
  if (Status status = read_more(options, {{"nodes", &sizes.cluster.nodes, 1},
                                          {"device-pods", &sizes.cluster.device_pods, 1},
                                          {"plain-pods", &sizes.cluster.plain_pods, 1},
                                          {"events", &sizes.events, 80},
                                          {"warm-up", &sizes.warm_up, 8}});
      !status)
    return tl::unexpected(status.error());
  const auto cluster = LargeCluster::start(sizes.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const Folder folder;
  const auto server = start_server(**cluster, folder, options.program);
  if (!server) return tl::unexpected(server.error());
  auto row = measure(sizes, **cluster, *server);
  if (!row) return tl::unexpected(row.error());
  if (!options.quick) row->must(kRss, 128, 64).must(kGrowth, 1.05, 1.02);
  Report report{
      .scenario = "M1",
      .setting =
          "three of eight events of pods without devices, three of device pods, two of nodes",
      .rows = {}};
  report.rows.push_back(std::move(*row));
  return report;
}

}  // namespace tessera::bench
