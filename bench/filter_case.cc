#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "filter_run.h"
#include "other_extender.h"
#include "process_figures.h"
#include "scenario_arguments.h"

namespace tessera::bench {
namespace {

constexpr std::int64_t kHeapCalls = 200, kHeapWarmUp = 300;

/// What a case needs while it is measured, in the order in which it must begin.
struct Running {
  Folder folder;
  std::unique_ptr<FilterStage> stage;
  std::optional<FilterJudge> judge;
  Served served;
  std::unique_ptr<LoadClient> ours, other;
  std::string other_path;
  pid_t other_process = 0;  ///< 0 = unknown
};

double megabytes(std::int64_t kb) { return static_cast<double>(kb) * 1024 / 1e6; }

FilterLoad load_of(const FilterCase& filter_case, const FilterOptions& options) {
  FilterLoad load = filter_case.load;
  load.calls = std::min(filter_case.calls.value_or(options.calls), options.calls);
  load.warm_up = options.warm_up;
  load.pause = std::chrono::microseconds(options.pause_us);
  if (options.quick) load.looks = std::min<std::int64_t>(load.looks, 3);
  return load;
}

sim::SyntheticOptions cluster_of(const FilterCase& filter_case, const FilterOptions& options) {
  sim::SyntheticOptions cluster = filter_case.cluster;
  cluster.node_prefix = kNodePrefix;
  cluster.node_policy = options.node_policy;
  // A case about a policy of its own keeps it.
  if (cluster.device_policy == sim::SyntheticOptions{}.device_policy)
    cluster.device_policy = options.device_policy;
  return cluster;
}

Result<Served> start_server(const FilterCase& filter_case, const FilterOptions& options,
                            const Running& running, const std::string& log,
                            const std::vector<std::string>& environment = {}) {
  std::vector<std::string> flags = {
      "--node-scheduler-policy=" + options.node_policy,
      "--gpu-scheduler-policy=" + running.stage->cluster().options().device_policy};
  flags.insert(flags.end(), filter_case.flags.begin(), filter_case.flags.end());
  return serve(running.stage->kubeconfig(), options.program, running.folder, log, flags,
               environment);
}

Status wait_for_other(const FilterOptions& options, Running& running) {
  if (options.compare.empty()) return {};
  const auto url = parse_extender_url(options.compare);
  if (!url) return tl::unexpected(url.error());
  auto other = wait_for_extender(*running.stage, *url, options.kubeconfig_out,
                                 std::chrono::seconds(options.patience_s));
  if (!other) return tl::unexpected(other.error());
  running.other = std::move(*other);
  running.other_path = url->path + "/filter";
  const pid_t process = process_listening_on(url->port);
  running.other_process = process == getpid() ? 0 : process;
  return {};
}

Status begin(const FilterCase& filter_case, const FilterOptions& options, Running& running) {
  auto stage = FilterStage::make({.cluster = cluster_of(filter_case, options),
                                  .api_port = options.api_port,
                                  .kubeconfig_out = options.kubeconfig_out,
                                  .whole_nodes = filter_case.whole_nodes});
  if (!stage) return tl::unexpected(stage.error());
  running.stage = std::move(*stage);
  std::optional<sim::ScenarioPod> sample;
  if (filter_case.one_class) sample = filter_case.load.pod("sample", 0);
  auto judge = FilterJudge::make(*running.stage, sample);
  if (!judge) return tl::unexpected(judge.error());
  running.judge.emplace(std::move(*judge));
  // The other one first: a person takes time to start it, and our connection does not wait idly.
  if (auto status = wait_for_other(options, running); !status) return status;
  auto served = start_server(filter_case, options, running, "log");
  if (!served) return tl::unexpected(served.error());
  running.served = std::move(*served);
  auto client = LoadClient::connect(running.served.port);
  if (!client) return tl::unexpected(client.error());
  running.ours = std::move(*client);
  return {};
}

std::vector<FilterLane> lanes_of(Running& running) {
  FilterLane ours;
  ours.stage = running.stage.get();
  ours.judge = &*running.judge;
  ours.client = running.ours.get();
  ours.process = running.served.child->id();
  std::vector<FilterLane> lanes{ours};
  if (running.other == nullptr) return lanes;
  FilterLane other = ours;
  other.client = running.other.get();
  other.path = running.other_path;
  other.process = running.other_process;
  other.exact = false;  // by its own policy and in its own words
  lanes.push_back(other);
  return lanes;
}

/// In a process of its own; what the warm-up asks for does not count.
Result<double> heap_requests(const FilterCase& filter_case, const FilterOptions& options,
                             Running& running) {
  const HeapCounter counter(running.folder);
  const auto served =
      start_server(filter_case, options, running, "log-heap", counter.environment());
  if (!served) return tl::unexpected(served.error());
  auto client = LoadClient::connect(served->port);
  if (!client) return tl::unexpected(client.error());
  if (counter.count() == 0)
    return fail(Code::kInternal, "the library that counts heap requests was not loaded");
  FilterLane lane = lanes_of(running).front();
  lane.client = client->get();
  lane.heap = &counter;
  lane.process = 0;
  FilterLoad load = load_of(filter_case, options);
  load.calls = std::min(load.calls, kHeapCalls);
  load.warm_up = std::min(load.warm_up, kHeapWarmUp);
  load.looks = 0;
  load.bind_last = false;
  const auto figures = run_filters({&lane, 1}, load);
  if (!figures) return tl::unexpected(figures.error());
  return static_cast<double>(figures->front().heap_requests) / static_cast<double>(load.calls);
}

/// Where the time of a call goes inside the server, by its own metrics: means over all calls that
/// it has decided.
Status add_phases(Row& row, const Served& served) {
  auto client = LoadClient::connect(served.metrics_port);
  if (!client) return tl::unexpected(client.error());
  const auto page = (*client)->exchange(get("/metrics"));
  if (!page) return tl::unexpected(page.error());
  for (const char* phase : {"read", "wait", "names", "decide", "hold", "encode", "send"}) {
    const auto figure = [&](const char* of) {
      return metric(page->body,
                    fmt::format("tessera_filter_phase_seconds_{}{{phase=\"{}\"}}", of, phase));
    };
    if (const double count = figure("count"); count > 0)
      row.add(fmt::format("{}_us", phase), figure("sum") / count * 1e6);
  }
  return {};
}

double load_ratio(const FilterFigures& ours, const FilterFigures& other) {
  return static_cast<double>(other.load_sum) /
         static_cast<double>(std::max<std::int64_t>(ours.load_sum, 1));
}

Status check_same_policy(const FilterOptions& options, const std::vector<FilterFigures>& lanes) {
  if (options.same_policy == 0 || lanes.size() < 2 || lanes[0].load_sum == lanes[1].load_sum)
    return {};
  return fail(Code::kInternal,
              fmt::format("WRONG ANSWER: the nodes that {} takes are {:.3f} times as full as ours, "
                          "by the same policy",
                          options.compare, load_ratio(lanes[0], lanes[1])));
}

/// Each lane's own best run: the choice favours nobody.
void keep_best(std::vector<FilterFigures>& best, std::vector<FilterFigures> run) {
  if (best.empty()) {
    best = std::move(run);
    return;
  }
  for (std::size_t k = 0; k < run.size(); ++k)
    if (run[k].times.percentile(99) < best[k].times.percentile(99)) best[k] = std::move(run[k]);
}

/// What the other extender took in the same turns, and the ratios to what we took.
Row other_row(const std::string& what, const FilterOptions& options, const Running& running,
              const std::vector<FilterFigures>& best, double our_peak_mb) {
  const FilterFigures &ours = best[0], &other = best[1];
  Row row = row_of(fmt::format("{}, {}", what, options.compare), other);
  const auto ratio = [&](double percent) {
    return milliseconds(other.times.percentile(percent)) /
           milliseconds(ours.times.percentile(percent));
  };
  row.add("p50_ratio", ratio(50)).add("p99_ratio", ratio(99));
  row.add("load_ratio", load_ratio(ours, other));
  if (running.other_process == 0) return row;
  row.add("cpu_ratio", static_cast<double>(other.processor.count()) /
                           static_cast<double>(std::max<std::int64_t>(ours.processor.count(), 1)));
  const double peak_mb = megabytes(memory_kb(running.other_process, "VmHWM"));
  row.add(kPeakRss, peak_mb).add("rss_ratio", peak_mb / our_peak_mb);
  return row;
}

}  // namespace

double milliseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

Row row_of(const std::string& what, const FilterFigures& figures) {
  Row row(what);
  row.add(kP50, milliseconds(figures.times.percentile(50)));
  row.add(kP99, milliseconds(figures.times.percentile(99)));
  const auto calls = static_cast<double>(figures.times.count());
  if (figures.processor.count() > 0)
    row.add(kCpu, static_cast<double>(figures.processor.count()) / 1e3 / calls);
  row.checked(figures.answers,
              figures.all_that_fit
                  ? "the nodes of the call with room in the books, all of them and no other"
                  : "one node of the call with room in the books, or a reason for each");
  if (figures.exact > 0)
    row.checked(0, fmt::format("{} of them the plain decision's own", figures.exact));
  return row;
}

void add_floor(Row& row, const FilterFigures& figures, const Floor& floor) {
  row.add(kFloorP50, milliseconds(floor.same.percentile(50)));
  row.add("floor_p99_ms", milliseconds(floor.same.percentile(99)));
  row.add("empty_p50_ms", milliseconds(floor.empty.percentile(50)));
  row.add("x_floor", milliseconds(figures.times.percentile(50)) /
                         std::max(milliseconds(floor.same.percentile(50)), 1e-6));
  row.add("memcpy_ms", floor.copy_ms).add("parse_ms", floor.parse_ms);
  row.add("body_kb", static_cast<double>(figures.body.size()) / 1e3);
}

Result<FilterOptions> read_filter_options(const ScenarioOptions& options,
                                          std::initializer_list<NumberOption> more) {
  FilterOptions read;
  read.quick = options.quick;
  read.compare = options.compare;
  read.program = options.program;
  if (options.quick) read.runs = 1, read.calls = 40, read.warm_up = 10;
  std::vector<NumberOption> numbers = {
      {"runs", &read.runs, 1},           {"calls", &read.calls, 1},
      {"warm-up", &read.warm_up},        {"pause-us", &read.pause_us},
      {"api-port", &read.api_port},      {"patience-s", &read.patience_s, 1},
      {"same-policy", &read.same_policy}};
  numbers.insert(numbers.end(), more.begin(), more.end());
  const TextOption texts[] = {{"kubeconfig-out", &read.kubeconfig_out},
                              {"node-policy", &read.node_policy},
                              {"device-policy", &read.device_policy},
                              {"case", &read.only}};
  if (auto status = read_more(options, numbers, texts); !status)
    return tl::unexpected(status.error());
  if (!read.compare.empty()) {
    if (auto url = parse_extender_url(read.compare); !url) return tl::unexpected(url.error());
    if (read.kubeconfig_out.empty())
      return fail(
          Code::kInvalid,
          "--compare needs --kubeconfig-out=FILE: the other extender must watch the cluster "
          "of the bench");
  }
  return read;
}

std::string setting_text(const FilterOptions& options, std::string_view pod) {
  return fmt::format(
      "policies: nodes {}, devices {}; {}; cards of 81920 MiB, 8 a node; no agents; best of {} "
      "runs "
      "of {} calls after {}, {} us between a pod and its call; processor time with the pod's watch "
      "events and its Event",
      options.node_policy, options.device_policy, pod, options.runs, options.calls, options.warm_up,
      options.pause_us);
}

Result<std::vector<Row>> measure_case(const FilterCase& filter_case, const FilterOptions& options) {
  fmt::print(stderr, "{} ...\n", filter_case.what);
  Running running;
  if (auto status = begin(filter_case, options, running); !status)
    return tl::unexpected(status.error());
  const double idle_mb = megabytes(running.served.child->memory_kb("VmRSS"));
  const FilterLoad load = load_of(filter_case, options);
  const auto lanes = lanes_of(running);
  std::vector<FilterFigures> best;
  const std::int64_t runs = std::min(filter_case.runs.value_or(options.runs), options.runs);
  for (std::int64_t i = 0; i < runs; ++i) {
    auto figures = run_filters(lanes, load);
    if (!figures) return tl::unexpected(figures.error());
    if (auto same = check_same_policy(options, *figures); !same)
      return tl::unexpected(same.error());
    keep_best(best, std::move(*figures));
  }
  const double peak_mb = megabytes(running.served.child->memory_kb("VmHWM"));
  const auto floor = measure_floor(best.front().body, best.front().answer_size,
                                   std::min<std::int64_t>(load.calls, 2000), load.pause);
  if (!floor) return tl::unexpected(floor.error());
  const auto heap = heap_requests(filter_case, options, running);
  if (!heap) return tl::unexpected(heap.error());
  Row row = row_of(filter_case.what, best.front());
  add_floor(row, best.front(), *floor);
  row.add(kAllocations, *heap).add(kPeakRss, peak_mb);
  if (auto status = add_phases(row, running.served); !status) return tl::unexpected(status.error());
  if (filter_case.whole_nodes)
    row.add("peak_x_body",
            (peak_mb - idle_mb) * 1e6 / static_cast<double>(best.front().body.size()));
  if (filter_case.targets && !options.quick) filter_case.targets(row);
  std::vector<Row> rows{std::move(row)};
  if (best.size() > 1) rows.push_back(other_row(filter_case.what, options, running, best, peak_mb));
  return rows;
}

Status measure_cases(const std::vector<FilterCase>& cases, const FilterOptions& options,
                     Report& report) {
  std::vector<const FilterCase*> wanted;
  std::string names;
  for (const FilterCase& one : cases) {
    names += "\n  " + one.what;
    if (one.what.find(options.only) != std::string::npos) wanted.push_back(&one);
  }
  if (wanted.empty())
    return fail(Code::kInvalid, fmt::format("--case {}: there are{}", options.only, names));
  if (!options.compare.empty()) wanted.resize(1);
  for (const FilterCase* one : wanted) {
    auto rows = measure_case(*one, options);
    if (!rows) return fail(rows.error().code, fmt::format("{}: {}", one->what, rows.error().what));
    for (Row& row : *rows) report.rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace tessera::bench
