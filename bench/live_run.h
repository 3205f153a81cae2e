/// One cluster, one scheduler on it, and rounds of pods that all must be bound: what the scenarios
/// E1 to E4 have in common. Thread rule: one owner.
///   auto run = LiveRun::start({.cluster = {.nodes = 1000}}, options);
///   auto row = (*run)->round({.what = "64 in flight", .in_flight = 64, .asks = …});
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "child_process.h"
#include "closed_loop.h"
#include "live_cluster.h"
#include "live_pods.h"
#include "report.h"
#include "scenario.h"
#include "stage.h"

namespace tessera::bench {

inline constexpr std::string_view kCpuPerPod = "cpu_us_per_pod";  ///< of the measured process
inline constexpr std::string_view kApiMedian = "api_calls_median";
inline constexpr std::string_view kFailedBinds = "failed_binds", kRefused = "refused_filters";
inline constexpr std::string_view kFilterP50 = "filter_p50_ms", kFilterP99 = "filter_p99_ms";

struct LiveRunOptions {
  LiveClusterOptions cluster;
  std::vector<std::string> flags;        ///< of the scheduler
  std::chrono::milliseconds latency{2};  ///< of each API call
};

struct Round {
  std::string what;
  std::size_t in_flight = 1;
  std::vector<PodAsk> asks;
  PodPolicies policies = {};
};

/// The API client's limits out of the way.
std::vector<std::string> unlimited();

class LiveRun {
 public:
  static Result<std::unique_ptr<LiveRun>> start(const LiveRunOptions& options,
                                                const std::string& program);
  /// The pods are created, then driven and timed, then every placement of this round and of those
  /// before is checked. The floor is two API calls, one after the other.
  Result<Row> round(const Round& round);

 private:
  LiveRun() = default;
  Result<double> two_calls_ms();
  Status check(const Round& round);
  void fill(Row& row, const ClosedLoopResult& result, const ApiCalls::Figures& calls,
            double cpu_seconds) const;

  LiveRunOptions options_;
  Folder folder_;
  std::unique_ptr<LiveCluster> cluster_;
  Served served_;
  std::vector<LivePod> pods_;
  std::map<std::string, std::string> nodes_;  ///< by pod
  std::int64_t rounds_ = 0;
};

}  // namespace tessera::bench
