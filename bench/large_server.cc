#include "large_server.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "base/text.h"
#include "http_load.h"
#include "large_objects.h"
#include "stage.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view kAllocated = "hami_gpu_memory_allocated_bytes{";

std::string label_of(std::string_view row, std::string_view name) {
  const std::string mark = fmt::format("{}=\"", name);
  const auto begin = row.find(mark);
  if (begin == std::string_view::npos) return {};
  row.remove_prefix(begin + mark.size());
  return std::string(row.substr(0, row.find('"')));
}

/// By node: what the page says is promised of its cards, in bytes. Counts the cards.
std::map<std::string, double> promised(std::string_view page, std::int64_t& cards) {
  std::map<std::string, double> by_node;
  cards = 0;
  for (const std::string_view row : text::split(page, '\n')) {
    if (!row.starts_with(kAllocated)) continue;
    ++cards;
    const auto value = row.rfind(' ');
    by_node[label_of(row, "node")] +=
        std::strtod(std::string(row.substr(value + 1)).c_str(), nullptr);
  }
  return by_node;
}

/// What is wrong with the page; "" when it is right.
std::string fault_of(std::string_view page, const LargeClusterOptions& cluster,
                     std::int64_t& cards) {
  const auto expect = [page](std::string_view row, double wanted) {
    const double got = metric(page, row);
    return got == wanted ? std::string() : fmt::format("{} is {}, not {}", row, got, wanted);
  };
  const std::pair<std::string_view, double> rows[] = {
      {R"(tessera_cache_objects{resource="pods"})", static_cast<double>(cluster.device_pods)},
      {R"(tessera_cache_objects{resource="nodes"})", static_cast<double>(cluster.nodes)},
      {R"(tessera_undecodable_objects_total{resource="pods"})", 0},
      {R"(tessera_undecodable_objects_total{resource="nodes"})", 0},
      {"tessera_pod_annotation_problems_total", 0},
      {"tessera_self_check_differences_total", 0},
  };
  for (const auto& [row, wanted] : rows)
    if (std::string wrong = expect(row, wanted); !wrong.empty()) return wrong;
  if (metric(page, "tessera_self_check_runs_total") < 1) return "no self-check has ended yet";
  const auto by_node = promised(page, cards);
  if (cards != cluster.nodes * kLargeCards) return fmt::format("{} cards", cards);
  std::map<std::string, double> wanted;
  for (std::int64_t i = 0; i < cluster.device_pods; ++i)
    wanted[large_node_name(i % cluster.nodes)] += static_cast<double>(kHeldMemory << 20);
  for (const auto& [node, bytes] : by_node)
    if (bytes != wanted[node])
      return fmt::format("of {} {} bytes are promised, not {}", node, bytes, wanted[node]);
  return {};
}

}  // namespace

Result<LargeServer> start_server(const LargeCluster& cluster, const Folder& folder,
                                 const std::string& program) {
  std::ofstream(folder.file("kubeconfig")) << cluster.kubeconfig();
  const auto begin = SteadyClock::now();
  auto child = ChildProcess::start({program.empty() ? program_beside() : program, "serve",
                                    "--kubeconfig=" + folder.file("kubeconfig"),
                                    "--http_bind=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0",
                                    "--scheduler-name=hami-scheduler", "--self-check-interval=5s"},
                                   folder.file("log"));
  if (!child) return tl::unexpected(child.error());
  const auto port = (*child)->announced_port();
  if (!port) return tl::unexpected(port.error());
  const auto metrics_port = (*child)->announced_port("metrics_port");
  if (!metrics_port) return tl::unexpected(metrics_port.error());
  LargeServer server{std::move(*child), *port, *metrics_port};
  auto client = LoadClient::connect(*port);
  if (!client) return tl::unexpected(client.error());
  while (SteadyClock::now() - begin < 120s) {
    const auto answer = (*client)->exchange(get("/readyz"));
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status == 200) {
      server.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
      return server;
    }
    std::this_thread::sleep_for(5ms);
  }
  return fail(Code::kUnavailable, "the server was not ready after 120 s");
}

void wait_quiet(const ChildProcess& child) {
  constexpr double kLook = 0.5, kIdle = 0.1;  // the self-check alone takes a few percent
  for (int i = 0; i < 240; ++i) {
    const double before = child.cpu_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(kLook));
    if (child.cpu_seconds() - before < kLook * kIdle) return;
  }
}

Result<std::int64_t> check_books(const LargeServer& server, const LargeClusterOptions& cluster) {
  const auto end = SteadyClock::now() + 180s;
  std::string wrong;
  while (SteadyClock::now() < end) {
    auto client = LoadClient::connect(server.metrics_port);
    if (!client) return tl::unexpected(client.error());
    const auto page = (*client)->exchange(get("/metrics"));
    std::int64_t cards = 0;
    // A page of so many cards takes its time where others want the processor too.
    wrong = page ? fault_of(page->body, cluster, cards) : page.error().what;
    if (wrong.empty()) return cards;
    std::this_thread::sleep_for(1s);
  }
  return fail(Code::kInternal, "the books: " + wrong);
}

double memory_mb(const ChildProcess& child, std::string_view name) {
  return static_cast<double>(child.memory_kb(name)) * 1024 / 1e6;
}

}  // namespace tessera::bench
