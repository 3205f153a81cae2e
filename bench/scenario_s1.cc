// From the start of the process to ready on a large cluster, and the memory it takes then. The API
// server is a process of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "large_server.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kRss = "rss_mb", kRssAfterScrape = "rss_after_scrape_mb",
                           kCpuSeconds = "cpu_seconds";

struct Start {
  double seconds = 0, cpu = 0, rss = 0, peak = 0, after_scrape = 0;
  std::int64_t cards = 0;
};

Result<Start> start_once(const LargeCluster& cluster, const std::string& program) {
  const Folder folder;
  const auto server = start_server(cluster, folder, program);
  if (!server) return tl::unexpected(server.error());
  Start start{.seconds = server->seconds, .cpu = server->child->cpu_seconds()};
  wait_quiet(*server->child);
  start.rss = memory_mb(*server->child, "VmRSS");
  start.peak = memory_mb(*server->child, "VmHWM");
  fmt::print(stderr, "ready: {:.2f} s, {:.2f} s of processor, {:.1f} MB, {:.1f} MB at most\n",
             start.seconds, start.cpu, start.rss, start.peak);
  const auto cards = check_books(*server, cluster);
  if (!cards) return tl::unexpected(cards.error());
  start.cards = *cards;
  wait_quiet(*server->child);
  start.after_scrape = memory_mb(*server->child, "VmRSS");
  return start;
}

}  // namespace

Result<Report> run_s1(const ScenarioOptions& options) {
  LargeClusterOptions sizes;
  if (options.quick)
    sizes = {.nodes = 100, .device_pods = 400, .plain_pods = 2600, .namespaces = 8, .quotas = 2};
  std::int64_t starts = options.quick ? 1 : 5;
  if (Status status = refuse_compare(options); !status) return tl::unexpected(status.error());
  if (Status status = read_more(options, {{"nodes", &sizes.nodes, 1},
                                          {"device-pods", &sizes.device_pods},
                                          {"plain-pods", &sizes.plain_pods},
                                          {"starts", &starts, 1}});
      !status)
    return tl::unexpected(status.error());
  const auto cluster = LargeCluster::start(sizes);
  if (!cluster) return tl::unexpected(cluster.error());
  std::vector<Start> all;
  for (std::int64_t i = 0; i < starts; ++i) {
    const auto start = start_once(**cluster, options.program);
    if (!start) return tl::unexpected(start.error());
    all.push_back(*start);
  }
  std::sort(all.begin(), all.end(),
            [](const Start& a, const Start& b) { return a.seconds < b.seconds; });
  const Start& median = all[all.size() / 2];
  const auto largest = [&all](double Start::*figure) {
    double most = 0;
    for (const Start& start : all) most = std::max(most, start.*figure);
    return most;
  };
  Row row(fmt::format("{} nodes, {} device pods, {} pods in all", sizes.nodes, sizes.device_pods,
                      sizes.device_pods + sizes.plain_pods));
  row.add(kSeconds, median.seconds).add(kCpuSeconds, median.cpu);
  row.add(kRss, largest(&Start::rss)).add(kPeakRss, largest(&Start::peak));
  row.add(kRssAfterScrape, largest(&Start::after_scrape));
  if (!options.quick) row.must(kSeconds, 10, 3).must(kRss, 128, 64);
  row.checked(median.cards * starts, "each card shows what its pods hold; no self-check differs");
  Report report{.scenario = "S1",
                .setting = fmt::format("median of {} starts, memory the largest", starts),
                .rows = {}};
  report.rows.push_back(std::move(row));
  return report;
}

}  // namespace tessera::bench
