/// What a scenario of `./dev bench` found: one row for each thing that was measured, printed as a
/// table and kept as JSON. Thread rule: plain values.
///   Row row("1,000 nodes, 4,000 pods"); row.add(kP50, 0.21).add(kP99, 0.33).must(kP99, 1.0);
///   row.checked(5000, "each pod on a node with room"); report.rows.push_back(std::move(row));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::bench {

/// A figure's name is its key in the JSON; the unit is part of it.
inline constexpr std::string_view kP50 = "p50_ms", kP99 = "p99_ms", kMax = "max_ms";
inline constexpr std::string_view kFloorP50 = "floor_p50_ms";  ///< the same bytes, no decision
inline constexpr std::string_view kCpu = "cpu_us_per_call";    ///< of the measured process
inline constexpr std::string_view kAllocations = "allocations_per_call";  ///< likewise
inline constexpr std::string_view kApiCalls = "api_calls_per_pod";
inline constexpr std::string_view kPeakRss = "peak_rss_mb";  ///< of the measured process, MB = 10^6
inline constexpr std::string_view kRate = "per_second";
inline constexpr std::string_view kSeconds = "seconds";
inline constexpr std::string_view kRatio = "ratio";

struct Figure {
  std::string name;
  double value = 0;
  std::optional<double> must, aim;  ///< of the target: at most, or at least where `more_is_better`
  bool more_is_better = false;
  bool missed() const;  ///< the must
};

class Row {
 public:
  explicit Row(std::string what) : what_(std::move(what)) {}
  Row& add(std::string_view name, double value);
  /// Of a figure that was added: at most so much.
  Row& must(std::string_view name, double at_most, std::optional<double> aim = {});
  Row& must_reach(std::string_view name, double at_least, std::optional<double> aim = {});
  /// How many answers were looked at, and what makes them right. A row without it does not print:
  /// a fast wrong answer is worth nothing.
  Row& checked(std::int64_t answers, std::string what);

  const std::string& what() const { return what_; }
  const std::vector<Figure>& figures() const { return figures_; }
  std::int64_t answers_checked() const { return answers_; }
  const std::string& check() const { return check_; }

 private:
  Row& target(std::string_view name, double limit, std::optional<double> aim, bool more_is_better);

  std::string what_;
  std::vector<Figure> figures_;
  std::int64_t answers_ = 0;
  std::string check_;
};

struct Report {
  std::string scenario, setting;  ///< "F1"; policy, pod, card, agents, calls
  std::vector<Row> rows;
};

/// False when a row was not checked, or there is none.
bool all_checked(const Report& report);

/// Columns are all figures that some row has; a missed target is marked. A row that was not checked
/// is an error of the bench, told in its place.
std::string report_table(const Report& report);
/// One line of JSON: {"scenario":…,"setting":…,"machine":{"cores":…},"rows":[{"what":…,figures…,
/// "must":{…},"checked":…}]}
std::string report_json(const Report& report);

}  // namespace tessera::bench
