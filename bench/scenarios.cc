// The scenarios of `./dev bench NAME`.
//   scenarios                              lists them
//   scenarios F1 [--quick] [--json=FILE] [--compare=URL] [--program=FILE] [--name=value...]
// Exit code 0: everything was measured and every answer was right, also when a target was missed
// (figures gate nothing; table and JSON mark it). 1: an answer was wrong or the run failed. 2: the
// command line.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "report.h"
#include "scenario.h"
#include "scenario_arguments.h"

namespace tessera::bench {

std::span<const BenchScenario> scenarios() {
  static constexpr BenchScenario kAll[] = {
      {"F1", "filter by names: nodes, pods, sampled candidates, classes never seen", run_f1},
      {"F2", "filter with whole nodes in the body", run_f2},
      {"F3", "filter, hard cases: nothing fits, full cluster, NUMA, MIG, two vendors, ids", run_f3},
      {"F4", "filter while nodes and pods change", run_f4},
      {"E1", "filter to bound, 1 / 8 / 64 pods in flight", run_e1},
      {"E2", "a burst of equal pods, then mixed jobs", run_e2},
      {"E3", "many pods onto one node", run_e3},
      {"E4", "the defaults of the API client", run_e4},
      {"W1", "webhook over TLS", run_w1},
      {"S1", "from start to ready", run_s1},
      {"Q1", "the pods of a real cluster, replayed", run_q1},
      {"M1", "memory after a long time of change", run_m1},
  };
  return kAll;
}

namespace {

int complain(int code, const std::string& what) {
  fmt::print(stderr, "scenarios: {}\n", what);
  return code;
}

int run(const Arguments& arguments) {
  if (arguments.scenario.empty()) {
    fmt::print("{}", list_of(scenarios()));
    return 0;
  }
  const BenchScenario* scenario = find_scenario(scenarios(), arguments.scenario);
  if (scenario == nullptr)
    return complain(
        2, fmt::format("no scenario {}; there are:\n{}", arguments.scenario, list_of(scenarios())));
  const auto report = scenario->run(arguments.options);
  if (!report) return complain(1, fmt::format("{}: {}", scenario->id, report.error().what));
  fmt::print("{}", report_table(*report));
  if (!arguments.json_file.empty()) {
    std::ofstream file(arguments.json_file);
    file << report_json(*report) << std::flush;
    if (!file) return complain(1, fmt::format("--json {}: cannot be written", arguments.json_file));
  }
  return all_checked(*report) ? 0 : complain(1, "a row was not checked");
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  const auto arguments = parse_arguments(std::vector<std::string>(argv + 1, argv + argc));
  return arguments ? run(*arguments) : complain(2, arguments.error().what);
}
