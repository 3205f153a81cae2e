// F1: filter by names. Rows differ in nodes, pods that run, which nodes are named, and whether the
// class of the pod is known. Two clusters in turns show what more pods cost.
//   --nodes=N --pods-per-node=P [--init-containers=I] [--sampled=1] [--fresh=1]: one row instead
//   --case=TEXT: rows with that text in their names
//   Case 185: --nodes=1000 --pods-per-node=8 --init-containers=3
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "filter_run.h"
#include "scenario.h"

namespace tessera::bench {
namespace {

constexpr double kMostGrowth = 1.1;
constexpr std::int64_t kFewCalls = 2000;

struct Shape {
  std::int64_t nodes = 1000, pods_per_node = 4;
  std::int64_t init_containers = 0, sampled = 0, fresh = 0;
  bool uneven = false;  ///< every other node has a pod more: who takes which tells the policy
};

std::string thousands(std::int64_t n) {
  return n < 1000 ? std::to_string(n) : fmt::format("{},{:03}", n / 1000, n % 1000);
}

FilterCase case_of(const Shape& shape) {
  FilterCase one;
  one.cluster.nodes = shape.nodes;
  one.cluster.device_pods =
      shape.nodes * shape.pods_per_node + (shape.uneven ? shape.nodes / 2 : 0);
  one.load = plain_load(one.cluster, {});
  one.load.bind_last = shape.init_containers == 0;
  one.load.sampled = shape.sampled != 0;
  one.one_class = shape.fresh == 0;
  if (shape.fresh != 0) {
    // Every call another amount of memory, over all runs of the server.
    const auto serial = std::make_shared<std::int64_t>(0);
    const auto memory = [](std::int64_t n) { return 1000 + n % 70'000; };
    one.load.pod = [serial, memory, plain = one.load.pod](std::string name, std::int64_t n) {
      sim::ScenarioPod pod = plain(std::move(name), n);
      pod.containers.front().limits[1].second = std::to_string(memory(++*serial));
      return pod;
    };
    one.load.share = [serial, memory](std::int64_t) {
      return sim::SyntheticShare{.memory = memory(*serial)};
    };
  }
  if (shape.init_containers > 0)
    one.load.pod = [plain = one.load.pod, more = shape.init_containers](std::string name,
                                                                        std::int64_t n) {
      sim::ScenarioPod pod = plain(std::move(name), n);
      auto init = pod.containers.front();
      init.kind = "init";
      pod.containers.insert(pod.containers.begin(), static_cast<std::size_t>(more), init);
      return pod;
    };
  one.what =
      fmt::format("{} nodes, {} pods, {}, {}", thousands(shape.nodes),
                  thousands(one.cluster.device_pods), shape.sampled != 0 ? "sampled" : "all names",
                  shape.fresh != 0 ? "class never seen" : "known class");
  if (shape.init_containers > 0)
    one.what += fmt::format(", {} init containers", shape.init_containers);
  return one;
}

FilterCase with(FilterCase one, std::optional<std::int64_t> runs, std::optional<std::int64_t> calls,
                std::function<void(Row&)> targets = {}) {
  one.runs = runs;
  one.calls = calls;
  one.targets = std::move(targets);
  return one;
}

std::vector<FilterCase> all_cases() {
  std::vector<FilterCase> cases;
  cases.push_back(
      with(case_of({}), {}, {}, [](Row& row) { row.must(kP50, 0.25, 0.1).must(kP99, 1); }));
  cases.push_back(with(case_of({.nodes = 5000}), 3, {},
                       [](Row& row) { row.must(kP50, 0.5).must(kP99, 2, 0.4); }));
  cases.push_back(
      with(case_of({.nodes = 5000, .fresh = 1}), 1, {}, [](Row& row) { row.must(kP99, 6, 2); }));
  for (const Shape& shape :
       {Shape{.nodes = 100}, Shape{.pods_per_node = 0}, Shape{.pods_per_node = 2},
        Shape{.pods_per_node = 10}, Shape{.sampled = 1}, Shape{.fresh = 1},
        Shape{.nodes = 5000, .pods_per_node = 10}, Shape{.nodes = 5000, .sampled = 1},
        Shape{.nodes = 10'000}})
    cases.push_back(with(case_of(shape), 1, kFewCalls));
  return cases;
}

/// Everything smaller, but one of each kind.
std::vector<FilterCase> quick_cases() {
  std::vector<FilterCase> cases;
  cases.push_back(case_of({.nodes = 40}));
  cases.push_back(case_of({.nodes = 250, .pods_per_node = 1, .sampled = 1}));
  cases.push_back(case_of({.nodes = 40, .fresh = 1}));
  cases.push_back(case_of({.nodes = 20, .init_containers = 2}));
  return cases;
}

/// A cluster with its server, for calls in turns.
struct Side {
  std::unique_ptr<FilterStage> stage;
  std::optional<FilterJudge> judge;
  Folder folder;
  Served served;
  std::unique_ptr<LoadClient> client;
};

Status start_side(const FilterCase& one, const FilterOptions& options, Side& side) {
  auto stage = FilterStage::make({.cluster = one.cluster});
  if (!stage) return tl::unexpected(stage.error());
  side.stage = std::move(*stage);
  auto judge = FilterJudge::make(*side.stage, one.load.pod("sample", 0));
  if (!judge) return tl::unexpected(judge.error());
  side.judge.emplace(std::move(*judge));
  auto served = serve(side.stage->kubeconfig(), options.program, side.folder, "log", {});
  if (!served) return tl::unexpected(served.error());
  side.served = std::move(*served);
  auto client = LoadClient::connect(side.served.port);
  if (!client) return tl::unexpected(client.error());
  side.client = std::move(*client);
  return {};
}

Result<Row> measure_growth(const FilterOptions& options, std::int64_t nodes) {
  const std::int64_t pods[] = {2, 10};
  Side sides[2];
  std::vector<FilterLane> lanes(2);
  FilterCase one;
  for (std::size_t k = 0; k < 2; ++k) {
    one = case_of({.nodes = nodes, .pods_per_node = pods[k]});
    one.cluster.node_prefix = kNodePrefix;
    if (auto status = start_side(one, options, sides[k]); !status)
      return tl::unexpected(status.error());
    lanes[k].stage = sides[k].stage.get();
    lanes[k].judge = &*sides[k].judge;
    lanes[k].client = sides[k].client.get();
  }
  FilterLoad load = one.load;
  load.calls = options.calls;
  load.warm_up = options.warm_up;
  load.pause = std::chrono::microseconds(options.pause_us);
  load.looks = options.quick ? 2 : load.looks;
  const auto figures = run_filters(lanes, load);
  if (!figures) return tl::unexpected(figures.error());
  Row row = row_of(fmt::format("{} nodes, P = 10N over P = 2N, in turns", thousands(nodes)),
                   figures->back());
  row.checked(figures->front().answers, "the same for 2N");
  row.add(kRatio, milliseconds(figures->back().times.percentile(50)) /
                      milliseconds(figures->front().times.percentile(50)));
  if (!options.quick) row.must(kRatio, kMostGrowth);
  return row;
}

}  // namespace

Result<Report> run_f1(const ScenarioOptions& options) {
  Shape shape;
  shape.nodes = 0;
  const auto read = read_filter_options(options, {{"nodes", &shape.nodes, 1},
                                                  {"pods-per-node", &shape.pods_per_node},
                                                  {"init-containers", &shape.init_containers},
                                                  {"sampled", &shape.sampled},
                                                  {"fresh", &shape.fresh}});
  if (!read) return tl::unexpected(read.error());
  Report report{.scenario = "F1",
                .setting = setting_text(*read, "pod: 1 card, 2000 MiB, 10 cores"),
                .rows = {}};
  const bool one_shape = shape.nodes > 0 || !read->compare.empty();
  if (shape.nodes == 0) shape.nodes = read->quick ? 40 : 1000;
  shape.uneven = !read->compare.empty();
  const auto cases = one_shape     ? std::vector<FilterCase>{case_of(shape)}
                     : read->quick ? quick_cases()
                                   : all_cases();
  if (auto status = measure_cases(cases, *read, report); !status)
    return tl::unexpected(status.error());
  if (one_shape || !read->only.empty()) return report;
  auto growth = measure_growth(*read, read->quick ? 20 : 1000);
  if (!growth) return tl::unexpected(growth.error());
  report.rows.push_back(std::move(*growth));
  return report;
}

}  // namespace tessera::bench
