// What a kube-scheduler waits for: /filter over HTTP on loopback, 1,000 nodes of 8 cards, 4,000
// device pods that run, 1,000 names in every call. The scheduler is a process of its own (`tessera
// serve`), its cluster is the embedded API server in this one. Every call brings a new pod whose
// predecessor was deleted before, outside the timing. Beside it the machine's floor: the same
// number of bytes there and back with nothing in between.
//   filter_http_bench [--program=build/tessera] [--runs=5] [--calls=5000] [--warm-up=500]
//   [--nodes=1000] [--pods-per-node=4]
//                     [--node-policy=binpack] [--device-policy=spread] [--pause-us=1000]
//   [--pairs=0] [--scrape-ms=1000] [--scored=0]
// With --pairs=N instead of the runs: N times a server without events, scrapes and self-check, then
// one with all of them (a page of metrics every --scrape-ms, 0 = one after the other), and the
// ratio of their p99. With --scored=1 the server answers all nodes that fit, and every filter call
// is followed by a prioritize call for the same pod and nodes, as kube-scheduler makes it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "child_process.h"
#include "http/server.h"
#include "http_load.h"
#include "json/reader.h"
#include "json/writer.h"
#include "sim/api_server.h"
#include "sim/scenario_objects.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kCards = 8, kCardMemory = 81'920, kPodMemory = 2'000, kPodCores = 10;
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

struct Options {
  std::string program;
  std::int64_t runs = 5, calls = 5000, warm_up = 500, nodes = 1000, pods_per_node = 4;
  std::int64_t pause_us = 1000;
  std::int64_t pairs = 0, scrape_ms = 1000, scored = 0;
  std::string node_policy = "binpack", device_policy = "spread";
};

Status set_option(Options& options, std::string_view name, std::string_view value) {
  const std::pair<std::string_view, std::int64_t*> numbers[] = {
      {"runs", &options.runs},         {"calls", &options.calls},
      {"nodes", &options.nodes},       {"warm-up", &options.warm_up},
      {"pause-us", &options.pause_us}, {"pods-per-node", &options.pods_per_node},
      {"pairs", &options.pairs},       {"scrape-ms", &options.scrape_ms},
      {"scored", &options.scored}};
  for (const auto& [key, target] : numbers) {
    if (key != name) continue;
    const auto number = text::parse_int(value, 64);
    if (!number) return fail(Code::kInvalid, fmt::format("--{}: {}", name, number.error().what));
    if (*number < 0) return fail(Code::kInvalid, fmt::format("--{}: {} is negative", name, value));
    *target = *number;
    return {};
  }
  const std::pair<std::string_view, std::string*> words[] = {
      {"program", &options.program},
      {"node-policy", &options.node_policy},
      {"device-policy", &options.device_policy}};
  for (const auto& [key, target] : words) {
    if (key != name) continue;
    *target = value;
    return {};
  }
  return fail(Code::kInvalid, fmt::format("unknown option --{}", name));
}

Result<Options> parse_options(int count, char** words) {
  Options options;
  // In the build tree the program is one folder up.
  options.program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tessera")
          .string();
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

std::string node_name(std::int64_t n) { return fmt::format("node-{:05}", n); }
std::string card_id(std::int64_t n, std::int64_t card) {
  return fmt::format("GPU-5a1c7e90-0000-4000-8000-{:011}{}", n, card);
}

sim::ScenarioNode make_node(std::int64_t n) {
  sim::ScenarioNode node;
  node.name = node_name(n);
  for (std::int64_t i = 0; i < kCards; ++i) {
    core::Device card;
    card.id = card_id(n, i);
    card.index = static_cast<std::uint32_t>(i);
    card.slots = 10;
    card.memory = {kCardMemory};
    card.cores = {100};
    card.model = "NVIDIA-NVIDIA H100 80GB HBM3";
    card.mode = "hami-core";
    card.numa = static_cast<std::uint32_t>(i / 4);
    card.healthy = true;
    card.vendor = VendorId{0};
    node.devices.push_back(std::move(card));
  }
  return node;
}

sim::ScenarioPod make_pod(std::string name) {
  sim::ScenarioPod pod;
  pod.name = std::move(name);
  pod.containers.push_back({"app",
                            {{"nvidia.com/gpu", "1"},
                             {"nvidia.com/gpumem", std::to_string(kPodMemory)},
                             {"nvidia.com/gpucores", std::to_string(kPodCores)}}});
  return pod;
}

/// The cluster and the calls that change it.
class Stage {
 public:
  explicit Stage(const Options& options) : options_(options) {
    scenario_.node_policy = options.node_policy;
    scenario_.device_policy = options.device_policy;
  }

  Status fill() {
    auto api = sim::ApiServer::start({}, clock_);
    if (!api) return tl::unexpected(api.error());
    api_ = std::move(*api);
    for (std::int64_t n = 0; n < options_.nodes; ++n) {
      scenario_.nodes.push_back(make_node(n));
      if (auto status =
              create("/api/v1/nodes", sim::node_object(scenario_, scenario_.nodes.back()));
          !status)
        return status;
      names_.push_back(node_name(n));
    }
    for (std::int64_t i = 0; i < options_.nodes * options_.pods_per_node; ++i) {
      auto pod = make_pod(fmt::format("running-{:06}", i));
      const std::int64_t n = i % options_.nodes;
      pod.node = node_name(n);
      pod.cards = {{sim::ScenarioPod::Held{.id = card_id(n, i / options_.nodes % kCards)}}};
      const auto uid = fmt::format("running-uid-{:06}", i);
      if (auto status = create(kPods, sim::pod_object(scenario_, pod, uid)); !status) return status;
    }
    return {};
  }

  const std::vector<std::string>& names() const { return names_; }
  std::string kubeconfig() const { return api_->kubeconfig(); }

  /// The predecessor goes, the next pod comes; gives the body of its filter call.
  Result<std::string> next_call() {
    if (serial_ > 0) {
      const auto gone = api_->request("DELETE", fmt::format("{}/asking-{}", kPods, serial_));
      if (gone.status != 200) return fail(Code::kInternal, "delete of a pod: " + gone.body);
    }
    ++serial_;
    const auto name = fmt::format("asking-{}", serial_);
    auto made = api_->request("POST", kPods, sim::pod_object(scenario_, make_pod(name), ""));
    if (made.status != 201) return fail(Code::kInternal, "create of a pod: " + made.body);
    json::Writer w;
    w.begin_object().key("Pod").raw(made.body).key("Nodes").null().key("NodeNames").begin_array();
    for (const auto& node : names_) w.string(node);
    w.end_array().end_object();
    return std::move(w).take();
  }

 private:
  Status create(std::string_view path, const std::string& object) {
    const auto answer = api_->request("POST", path, object);
    if (answer.status == 201) return {};
    return fail(Code::kInternal, fmt::format("POST {}: {}", path, answer.body));
  }

  const Options& options_;
  SystemClock clock_;
  sim::Scenario scenario_;
  std::unique_ptr<sim::ApiServer> api_;
  std::vector<std::string> names_;
  std::int64_t serial_ = 0;
};

/// One entry from 0 to 10 for every host, the best one 10.
Status check_scores(const LoadClient::Answer& answer, const std::vector<std::string>& hosts) {
  json::Parser parser;
  const auto list = parser.parse(answer.body);
  if (answer.status != 200 || !list)
    return fail(Code::kInternal, fmt::format("prioritize: {} {}", answer.status, answer.body));
  std::size_t at = 0;
  std::int64_t best = -1;
  bool sound = true;
  list->for_each_element([&](json::Value entry) {
    const std::int64_t score = entry["Score"].integer().value_or(-1);
    sound = sound && at < hosts.size() && entry["Host"].string_or("") == hosts[at++] &&
            score >= 0 && score <= 10;
    best = std::max(best, score);
  });
  if (sound && at == hosts.size() && best == 10) return {};
  return fail(Code::kInternal, "prioritize answers amiss: " + answer.body.substr(0, 400));
}

Status check_answer(const LoadClient::Answer& answer, std::size_t nodes) {
  json::Parser parser;
  const auto read = parser.parse(answer.body);
  if (answer.status != 200 || !read) {
    return fail(Code::kInternal, fmt::format("filter: {} {}", answer.status, answer.body));
  }
  if ((*read)["NodeNames"].size() == nodes && (*read)["Error"].string_or("?").empty()) return {};
  return fail(Code::kInternal, "filter placed nothing: " + answer.body.substr(0, 400));
}

void pause(const Options& options) {
  std::this_thread::sleep_for(std::chrono::microseconds(options.pause_us));
}

struct Run {
  Latencies filter, prioritize;
  std::size_t request_size = 0, answer_size = 0;
};

Result<Run> measure_filter(const Options& options, Stage& stage, std::uint16_t port) {
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
    const std::size_t expected = options.scored ? stage.names().size() : 1;
    if (auto status = check_answer(*answer, expected); !status)
      return tl::unexpected(status.error());
    if (i >= options.warm_up) run.filter.add(answer->time);
    if (options.scored) {
      const auto scores = (*client)->exchange(post("/prioritize", *body));
      if (!scores) return tl::unexpected(scores.error());
      if (auto status = check_scores(*scores, stage.names()); !status)
        return tl::unexpected(status.error());
      if (i >= options.warm_up) run.prioritize.add(scores->time);
    }
    run.request_size = body->size();
    run.answer_size = answer->body.size();
  }
  return run;
}

/// The same bytes through the same HTTP server, answered at once.
Result<Latencies> measure_floor(const Options& options, const Run& like) {
  http::Route route;
  route.method = "POST";
  route.path = "/floor";
  route.max_body = like.request_size;
  const std::string answer_body(like.answer_size, 'x');
  route.handler = [&](http::Request&&, const http::Responder& respond) {
    http::Response response;
    response.body = answer_body;
    respond(std::move(response));
  };
  auto server = http::Server::start({}, {std::move(route)});
  if (!server) return tl::unexpected(server.error());
  auto client = LoadClient::connect((*server)->port());
  if (!client) return tl::unexpected(client.error());
  const std::string request = post("/floor", std::string(like.request_size, 'x'));
  Latencies times;
  for (std::int64_t i = 0; i < options.warm_up + options.calls; ++i) {
    pause(options);
    const auto answer = (*client)->exchange(request);
    if (!answer) return tl::unexpected(answer.error());
    if (i >= options.warm_up) times.add(answer->time);
  }
  return times;
}

Status wait_ready(std::uint16_t port) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < end) {
    auto client = LoadClient::connect(port);
    if (client) {
      const auto answer = (*client)->exchange(get("/readyz"));
      if (answer && answer->status == 200) return {};
    }
    std::this_thread::sleep_for(20ms);
  }
  return fail(Code::kUnavailable, "the server was not ready after 60 s");
}

/// A server on the stage's cluster, ready.
struct Served {
  std::unique_ptr<ChildProcess> child;
  std::uint16_t port = 0, metrics_port = 0;
};

Result<Served> serve(const Options& options, const Folder& folder, const std::string& log,
                     const std::vector<std::string>& more) {
  std::vector<std::string> command = {options.program,
                                      "serve",
                                      "--kubeconfig=" + folder.file("kubeconfig"),
                                      "--http_bind=127.0.0.1:0",
                                      "--metrics-bind-address=127.0.0.1:0",
                                      "--scheduler-name=hami-scheduler",
                                      "--node-scheduler-policy=" + options.node_policy,
                                      "--gpu-scheduler-policy=" + options.device_policy};
  command.insert(command.end(), more.begin(), more.end());
  auto child = ChildProcess::start(command, folder.file(log));
  if (!child) return tl::unexpected(child.error());
  const auto port = (*child)->announced_port();
  if (!port) return tl::unexpected(port.error());
  const auto metrics_port = (*child)->announced_port("metrics_port");
  if (!metrics_port) return tl::unexpected(metrics_port.error());
  if (auto status = wait_ready(*port); !status) return tl::unexpected(status.error());
  return Served{std::move(*child), *port, *metrics_port};
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
  auto run = measure_filter(options, stage, served.port);
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
      const auto served = serve(options, folder, fmt::format("quiet-{}", i),
                                {"--events=false", "--self-check-interval=0s"});
      if (!served) return tl::unexpected(served.error());
      auto run = measure_filter(options, stage, served->port);
      if (!run) return tl::unexpected(run.error());
      quiet = std::move(run->filter);
    }
    const auto served =
        serve(options, folder, fmt::format("observed-{}", i), {"--self-check-interval=1s"});
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

double ratio(const Run& run, double percent) {
  return static_cast<double>(run.prioritize.percentile(percent).count()) /
         static_cast<double>(run.filter.percentile(percent).count());
}

void print_setting(const Options& options) {
  fmt::print(
      "filter over HTTP: {} nodes x {} cards of {} MiB, {} device pods, {} names a call\n"
      "pod: 1 card, {} MiB, {} cores; policies: nodes {}, devices {}; no agents; {} calls after "
      "{}\n",
      options.nodes, kCards, kCardMemory, options.nodes * options.pods_per_node, options.nodes,
      kPodMemory, kPodCores, options.node_policy, options.device_policy, options.calls,
      options.warm_up);
}

Status run_all(const Options& options) {
  Stage stage(options);
  if (auto status = stage.fill(); !status) return status;
  const Folder folder;
  std::ofstream(folder.file("kubeconfig")) << stage.kubeconfig();
  print_setting(options);
  if (options.pairs > 0) return run_pairs(options, stage, folder);
  std::vector<std::string> more;
  if (options.scored) more.emplace_back("--answer=scored");
  const auto served = serve(options, folder, "log", more);
  if (!served) return tl::unexpected(served.error());
  const ChildProcess& child = *served->child;
  fmt::print("memory when ready: {} kB resident\n", child.memory_kb("VmRSS"));
  std::optional<Run> best;
  for (std::int64_t i = 0; i < options.runs; ++i) {
    auto run = measure_filter(options, stage, served->port);
    if (!run) return tl::unexpected(run.error());
    fmt::print("run {}    filter  {}\n", i + 1, run->filter.text());
    if (options.scored) {
      fmt::print("      prioritize  {}   p50 x {:.2f}, p99 x {:.2f} of filter\n",
                 run->prioritize.text(), ratio(*run, 50), ratio(*run, 99));
    }
    const auto floor = measure_floor(options, *run);
    if (!floor) return tl::unexpected(floor.error());
    fmt::print("         floor   {}\n", floor->text());
    std::fflush(stdout);
    if (!best || run->filter.percentile(99) < best->filter.percentile(99)) best = std::move(*run);
  }
  if (best) {
    fmt::print("best     filter  {}   ({} bytes there, {} back)\n", best->filter.text(),
               best->request_size, best->answer_size);
  }
  fmt::print("memory at the end: {} kB resident, {} kB at most\n", child.memory_kb("VmRSS"),
             child.memory_kb("VmHWM"));
  return {};
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  const auto options = tessera::bench::parse_options(argc, argv);
  if (!options) {
    fmt::print(stderr, "filter_http_bench: {}\n", options.error().what);
    return 2;
  }
  const auto status = tessera::bench::run_all(*options);
  if (status) return 0;
  fmt::print(stderr, "filter_http_bench: {}\n", status.error().what);
  return 1;
}
