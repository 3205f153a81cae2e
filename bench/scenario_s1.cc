// From the start of the process to ready on a large cluster, and the memory it takes then. The API
// server is a process of its own.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "http_load.h"
#include "large_server.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kRss = "rss_mb", kRssAfterScrape = "rss_after_scrape_mb",
                           kCpuSeconds = "cpu_seconds";
constexpr int kPages = 3;
constexpr std::string_view kGetPacked =
    "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n";

struct Start {
  double seconds = 0, cpu = 0, rss = 0, peak = 0, after_scrape = 0;
  double rss_after_pages = 0, peak_after_pages = 0;
  std::int64_t cards = 0;
};

std::int64_t count_of(std::string_view text, std::string_view words) {
  std::int64_t count = 0;
  for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1))
    ++count;
  return count;
}

/// As a scraper reads them, packed ones and plain ones; each plain one names every card.
Status read_pages(const LargeServer& server, std::int64_t cards) {
  constexpr std::string_view kCardRow = "\nhami_gpu_memory_allocated_bytes{";
  for (int i = 0; i < kPages; ++i) {
    auto client = LoadClient::connect(server.metrics_port);
    if (!client) return tl::unexpected(client.error());
    const bool packed = i % 2 == 1;
    const auto page = (*client)->exchange(packed ? std::string(kGetPacked) : get("/metrics"));
    if (!page) return tl::unexpected(page.error());
    if (page->status != 200) return fail(Code::kInternal, fmt::format("status {}", page->status));
    const bool whole =
        packed ? page->body.starts_with("\x1f\x8b") : count_of(page->body, kCardRow) == cards;
    if (!whole) return fail(Code::kInternal, "a page of metrics is not whole");
    fmt::print(stderr, "page: {:.1f} MB in {:.2f} s{}\n",
               static_cast<double>(page->body.size()) / 1e6,
               std::chrono::duration<double>(page->time).count(), packed ? ", packed" : "");
  }
  return {};
}

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
  if (Status status = read_pages(*server, start.cards); !status)
    return tl::unexpected(status.error());
  wait_quiet(*server->child);
  start.rss_after_pages = memory_mb(*server->child, "VmRSS");
  start.peak_after_pages = memory_mb(*server->child, "VmHWM");
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
  Row pages(fmt::format("after {} pages of metrics", kPages));
  pages.add(kRss, largest(&Start::rss_after_pages));
  pages.add(kPeakRss, largest(&Start::peak_after_pages));
  if (!options.quick) pages.must(kRss, 128, 64).must(kPeakRss, 128, 64);
  pages.checked(kPages * starts, "plain pages name every card, packed ones are packed");
  report.rows.push_back(std::move(pages));
  return report;
}

}  // namespace tessera::bench
