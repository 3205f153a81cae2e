/// The scenarios of `./dev bench NAME` (design/performance.md section 7): F1 to F4, E1 to E4, W1,
/// S1, Q1, M1. One file each, scenario_<id>.cc, one line in the table of scenarios.cc. Thread rule:
/// run one at a time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report.h"

namespace tessera::bench {

/// --name=value of the command line; every scenario says which it knows, any other is an error.
struct ScenarioOptions {
  bool quick = false;   ///< --quick: small sizes and few calls, to see that it runs; no targets
  std::string compare;  ///< --compare=URL: another extender, driven in turns with ours
  std::string program;  ///< --program=FILE: the measured tessera; "" = the one of this build tree
  std::vector<std::pair<std::string, std::string>> more;  ///< what the scenario reads itself
};

struct BenchScenario {
  std::string_view id, what;
  Result<Report> (*run)(const ScenarioOptions& options);
};
std::span<const BenchScenario> scenarios();

Result<Report> run_f1(const ScenarioOptions& options);
Result<Report> run_f2(const ScenarioOptions& options);
Result<Report> run_f3(const ScenarioOptions& options);
Result<Report> run_f4(const ScenarioOptions& options);
Result<Report> run_e1(const ScenarioOptions& options);
Result<Report> run_e2(const ScenarioOptions& options);
Result<Report> run_e3(const ScenarioOptions& options);
Result<Report> run_e4(const ScenarioOptions& options);
Result<Report> run_w1(const ScenarioOptions& options);
Result<Report> run_s1(const ScenarioOptions& options);
Result<Report> run_q1(const ScenarioOptions& options);
Result<Report> run_m1(const ScenarioOptions& options);

}  // namespace tessera::bench
