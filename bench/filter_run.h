/// Filter calls one after the other, to one extender or to several in turns, and what they took.
/// Thread rule: one owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "filter_judge.h"
#include "filter_stage.h"
#include "floor.h"
#include "heap_counter.h"
#include "report.h"
#include "scenario.h"
#include "scenario_arguments.h"
#include "stage.h"

namespace tessera::bench {

/// Node names as long as those of real machines: 1,000 of them are a body of 44 KB.
inline constexpr std::string_view kNodePrefix = "accelerated-pool-a.zone-1.example-";

/// An extender with the cluster that it watches.
struct FilterLane {
  FilterStage* stage = nullptr;
  const FilterJudge* judge = nullptr;
  LoadClient* client = nullptr;
  std::string path = "/filter";
  pid_t process = 0;  ///< whose processor time is told; 0 = unknown
  const HeapCounter* heap = nullptr;
  bool exact = true;  ///< it decides as the plain oracle does
};

struct FilterLoad {
  /// What the pod of a call asks for.
  std::function<sim::ScenarioPod(std::string name, std::int64_t serial)> pod;
  /// Its share of the first kind of cards, where the judge needs it.
  std::function<sim::SyntheticShare(std::int64_t serial)> share;
  bool sampled = false;
  std::int64_t calls = 5000, warm_up = 500;
  std::chrono::microseconds pause{1000};  ///< between a pod and its call: the watches see it
  bool bind_last = false;                 ///< the last pod is bound, and its cards are looked at
  std::int64_t looks = 20;  ///< calls that are held against the plain decision, not timed
  /// What goes on beside the calls; it has ended, and nothing of it is left, when the looks begin.
  std::function<void(FilterStage&)> beside;
  std::function<Status()> end_beside;
  bool all_that_fit = false;  ///< the answer names all nodes that fit, and decides nothing
  bool leave_out = true;      ///< every 16th call leaves out the node of the call before it
};

struct FilterFigures {
  Latencies times;
  std::chrono::nanoseconds processor{0};  ///< of the process, over all timed calls
  std::uint64_t heap_requests = 0;        ///< between sending and answer
  std::int64_t answers = 0, exact = 0;    ///< that were looked at
  std::int64_t load_sum = 0;              ///< of the nodes that timed answers name, per mille
  bool all_that_fit = false;              ///< what was looked for in the answers
  std::string body;                       ///< of the last call
  std::size_t answer_size = 0;
};

/// One call to each lane in turns; the order changes with every call. Parallel to the lanes.
/// Lanes with the same stage get a pod each, one gone before the next comes.
Result<std::vector<FilterFigures>> run_filters(std::span<const FilterLane> lanes,
                                               const FilterLoad& load);

/// The options that F1 to F4 have in common.
struct FilterOptions {
  std::int64_t runs = 5, calls = 5000, warm_up = 500, pause_us = 1000, api_port = 0;
  std::int64_t patience_s = 600;  ///< with the other extender's start
  std::int64_t same_policy = 0;   ///< the other extender must take nodes as full as ours
  std::string kubeconfig_out, node_policy = "binpack", device_policy = "spread";
  std::string only;  ///< of the scenario's cases: those with this text in their names
  bool quick = false;
  std::string compare, program;
};
/// Smaller with --quick. `more`: numbers of the scenario itself.
Result<FilterOptions> read_filter_options(const ScenarioOptions& options,
                                          std::initializer_list<NumberOption> more = {});

/// A measured situation: the cluster, what is asked, the targets.
struct FilterCase {
  std::string what;
  sim::SyntheticOptions cluster;
  FilterLoad load;
  bool one_class = true;  ///< all pods ask for the same
  bool whole_nodes = false;
  std::vector<std::string> flags = {};                ///< of the server
  std::optional<std::int64_t> runs = {}, calls = {};  ///< fewer than the options say
  std::function<void(Row&)> targets = {};             ///< not with --quick
};
/// Starts everything, takes the best of some runs, and a pass of its own for the heap.
Result<std::vector<Row>> measure_case(const FilterCase& filter_case, const FilterOptions& options);

/// All of them, or those that the options name; beside another extender one alone, by default the
/// first: it watches one cluster.
Status measure_cases(const std::vector<FilterCase>& cases, const FilterOptions& options,
                     Report& report);

/// One row of it.
Row row_of(const std::string& what, const FilterFigures& figures);
void add_floor(Row& row, const FilterFigures& figures, const Floor& floor);
double milliseconds(Nanoseconds time);
std::string setting_text(const FilterOptions& options, std::string_view pod);

/// A pod with one container that asks for a share of the first kind of cards, always the same.
FilterLoad plain_load(const sim::SyntheticOptions& cluster, sim::SyntheticShare share);

}  // namespace tessera::bench
