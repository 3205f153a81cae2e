// F2: filter with whole nodes in the body, as kube-scheduler sends them without nodeCacheCapable.
// By default such a call is a simulation that names all nodes that fit; with --nodes-form=live it
// is a decision. Nodes of 14.5 KB each; what the server needs at most for it is counted from its
// idle state on.
//   --case=TEXT: rows with that text in their names
#include <fmt/format.h>

#include <utility>

#include "filter_run.h"
#include "scenario.h"

namespace tessera::bench {
namespace {

constexpr double kMostMemory = 2.5;  // times the body

enum class Form { kSimulate, kLive };

FilterCase case_of(std::int64_t nodes, Form form, std::int64_t runs, std::int64_t calls) {
  FilterCase one;
  const bool live = form == Form::kLive;
  one.what = fmt::format("{} whole nodes, {}", nodes, live ? "decided" : "all that fit");
  one.cluster.nodes = nodes;
  one.cluster.device_pods = nodes * 4;
  one.cluster.real_size = true;
  one.load = plain_load(one.cluster, {});
  one.load.all_that_fit = !live;
  one.load.bind_last = live;
  one.load.looks = live ? 3 : 0;
  one.whole_nodes = true;
  one.flags = {live ? "--nodes-form=live" : "--nodes-form=simulate"};
  one.runs = runs;
  one.calls = calls;
  return one;
}

/// The cards of every other node are too small.
FilterCase half_fit(std::int64_t nodes, std::int64_t runs, std::int64_t calls) {
  FilterCase one = case_of(nodes, Form::kSimulate, runs, calls);
  one.what += ", half of them";
  one.cluster.cards.push_back({.id_prefix = "GPU-small-", .memory = 1'000});
  return one;
}

}  // namespace

Result<Report> run_f2(const ScenarioOptions& options) {
  auto read = read_filter_options(options);
  if (!read) return tl::unexpected(read.error());
  Report report{.scenario = "F2",
                .setting = setting_text(*read,
                                        "pod: 1 card, 2000 MiB, 10 cores, 2.4 KB; nodes of "
                                        "14.5 KB; fewer calls with more nodes"),
                .rows = {}};
  std::vector<FilterCase> cases;
  if (read->quick) {
    cases.push_back(case_of(30, Form::kLive, 1, 20));
    cases.push_back(half_fit(30, 1, 20));
  } else {
    cases.push_back(case_of(1000, Form::kSimulate, 3, 300));
    cases.back().targets = [](Row& row) {
      row.must(kP50, 40, 12).must("peak_x_body", kMostMemory);
    };
    cases.push_back(case_of(50, Form::kSimulate, 3, 5000));
    cases.push_back(case_of(500, Form::kSimulate, 1, 500));
    cases.push_back(case_of(5000, Form::kSimulate, 1, 60));
    cases.back().targets = [](Row& row) { row.must("peak_x_body", kMostMemory); };
    cases.push_back(half_fit(1000, 1, 300));
    cases.push_back(case_of(1000, Form::kLive, 1, 300));
    cases.back().targets = [](Row& row) {
      row.must(kP50, 40, 12).must("peak_x_body", kMostMemory);
    };
    // Each leaves memory behind that the next may use: more calls change nothing.
    read->warm_up = std::min<std::int64_t>(read->warm_up, 50);
  }
  if (auto status = measure_cases(cases, *read, report); !status)
    return tl::unexpected(status.error());
  return report;
}

}  // namespace tessera::bench
