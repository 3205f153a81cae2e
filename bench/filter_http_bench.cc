// What is measured of /filter over HTTP beside the scenarios F1 to F4: prioritize after each filter
// call, what looking on costs, and events and filter together. The scheduler is a process of its
// own
// (`tessera serve`), its cluster is the embedded API server in this one. Every call brings a new
// pod whose predecessor was deleted before, outside the timing.
//   filter_http_bench [--program=build/tessera] [--runs=5] [--calls=5000] [--warm-up=500]
//   [--nodes=1000] [--pods-per-node=4] [--node-policy=binpack] [--device-policy=spread]
//   [--pause-us=1000] [--scored=1] [--pairs=0] [--scrape-ms=15000] [--self-check-ms=60000]
//   [--against=0]
// With --scored=1 the server answers all nodes that fit, and every filter call is followed by a
// prioritize call for the same pod and nodes, as kube-scheduler makes it. With --pairs=N instead: N
// times a server without events, scrapes and self-check, then one with all of them (a page of
// metrics every --scrape-ms, 0 = one after the other), and the ratio of their p99. With
// --against=N: two clusters that differ in nothing but their pods per node, the times of two pod
// events and a filter call together, and the ratio of their medians.
//   Case 186: --nodes=5000 --pods-per-node=2 --against=8 --calls=1000
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bench_main.h"
#include "floor.h"
#include "http_load.h"
#include "stage.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

struct Options {
  StageOptions stage;
  std::int64_t runs = 5, calls = 5000, warm_up = 500;
  std::int64_t pause_us = 1000;
  std::int64_t pairs = 0, scrape_ms = 15'000, self_check_ms = 60'000, scored = 1;
  std::int64_t against = 0;  // pods per node of the second cluster
};

Status set_option(Options& options, std::string_view name, std::string_view value) {
  const std::pair<std::string_view, std::int64_t*> numbers[] = {
      {"runs", &options.runs},
      {"calls", &options.calls},
      {"warm-up", &options.warm_up},
      {"pause-us", &options.pause_us},
      {"pairs", &options.pairs},
      {"scrape-ms", &options.scrape_ms},
      {"self-check-ms", &options.self_check_ms},
      {"scored", &options.scored},
      {"against", &options.against},
      {"nodes", &options.stage.nodes},
      {"pods-per-node", &options.stage.pods_per_node}};
  for (const auto& [key, target] : numbers) {
    if (key != name) continue;
    const auto number = text::parse_int(value, 64);
    if (!number) return fail(Code::kInvalid, fmt::format("--{}: {}", name, number.error().what));
    if (*number < 0) return fail(Code::kInvalid, fmt::format("--{}: {} is negative", name, value));
    *target = *number;
    return {};
  }
  const std::pair<std::string_view, std::string*> words[] = {
      {"program", &options.stage.program},
      {"node-policy", &options.stage.node_policy},
      {"device-policy", &options.stage.device_policy}};
  for (const auto& [key, target] : words) {
    if (key != name) continue;
    *target = value;
    return {};
  }
  return fail(Code::kInvalid, fmt::format("unknown option --{}", name));
}

Result<Options> parse_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string_view::npos) {
      return fail(Code::kInvalid, fmt::format("{}: must be --name=value", word));
    }
    if (auto status = set_option(options, word.substr(2, equals - 2), word.substr(equals + 1));
        !status) {
      return tl::unexpected(status.error());
    }
  }
  return options;
}

void pause(const Options& options) {
  std::this_thread::sleep_for(std::chrono::microseconds(options.pause_us));
}

struct Run {
  Latencies filter, prioritize;
  std::string body;
  std::size_t answer_size = 0;
};

Result<Run> measure_filter(const Options& options, Stage& stage, std::uint16_t port, bool scored) {
  auto client = LoadClient::connect(port);
  if (!client) return tl::unexpected(client.error());
  Run run;
  for (std::int64_t i = 0; i < options.warm_up + options.calls; ++i) {
    const auto body = stage.next_call();
    if (!body) return tl::unexpected(body.error());
    const std::string request = post("/filter", *body);
    pause(options);  // the scheduler's watches see the pods come and go, as between two cycles
    const auto answer = (*client)->exchange(request);
    if (!answer) return tl::unexpected(answer.error());
    const std::size_t expected = scored ? stage.names().size() : 1;
    if (auto status = check_answer(*answer, expected); !status)
      return tl::unexpected(status.error());
    if (i >= options.warm_up) run.filter.add(answer->time);
    if (scored) {
      const auto scores = (*client)->exchange(post("/prioritize", *body));
      if (!scores) return tl::unexpected(scores.error());
      if (auto status = check_scores(*scores, stage.names()); !status)
        return tl::unexpected(status.error());
      if (i >= options.warm_up) run.prioritize.add(scores->time);
    }
    run.body = *body;
    run.answer_size = answer->body.size();
  }
  return run;
}

/// Fetches pages of metrics until it is stopped.
class Scraper {
 public:
  Scraper(std::uint16_t port, std::chrono::milliseconds pause)
      : thread_([this, port, pause] { work(port, pause); }) {}
  ~Scraper() { stop(); }
  void stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::string text() const {
    return fmt::format("{} pages of {} bytes, each in {}", pages_.count(), size_, pages_.text());
  }

 private:
  void work(std::uint16_t port, std::chrono::milliseconds pause) {
    auto client = LoadClient::connect(port);
    while (client && !done_) {
      const auto answer = (*client)->exchange(get("/metrics"));
      if (!answer) return;
      pages_.add(answer->time);
      size_ = answer->body.size();
      std::this_thread::sleep_for(pause);
    }
  }
  std::atomic<bool> done_{false};
  Latencies pages_;
  std::size_t size_ = 0;
  std::thread thread_;  // last: it uses everything above
};

Result<Latencies> measure_observed(const Options& options, Stage& stage, const Served& served) {
  Scraper scraper(served.metrics_port, std::chrono::milliseconds(options.scrape_ms));
  auto run = measure_filter(options, stage, served.port, false);
  if (!run) return tl::unexpected(run.error());
  scraper.stop();
  fmt::print("          {}\n", scraper.text());
  return std::move(run->filter);
}

/// The same calls without and with everything that looks on.
Status run_pairs(const Options& options, Stage& stage, const Folder& folder) {
  std::vector<double> ratios;
  for (std::int64_t i = 0; i < options.pairs; ++i) {
    Latencies quiet;
    {
      const auto served = serve(stage, folder, fmt::format("quiet-{}", i),
                                {"--events=false", "--self-check-interval=0s"});
      if (!served) return tl::unexpected(served.error());
      auto run = measure_filter(options, stage, served->port, false);
      if (!run) return tl::unexpected(run.error());
      quiet = std::move(run->filter);
    }
    const auto served = serve(stage, folder, fmt::format("observed-{}", i),
                              {fmt::format("--self-check-interval={}ms", options.self_check_ms)});
    if (!served) return tl::unexpected(served.error());
    const auto observed = measure_observed(options, stage, *served);
    if (!observed) return tl::unexpected(observed.error());
    ratios.push_back(static_cast<double>(observed->percentile(99).count()) /
                     static_cast<double>(quiet.percentile(99).count()));
    fmt::print("pair {}    quiet     {}\n          observed  {}   p99 x {:.3f}\n", i + 1,
               quiet.text(), observed->text(), ratios.back());
    std::fflush(stdout);
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print("median of the ratios of p99: {:.3f}\n", ratios[ratios.size() / 2]);
  return {};
}

/// Case 186: one pod goes, one comes, one is decided; on two clusters that differ in nothing but
/// the number of pods, in turns. Counted from before the first of the two events.
Result<Nanoseconds> event_and_filter(Stage& stage, LoadClient& client) {
  const auto begin = std::chrono::steady_clock::now();
  const auto body = stage.next_call();
  if (!body) return tl::unexpected(body.error());
  const auto answer = client.exchange(post("/filter", *body));
  const Nanoseconds time = std::chrono::steady_clock::now() - begin;
  if (!answer) return tl::unexpected(answer.error());
  if (const auto node = placed_node(*answer); !node) return tl::unexpected(node.error());
  return time;
}

Status run_against(const Options& options, Stage& few) {
  StageOptions crowded = options.stage;
  crowded.pods_per_node = options.against;
  Stage many(crowded);
  if (auto status = many.fill(); !status) return status;
  const Folder folders[2];
  Stage* stages[] = {&few, &many};
  std::vector<Served> served;
  std::vector<std::unique_ptr<LoadClient>> clients;
  for (std::size_t k = 0; k < 2; ++k) {
    auto one = serve(*stages[k], folders[k], "log", {});
    if (!one) return tl::unexpected(one.error());
    served.push_back(std::move(*one));
    auto client = LoadClient::connect(served.back().port);
    if (!client) return tl::unexpected(client.error());
    clients.push_back(std::move(*client));
  }
  Latencies times[2];
  for (std::int64_t i = 0; i < options.warm_up + options.calls; ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      const auto time = event_and_filter(*stages[k], *clients[k]);
      if (!time) return tl::unexpected(time.error());
      if (i >= options.warm_up) times[k].add(*time);
    }
    pause(options);
  }
  for (std::size_t k = 0; k < 2; ++k)
    fmt::print("{} pods: events + filter {}\n",
               options.stage.nodes * stages[k]->options().pods_per_node, times[k].text());
  fmt::print("ratio of the medians: {:.3f}\n",
             static_cast<double>(times[1].percentile(50).count()) /
                 static_cast<double>(times[0].percentile(50).count()));
  return {};
}

double ratio(const Run& run, double percent) {
  return static_cast<double>(run.prioritize.percentile(percent).count()) /
         static_cast<double>(run.filter.percentile(percent).count());
}

void print_setting(const Options& options) {
  const StageOptions& stage = options.stage;
  fmt::print(
      "filter over HTTP: {} nodes x {} cards of {} MiB, {} device pods, {} names a call\n"
      "pod: 1 card, {} MiB, {} cores; policies: nodes {}, devices {}; no "
      "agents; "
      "{} calls after {}\n",
      stage.nodes, kCards, kCardMemory, stage.nodes * stage.pods_per_node, stage.nodes, kPodMemory,
      kPodCores, stage.node_policy, stage.device_policy, options.calls, options.warm_up);
}

Status run_all(const Options& options) {
  Stage stage(options.stage);
  if (auto status = stage.fill(); !status) return status;
  const Folder folder;
  print_setting(options);
  if (options.against > 0) return run_against(options, stage);
  if (options.pairs > 0) return run_pairs(options, stage, folder);
  std::vector<std::string> more;
  if (options.scored) more.emplace_back("--answer=scored");
  const auto served = serve(stage, folder, "log", more);
  if (!served) return tl::unexpected(served.error());
  const ChildProcess& child = *served->child;
  fmt::print("memory when ready: {} kB resident\n", child.memory_kb("VmRSS"));
  std::optional<Run> best;
  for (std::int64_t i = 0; i < options.runs; ++i) {
    auto run = measure_filter(options, stage, served->port, options.scored != 0);
    if (!run) return tl::unexpected(run.error());
    fmt::print("run {}    filter  {}\n", i + 1, run->filter.text());
    if (options.scored) {
      fmt::print("      prioritize  {}   p50 x {:.2f}, p99 x {:.2f} of filter\n",
                 run->prioritize.text(), ratio(*run, 50), ratio(*run, 99));
    }
    const auto floor = measure_floor(run->body, run->answer_size, options.calls,
                                     std::chrono::microseconds(options.pause_us));
    if (!floor) return tl::unexpected(floor.error());
    fmt::print("         floor   {}\n", floor->same.text());
    std::fflush(stdout);
    if (!best || run->filter.percentile(99) < best->filter.percentile(99)) best = std::move(*run);
  }
  if (best) {
    fmt::print("best     filter  {}   ({} bytes there, {} back)\n", best->filter.text(),
               best->body.size(), best->answer_size);
  }
  fmt::print("memory at the end: {} kB resident, {} kB at most\n", child.memory_kb("VmRSS"),
             child.memory_kb("VmHWM"));
  return {};
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  return main_of(
      "filter_http_bench", [&] { return parse_options(argc, argv); },
      [](const auto& options) { return run_all(options); });
}
