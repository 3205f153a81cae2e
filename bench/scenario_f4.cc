// F4: filter while the cluster changes: 50 node and 500 pod events a second, and nodes that join.
// The answers meanwhile are held against what is true at any time; once the cluster is at rest
// again, against the plain decision.
//   --nodes=N --node-events=50 --pod-events=500 --joins=1 (each a second)
#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "filter_run.h"
#include "scenario.h"
#include "sim/scenario_objects.h"
#include "stage.h"

namespace tessera::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kJson = "application/json";
constexpr std::int64_t kAlive = 200;  // pods of the churn that live at a time

struct Rates {
  std::int64_t node_events = 50, pod_events = 500, joins = 1;
};

/// Changes the cluster at even rates from a thread of its own, until it is stopped; then the
/// cluster is as it was.
class Churn {
 public:
  Churn(FilterStage& stage, Rates rates)
      : stage_(stage), rates_(rates), template_(one_node()), thread_([this] { work(); }) {}
  ~Churn() { (void)stop(); }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  Status stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return status_;
  }
  std::int64_t events() const { return events_; }
  double per_second() const { return per_second_; }

 private:
  /// The pods of the churn run on the last node, of which they hold a little of the last card; the
  /// nodes that join are like the others and are never named.
  static sim::SyntheticCluster one_node() { return *sim::SyntheticCluster::make({.nodes = 1}); }

  void work() {
    const auto begin = std::chrono::steady_clock::now();
    std::int64_t nodes = 0, pods = 0, joins = 0;
    while (!done_ && status_) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      const auto due = [&](std::int64_t rate) {
        return static_cast<std::int64_t>(passed.count() * static_cast<double>(rate));
      };
      // At most a few of each at a time: a machine that lags behind does not catch up in a burst.
      for (int i = 0; i < 4 && nodes < due(rates_.node_events); ++i) node_event(nodes++);
      for (int i = 0; i < 20 && pods < due(rates_.pod_events); ++i) pod_event(pods++);
      if (joins < due(rates_.joins)) join(joins++);
      std::this_thread::sleep_for(1ms);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    per_second_ = static_cast<double>(events_) / std::max(took.count(), 1e-3);
    clean_up(joins);
  }

  void note(Status status) {
    ++events_;
    if (status_ && !status) status_ = std::move(status);
  }

  /// Heartbeats; every fifth event takes a card out of service or brings it back, on nodes of the
  /// second half.
  void node_event(std::int64_t serial) {
    const std::int64_t half = std::max<std::int64_t>(stage_.nodes() / 2, 1);
    if (serial % 5 != 4) {
      const std::int64_t n = serial * 7919 % stage_.nodes();
      note(stage_.change(
          "PATCH", "/api/v1/nodes/" + stage_.cluster().node_name(n) + "/status",
          fmt::format(
              R"({{"status":{{"conditions":[{{"type":"Ready","status":"True","lastHeartbeatTime":"2026-05-04T08:{:02}:{:02}Z"}}]}}}})",
              serial / 60 % 60, serial % 60)));
      return;
    }
    const bool ill = serial / 5 % 2 == 0;
    if (ill) sick_ = stage_.nodes() - 1 - serial * 7919 % half;
    set_health(sick_, !ill);
  }

  void set_health(std::int64_t n, bool healthy) {
    sim::ScenarioNode node = stage_.cluster().node(n);
    node.devices.back().healthy = healthy;
    note(stage_.change("PATCH", "/api/v1/nodes/" + node.name,
                       sim::node_patch(stage_.cluster().setting(), node)));
  }

  /// In turns a pod comes, already running, and the eldest goes.
  void pod_event(std::int64_t serial) {
    if (serial % 2 == 1 && newest_ - eldest_ >= kAlive) return remove(eldest_++);
    const std::int64_t n =
        stage_.nodes() - 1 - newest_ % std::max<std::int64_t>(stage_.nodes() / 2, 1);
    sim::Scenario alone = stage_.cluster().setting();
    alone.nodes.push_back(stage_.cluster().node(n));
    sim::ScenarioPod pod =
        stage_.cluster().asking_pod(fmt::format("churn-{}", newest_), {.memory = 100, .cores = 1});
    pod.node = alone.nodes.front().name;
    pod.cards = {{sim::ScenarioPod::Held{.id = alone.nodes.front().devices.front().id}}};
    ++newest_;
    note(stage_.change("POST", std::string(kPods), sim::pod_object(alone, pod, ""), kJson));
  }

  void remove(std::int64_t serial) {
    note(stage_.change("DELETE", fmt::format("{}/churn-{}?gracePeriodSeconds=0", kPods, serial)));
  }

  void join(std::int64_t serial) {
    sim::ScenarioNode node = template_.node(0);
    node.name = fmt::format("joined-{:05}", serial);
    for (core::Device& card : node.devices) card.id += fmt::format("-joined-{}", serial);
    note(stage_.change("POST", "/api/v1/nodes", sim::node_object(stage_.cluster().setting(), node),
                       kJson));
  }

  void clean_up(std::int64_t joins) {
    while (eldest_ < newest_) remove(eldest_++);
    if (sick_ >= 0) set_health(sick_, true);
    for (std::int64_t i = 0; i < joins; ++i)
      note(stage_.change("DELETE", fmt::format("/api/v1/nodes/joined-{:05}", i)));
  }

  FilterStage& stage_;
  const Rates rates_;
  const sim::SyntheticCluster template_;
  std::int64_t sick_ = -1, eldest_ = 0, newest_ = 0;
  std::atomic<std::int64_t> events_{0};
  double per_second_ = 0;
  Status status_;
  std::atomic<bool> done_{false};
  std::thread thread_;  // last: it uses everything above
};

/// The case's lanes with the churn beside them.
class ChurnCase {
 public:
  explicit ChurnCase(Rates rates) : rates_(rates) {}

  void start(FilterStage& stage) { churn_.emplace(stage, rates_); }
  Status stop() {
    if (!churn_) return {};
    Status status = churn_->stop();
    events += churn_->events();
    rate = churn_->per_second();
    churn_.reset();
    return status;
  }
  std::int64_t events = 0;
  double rate = 0;

 private:
  Rates rates_;
  std::optional<Churn> churn_;
};

}  // namespace

Result<Report> run_f4(const ScenarioOptions& options) {
  std::int64_t nodes = options.quick ? 40 : 5000;
  Rates rates;
  const auto read = read_filter_options(options, {{"nodes", &nodes, 2},
                                                  {"node-events", &rates.node_events},
                                                  {"pod-events", &rates.pod_events},
                                                  {"joins", &rates.joins}});
  if (!read) return tl::unexpected(read.error());
  FilterCase one;
  one.what = fmt::format("{} nodes, {} node and {} pod events/s, {} joins/s", nodes,
                         rates.node_events, rates.pod_events, rates.joins);
  one.cluster.nodes = nodes;
  one.cluster.device_pods = nodes * 4;
  one.load = plain_load(one.cluster, {});
  one.runs = 3;
  ChurnCase churn(rates);
  one.load.beside = [&churn](FilterStage& stage) { churn.start(stage); };
  one.load.end_beside = [&churn] { return churn.stop(); };
  one.targets = [](Row& row) { row.must(kP99, 2, 0.6); };
  Report report{.scenario = "F4",
                .setting = setting_text(*read, "pod: 1 card, 2000 MiB, 10 cores"),
                .rows = {}};
  if (auto status = measure_cases({one}, *read, report); !status)
    return tl::unexpected(status.error());
  report.rows.front().add("events_per_second", churn.rate);
  return report;
}

}  // namespace tessera::bench
