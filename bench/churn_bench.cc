// Case 180: pods come, are decided, bound, served and deleted, one after the other, N of them; what
// the server's memory does meanwhile. The server is a process of its own, its cluster the embedded
// API server in this one, which also plays the node's agent.
//   churn_bench [--pods=20000] [--warm-up=10000] [--nodes=100]
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "bench_main.h"
#include "json/reader.h"
#include "stage.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kMergePatch = "application/merge-patch+json";

struct Options {
  std::int64_t pods = 20'000;
  std::int64_t warm_up = 10'000;  // the UIDs of the last 8,192 deleted pods are remembered
  std::int64_t nodes = 100;
};

Result<Options> parse_options(int count, char** words) {
  Options options;
  const std::pair<std::string_view, std::int64_t*> numbers[] = {
      {"--pods=", &options.pods}, {"--warm-up=", &options.warm_up}, {"--nodes=", &options.nodes}};
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    bool known = false;
    for (const auto& [name, target] : numbers) {
      if (!word.starts_with(name)) continue;
      const auto number = text::parse_int(word.substr(name.size()), 64);
      if (!number || *number < 1) return fail(Code::kInvalid, fmt::format("{}: not above 0", word));
      *target = *number;
      known = true;
    }
    if (!known) return fail(Code::kInvalid, fmt::format("unknown option {}", word));
  }
  return options;
}

/// What the agent does at the end of Allocate.
Status serve_on_node(Stage& stage, const std::string& pod, const std::string& node) {
  const auto served = stage.api().request(
      "PATCH", fmt::format("{}/{}", kPods, pod),
      R"({"metadata":{"annotations":{"hami.io/bind-phase":"success","hami.io/vgpu-devices-to-allocate":";"}}})",
      kMergePatch);
  const auto unlocked = stage.api().request(
      "PATCH", "/api/v1/nodes/" + node,
      R"({"metadata":{"annotations":{"hami.io/mutex.lock":null}}})", kMergePatch);
  if (served.status == 200 && unlocked.status == 200) return {};
  return fail(Code::kInternal, "the agent's writes: " + served.body + unlocked.body);
}

Status live_and_die(Stage& stage, LoadClient& client) {
  const auto pod = stage.next_pod();
  if (!pod) return tl::unexpected(pod.error());
  const auto filtered = client.exchange(post("/filter", pod->filter_body));
  if (!filtered) return tl::unexpected(filtered.error());
  const auto node = placed_node(*filtered);
  if (!node) return tl::unexpected(node.error());
  const auto bound = client.exchange(
      post("/bind",
           fmt::format(R"({{"PodName":"{}","PodNamespace":"default","PodUID":"{}","Node":"{}"}})",
                       pod->name, pod->uid, *node)));
  if (!bound) return tl::unexpected(bound.error());
  json::Parser parser;
  const auto read = parser.parse(bound->body);
  if (!read || !(*read)["Error"].string_or("?").empty())
    return fail(Code::kInternal, "bind: " + bound->body);
  return serve_on_node(stage, pod->name, *node);
}

/// Nothing is left of them: the books know no pod but the last one.
Status check_books(const Served& served) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::string seen;
  while (std::chrono::steady_clock::now() < end) {
    auto client = LoadClient::connect(served.metrics_port);
    if (!client) return tl::unexpected(client.error());
    const auto page = (*client)->exchange(get("/metrics"));
    if (!page) return tl::unexpected(page.error());
    const double pods = metric(page->body, R"(tessera_cache_objects{resource="pods"})");
    const double reserved = metric(page->body, "tessera_reservations");
    const double locked = metric(page->body, "tessera_locked_nodes");
    if (pods == 1 && reserved == 0 && locked == 0) return {};
    seen =
        fmt::format("{} pods, {} reservations, {} locked nodes are left", pods, reserved, locked);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return fail(Code::kInternal, seen);
}

Status run(const Options& options) {
  Stage stage({.program = {}, .nodes = options.nodes, .pods_per_node = 0});
  if (auto status = stage.fill(); !status) return status;
  const Folder folder;
  const auto served = serve(stage, folder, "log",
                            {"--self-check-interval=5s", "--kube-qps=5000", "--kube-burst=10000"});
  if (!served) return tl::unexpected(served.error());
  auto client = LoadClient::connect(served->port);
  if (!client) return tl::unexpected(client.error());
  std::int64_t warm = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 1; i <= options.warm_up + options.pods; ++i) {
    if (auto status = live_and_die(stage, **client); !status) return status;
    if (i == options.warm_up) {
      if (auto status = check_books(*served); !status) return status;
      warm = served->child->memory_kb("VmRSS");
    }
    if (i % 5000 == 0) {
      fmt::print("{:6} pods  {} kB resident\n", i, served->child->memory_kb("VmRSS"));
      std::fflush(stdout);
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (auto status = check_books(*served); !status) return status;
  const std::int64_t last = served->child->memory_kb("VmRSS");
  fmt::print(
      "{} pods after {} on {} nodes in {:.1f} s: {} kB resident after the warm-up, {} kB at the "
      "end, "
      "x {:.3f}\n",
      options.pods, options.warm_up, options.nodes, took.count(), warm, last,
      static_cast<double>(last) / static_cast<double>(warm));
  return {};
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  return main_of(
      "churn_bench", [&] { return parse_options(argc, argv); },
      [](const auto& options) { return run(options); });
}
