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

/// By card: what the page says is promised of it, in bytes.
std::map<std::string, double> promised(std::string_view page) {
  std::map<std::string, double> by_card;
  for (const std::string_view row : text::split(page, '\n')) {
    if (!row.starts_with(kAllocated)) continue;
    const auto value = row.rfind(' ');
    by_card[label_of(row, "node") + " " + label_of(row, "device_uuid")] +=
        std::strtod(std::string(row.substr(value + 1)).c_str(), nullptr);
  }
  return by_card;
}

/// The same as the cluster was made.
std::map<std::string, double> held(const sim::SyntheticCluster& cluster) {
  std::map<std::string, double> by_card;
  for (std::int64_t n = 0; n < cluster.options().nodes; ++n) {
    const auto cards = cluster.cards_of(n);
    const auto used = cluster.used_of(n);
    for (std::size_t c = 0; c < cards.size(); ++c)
      by_card[cluster.node_name(n) + " " + cards[c].id] =
          static_cast<double>(used[c].memory.v << 20);
  }
  return by_card;
}

}  // namespace

std::string page_fault(std::string_view page, const sim::SyntheticCluster& cluster) {
  const auto expect = [page](std::string_view row, double wanted) {
    const double got = metric(page, row);
    return got == wanted ? std::string() : fmt::format("{} is {}, not {}", row, got, wanted);
  };
  const std::pair<std::string_view, double> rows[] = {
      {R"(tessera_cache_objects{resource="pods"})",
       static_cast<double>(cluster.options().device_pods)},
      {R"(tessera_cache_objects{resource="nodes"})", static_cast<double>(cluster.options().nodes)},
      {R"(tessera_undecodable_objects_total{resource="pods"})", 0},
      {R"(tessera_undecodable_objects_total{resource="nodes"})", 0},
      {"tessera_pod_annotation_problems_total", 0},
      {"tessera_self_check_differences_total", 0},
  };
  for (const auto& [row, wanted] : rows)
    if (std::string wrong = expect(row, wanted); !wrong.empty()) return wrong;
  if (metric(page, "tessera_self_check_runs_total") < 1) return "no self-check has ended yet";
  const auto shown = promised(page), wanted = held(cluster);
  if (shown.size() != wanted.size())
    return fmt::format("{} cards are shown, not {}", shown.size(), wanted.size());
  for (const auto& [card, bytes] : shown) {
    const auto found = wanted.find(card);
    if (found == wanted.end()) return fmt::format("there is no card {}", card);
    if (bytes != found->second)
      return fmt::format("of {} {} bytes are promised, not {}", card, bytes, found->second);
  }
  return {};
}

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

Result<std::int64_t> check_books(const LargeServer& server, const LargeCluster& cluster) {
  const auto end = SteadyClock::now() + 180s;
  std::string wrong;
  while (SteadyClock::now() < end) {
    auto client = LoadClient::connect(server.metrics_port);
    if (!client) return tl::unexpected(client.error());
    const auto page = (*client)->exchange(get("/metrics"));
    // A page of so many cards takes its time where others want the processor too.
    wrong = page ? page_fault(page->body, cluster.made()) : page.error().what;
    if (wrong.empty())
      return cluster.made().options().nodes * cluster.made().options().cards.front().count;
    std::this_thread::sleep_for(1s);
  }
  return fail(Code::kInternal, "the books: " + wrong);
}

double memory_mb(const ChildProcess& child, std::string_view name) {
  return static_cast<double>(child.memory_kb(name)) * 1024 / 1e6;
}

}  // namespace tessera::bench
