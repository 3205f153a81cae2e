/// Drives pods through an extender as kube-scheduler does: one filter at a time, binds beside each
/// other, a pod that was refused or not bound is tried again after a pause. Thread rule: one owner;
/// run() blocks.
///   auto result = run_closed_loop({.port = port, .in_flight = 64, .names = names}, pods);
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "http_load.h"
#include "live_pods.h"

namespace tessera::bench {

inline constexpr std::chrono::seconds kLoopPatience{300};

struct ClosedLoopOptions {
  std::uint16_t port = 0;          ///< of the extender
  std::size_t in_flight = 1;       ///< pods between the start of their filter and the end of bind
  std::vector<std::string> names;  ///< of the nodes, all in every filter call
  std::chrono::milliseconds patience = kLoopPatience;  ///< until all pods are bound
};

struct ClosedLoopResult {
  Latencies filter, bound;  ///< of the filter call; from its start to the answer of the bind
  double seconds = 0;       ///< from the first filter to the last bind
  std::uint64_t refused = 0, failed_binds = 0;
  std::string last_problem;
  std::map<std::string, std::string> nodes;  ///< by pod
};

/// Errors: a connection broke, an answer names a node that it was not asked about, or not all pods
/// were bound in time.
Result<ClosedLoopResult> run_closed_loop(const ClosedLoopOptions& options,
                                         const std::vector<LivePod>& pods);

}  // namespace tessera::bench
