#include "sim/demo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "base/read_file.h"
#include "obs/log.h"
#include "service/server.h"
#include "sim/agents.h"
#include "sim/api_server.h"
#include "sim/demo_feeder.h"
#include "sim/demo_screen.h"
#include "sim/scheduler_loop.h"
#include "sim/synthetic.h"
#include "sim/terminal.h"
#include "sim/trace.h"

namespace tessera::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kSchedulerName = "hami-scheduler", kModel = "NVIDIA-A100-SXM4-80GB";
constexpr double kLoad = 1.04;  // of all cards: a little more than there is, so that some pods wait
constexpr milliseconds kTick{20}, kFrame{200}, kSecond{1000};
constexpr std::size_t kWaitingShown = 40;

Status check(const DemoOptions& o) {
  const auto out_of_range = [](std::string_view flag, auto value, std::string_view range) {
    return fail(Code::kInvalid, fmt::format("--{} {}: must be {}", flag, value, range));
  };
  if (o.nodes < 1 || o.nodes > 10'000) return out_of_range("nodes", o.nodes, "from 1 to 10000");
  if (o.devices < 1 || o.devices > 64) return out_of_range("devices", o.devices, "from 1 to 64");
  if (!(o.rate >= 0 && o.rate <= 10'000))
    return out_of_range("rate", o.rate, "from 0 to 10000 pods per second");
  if (o.answer != "single" && o.answer != "scored")
    return out_of_range("answer", o.answer, "single or scored");
  if (o.duration.count() < 0)
    return out_of_range("for", format_duration(o.duration), "0 (until Ctrl-C) or longer");
  return {};
}

Result<std::vector<TracePod>> read_pods(const std::string& path) {
  if (path.empty()) return parse_trace(builtin_trace(), "built-in list");
  const Result<std::string> text = read_file(path);
  if (!text) return fail(text.error().code, "--trace: " + text.error().what);
  return parse_trace(*text, path);
}

/// Readable by the owner alone, as kubectl wants it.
Status write_kubeconfig(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = file >= 0 && ::close(file) == 0;
  if (written && closed) return {};
  return fail(Code::kUnavailable, fmt::format("--kubeconfig-out {}: cannot be written", path));
}

Result<SyntheticCluster> make_cluster(const DemoOptions& options) {
  SyntheticOptions cluster;
  cluster.nodes = options.nodes;
  cluster.first_node = 1;
  cluster.node_digits =
      static_cast<std::int64_t>(std::max<std::size_t>(2, std::to_string(options.nodes).size()));
  cluster.cards.front().count = options.devices;
  cluster.cards.front().model = kModel;
  return SyntheticCluster::make(std::move(cluster));
}

/// Everything that runs, in the order it must begin; it ends in the opposite order.
class Demo {
 public:
  explicit Demo(DemoOptions options) : options_(std::move(options)) {}

  Status start() {
    if (Status s = check(options_); !s) return s;
    Result<std::vector<TracePod>> pods = read_pods(options_.trace_file);
    if (!pods) return tl::unexpected(pods.error());
    if (Status s = start_cluster(); !s) return s;
    if (Status s = start_scheduler(); !s) return s;
    const double cards = static_cast<double>(options_.nodes) * options_.devices;
    std::vector<ReplayPod> plan = plan_replay(
        std::move(*pods), {.pods_per_second = options_.rate, .cards = cards, .load = kLoad});
    what_ = fmt::format("{} with {} device pods at {}/s",
                        options_.trace_file.empty() ? "openb list" : options_.trace_file,
                        plan.size(), options_.rate);
    feeder_ = std::make_unique<DemoFeeder>(*user_, std::move(plan), options_.rate,
                                           std::string(kSchedulerName));
    begin_ = clock_.mono();
    return {};
  }

  /// One step of the run; false at the end.
  bool tick() {
    const milliseconds elapsed = this->elapsed();
    if (options_.duration.count() > 0 && elapsed >= options_.duration) return false;
    feeder_->tick(elapsed);
    return true;
  }

  milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(clock_.mono() - begin_);
  }

  DemoPicture picture() {
    DemoPicture p{.model = std::string(kModel),
                  .elapsed = elapsed(),
                  .duration = options_.duration,
                  .nodes = agents_->view(),
                  .loop = loop_->stats(),
                  .waiting = loop_->waiting(kWaitingShown),
                  .created = feeder_->created(),
                  .finished = agents_->finished(),
                  .kubeconfig = options_.kubeconfig_out};
    p.decisions_per_second = decisions_in_last_seconds(p.elapsed, p.loop.filters);
    return p;
  }

  /// Sampled once a second for the average of the summary.
  void sample(const DemoPicture& picture) {
    const DemoShares shares = shares_of(picture.nodes);
    memory_sum_ += shares.memory;
    cores_sum_ += shares.cores;
    ++samples_;
  }

  DemoSummary finish() {
    DemoSummary summary{.picture = picture(), .what = what_};
    loop_->stop();
    agents_->stop();
    summary.faults = agents_->violations();
    if (std::string books = server_->self_check(); !books.empty())
      summary.faults.push_back("books of the scheduler: " + books);
    if (feeder_->failed() > 0)
      summary.faults.push_back(fmt::format("{} pods could not be created", feeder_->failed()));
    server_->stop();
    const double samples = std::max(1, samples_);
    summary.mean_memory = memory_sum_ / samples;
    summary.mean_cores = cores_sum_ / samples;
    return summary;
  }

  std::string where() const {
    return fmt::format("API server {}, scheduler http://127.0.0.1:{}", api_server_->url(),
                       server_->port());
  }

 private:
  std::unique_ptr<client::ApiClient> client(std::string user_agent) {
    return std::make_unique<client::ApiClient>(
        client::Credentials{.server = api_server_->url()},
        client::ApiClientOptions{.user_agent = std::move(user_agent), .qps = -1}, metrics_);
  }

  Status start_cluster() {
    Result<std::unique_ptr<ApiServer>> api = ApiServer::start({}, clock_);
    if (!api) return tl::unexpected(api.error());
    api_server_ = std::move(*api);
    if (!options_.kubeconfig_out.empty()) {
      if (Status s = write_kubeconfig(options_.kubeconfig_out, api_server_->kubeconfig()); !s)
        return s;
    }
    agents_client_ = client("node-agents");
    scheduler_client_ = client("kube-scheduler");
    user_ = client("demo");
    agents_ =
        std::make_unique<Agents>(*agents_client_, AgentOptions{.delete_finished = true}, clock_);
    const Result<SyntheticCluster> cluster = make_cluster(options_);
    if (!cluster) return tl::unexpected(cluster.error());
    for (int i = 0; i < options_.nodes; ++i) {
      if (Status s = agents_->add_node(cluster->agent_node(i)); !s) return s;
    }
    agents_->start();
    return {};
  }

  Status start_scheduler() {
    service::ServeOptions serve;
    serve.http_bind = fmt::format("127.0.0.1:{}", options_.port);
    serve.metrics_bind = "";
    serve.scheduler_name = kSchedulerName;
    serve.answer = options_.answer;
    Result<std::unique_ptr<service::Server>> server =
        service::Server::start(serve, {.server = api_server_->url()}, clock_);
    if (!server)
      return fail(server.error().code,
                  fmt::format("{} (--port chooses another port, 0 = any)", server.error().what));
    server_ = std::move(*server);
    if (!server_->wait_ready(std::chrono::seconds(20)))
      return fail(Code::kUnavailable, "the scheduler did not become ready within 20 s");
    api_server_->set_webhook(fmt::format("http://127.0.0.1:{}/webhook", server_->port()));
    loop_ = std::make_unique<SchedulerLoop>(
        *scheduler_client_,
        SchedulerLoopOptions{.extender_url = fmt::format("http://127.0.0.1:{}", server_->port()),
                             .scheduler_name = std::string(kSchedulerName),
                             .default_scheduler_too = true});
    loop_->start();
    return {};
  }

  double decisions_in_last_seconds(milliseconds now, std::uint64_t filters) {
    recent_.emplace_back(now, filters);
    while (recent_.size() > 2 && recent_.front().first < now - 2 * kSecond) recent_.pop_front();
    const milliseconds span = now - recent_.front().first;
    return span.count() == 0 ? 0
                             : static_cast<double>(filters - recent_.front().second) * 1000 /
                                   static_cast<double>(span.count());
  }

  DemoOptions options_;
  SystemClock clock_;
  obs::Metrics metrics_;
  // Declared in the order of their use: clients end before the API server, what sends through them
  // before the clients.
  std::unique_ptr<ApiServer> api_server_;
  std::unique_ptr<client::ApiClient> agents_client_, scheduler_client_, user_;
  std::unique_ptr<Agents> agents_;
  std::unique_ptr<service::Server> server_;
  std::unique_ptr<SchedulerLoop> loop_;
  std::unique_ptr<DemoFeeder> feeder_;
  std::string what_;
  MonoTime begin_{};
  std::deque<std::pair<milliseconds, std::uint64_t>> recent_;
  double memory_sum_ = 0, cores_sum_ = 0;
  int samples_ = 0;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// Shows pictures until the run is over: five a second with a terminal, else one line a second.
void show(Demo& demo, Terminal* terminal, const std::atomic<bool>& stop) {
  const milliseconds frame = terminal != nullptr ? kFrame : kSecond;
  milliseconds next_picture{0}, next_sample{0};
  for (; !stop && demo.tick(); std::this_thread::sleep_for(kTick)) {
    if (terminal != nullptr && terminal->key_pressed('q')) return;
    if (demo.elapsed() < next_picture) continue;
    const DemoPicture picture = demo.picture();
    next_picture = picture.elapsed - picture.elapsed % frame + frame;
    if (picture.elapsed >= next_sample) {
      demo.sample(picture);
      next_sample = picture.elapsed - picture.elapsed % kSecond + kSecond;
    }
    if (terminal == nullptr) {
      print(render_line(picture) + "\n");
    } else {
      terminal->draw(render_screen(picture, terminal->size(), Terminal::colour()));
    }
  }
}

}  // namespace

Result<int> run_demo(const DemoOptions& options, const std::atomic<bool>& stop) {
  // Log lines would tear the screen; what goes wrong is shown as figures and in the summary.
  const bool full_screen = options.terminal && Terminal::available();
  log::set_level(full_screen ? log::Level::kOff : log::Level::kWarn);
  Demo demo(options);
  if (Status s = demo.start(); !s) return tl::unexpected(s.error());
  if (full_screen) {
    Terminal terminal;
    show(demo, &terminal, stop);
  } else {
    print("tessera demo: " + demo.where() + "\n");
    show(demo, nullptr, stop);
  }
  const DemoSummary summary = demo.finish();
  print(render_summary(summary));
  return summary.faults.empty() ? 0 : 1;
}

}  // namespace tessera::sim
