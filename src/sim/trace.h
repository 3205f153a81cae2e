/// Pod lists in the openb CSV form (tests/data/README.md), and how the demo replays them. Thread
/// rule: pure functions.
///   Result<std::vector<TracePod>> pods = parse_trace(builtin_trace(), "built-in list");
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::sim {

struct TracePod {
  std::string name;
  std::int64_t cpu_milli = 0, memory_mib = 0;
  std::int64_t cards = 0;       ///< 0 = a pod without devices
  std::int64_t card_milli = 0;  ///< of each card; below 1000 only with one card
  std::string models;           ///< "V100M16|V100M32", empty = any
  std::int64_t created_s = 0, deleted_s = 0;
};

/// Columns are found by their header; those that are not used may be missing. Errors name file,
/// line, column and value.
Result<std::vector<TracePod>> parse_trace(std::string_view csv, std::string_view file);
std::string_view builtin_trace();

struct ReplayPod {
  std::string name;
  std::int64_t cards = 0;
  std::int64_t percent = 0;  ///< of each card's memory and cores
  std::chrono::milliseconds run_for{0};
};
struct ReplayPlan {
  double pods_per_second = 30;
  double cards = 160;  ///< of the cluster
  double load = 1;     ///< share of the cards that shall be in use once the cluster has filled
};
/// Device pods in order of arrival. How long pods run differs by five orders of magnitude in the
/// trace; the order stays, the range is compressed so that pods come and go while one watches and
/// the wanted share of the cards is in use.
std::vector<ReplayPod> plan_replay(std::vector<TracePod> pods, const ReplayPlan& plan);

}  // namespace tessera::sim
