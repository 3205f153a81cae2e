// F3: filter, what is hard to decide. 1,000 nodes; every answer is held against the plain decision.
//   --case=TEXT: rows with that text in their names
#include <fmt/format.h>

#include <utility>

#include "filter_run.h"
#include "scenario.h"
#include "sim/scenario_cards.h"

namespace tessera::bench {
namespace {

constexpr std::int64_t kFewCalls = 2000;
constexpr std::int64_t kWholeCard = 81'920, kSlice = 24'576;

FilterCase hard(std::string what, std::int64_t nodes, std::int64_t pods_per_node,
                sim::SyntheticShare share) {
  FilterCase one;
  one.what = fmt::format("{}, {} nodes", what, nodes);
  one.cluster.nodes = nodes;
  one.cluster.device_pods = nodes * pods_per_node;
  one.load = plain_load(one.cluster, share);
  one.runs = 1;
  one.calls = kFewCalls;
  return one;
}

/// The pods of the case, changed.
void change_pods(FilterCase& one, std::function<void(sim::ScenarioPod&)> change) {
  one.load.pod = [plain = one.load.pod, change = std::move(change)](std::string name,
                                                                    std::int64_t n) {
    sim::ScenarioPod pod = plain(std::move(name), n);
    change(pod);
    return pod;
  };
}

FilterCase nothing_fits(std::int64_t nodes) {
  return hard("nothing fits", nodes, 4, {.memory = kWholeCard + 8'000});
}

FilterCase full_cluster(std::int64_t nodes) {
  // A pod on every card, and none is left for one that wants eight alone.
  return hard("8 whole cards, full cluster", nodes, 8,
              {.cards = 8, .memory = kWholeCard, .cores = 100});
}

FilterCase bound_and_linked(std::int64_t nodes) {
  FilterCase one = hard("4 cards of one NUMA node by links", nodes, 4, {.cards = 4});
  one.cluster.cards.front().linked = true;
  one.cluster.device_policy = "topology-aware";
  change_pods(one, [](sim::ScenarioPod& pod) {
    pod.annotations.emplace_back("nvidia.com/numa-bind", "true");
  });
  return one;
}

FilterCase instances(std::int64_t nodes) {
  FilterCase one = hard("MIG", nodes, 0, {.memory = 9'000, .cores = 0});
  one.cluster.cards.front().profiles = sim::known_profiles("A100-80GB");
  one.cluster.cards.front().model = "NVIDIA-A100-SXM4-80GB";
  one.cluster.cards.front().slots = 7;
  return one;
}

FilterCase two_vendors(std::int64_t nodes) {
  FilterCase one = hard("two vendors", nodes, 4, {});
  one.cluster.cards.push_back({.vendor = sim::xpu_agent(),
                               .model = "XPU",
                               .id_prefix = "XPU-",
                               .count = 4,
                               .memory = 98'304,
                               .slots = 4});
  one.cluster.all_kinds_on_each = true;
  change_pods(one, [](sim::ScenarioPod& pod) {
    pod.containers.push_back(
        {"app",
         {{"kunlunxin.com/vxpu", "1"}, {"kunlunxin.com/vxpu-memory", std::to_string(kSlice)}}});
  });
  return one;
}

FilterCase init_containers(std::int64_t nodes) {
  FilterCase one = hard("3 init containers and 2 others", nodes, 8, {});
  change_pods(one, [](sim::ScenarioPod& pod) {
    const auto app = pod.containers.front();
    auto init = app;
    init.kind = "init";
    pod.containers = {init, init, init, app, app};
  });
  return one;
}

FilterCase ids(std::int64_t nodes) {
  FilterCase one = hard("ids of 16 cards", nodes, 4, {});
  std::string list;
  for (std::int64_t k = 0; k < 2; ++k) {
    for (const auto& card :
         sim::synthetic_cards(one.cluster.cards.front(), nodes / 2 + k * nodes / 4))
      list += (list.empty() ? "" : ",") + card.id;
  }
  change_pods(one, [list](sim::ScenarioPod& pod) {
    pod.annotations.emplace_back("nvidia.com/use-gpuuuid", list);
  });
  return one;
}

}  // namespace

Result<Report> run_f3(const ScenarioOptions& options) {
  const auto read = read_filter_options(options);
  if (!read) return tl::unexpected(read.error());
  Report report{
      .scenario = "F3",
      .setting = setting_text(*read, "pod: as the row says, else 1 card, 2000 MiB, 10 cores"),
      .rows = {}};
  const std::int64_t nodes = read->quick ? 24 : 1000;
  std::vector<FilterCase> cases;
  cases.push_back(nothing_fits(nodes));
  if (!read->quick) {
    cases.push_back(nothing_fits(5000));
    cases.back().calls = 5000;
    cases.back().targets = [](Row& row) { row.must(kP99, 6, 2); };
  }
  for (const auto make :
       {full_cluster, bound_and_linked, instances, two_vendors, init_containers, ids})
    cases.push_back(make(nodes));
  if (auto status = measure_cases(cases, *read, report); !status)
    return tl::unexpected(status.error());
  return report;
}

}  // namespace tessera::bench
