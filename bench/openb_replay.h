/// One replay: pods come one at a time, nothing leaves, a pod that fits nowhere is dropped; its
/// request counts as arrived all the same. kube-scheduler is played by two rules: a machine without
/// the CPU or memory is no candidate, and a pod without devices goes where CPU and memory are the
/// least and the most evenly used. Source: spec/placement-quality.md section 5. Thread rule: one
/// owner; run() once.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/candidates.h"
#include "core/place_index.h"
#include "fragmentation.h"
#include "openb.h"

namespace tessera::bench {

struct ReplayOptions {
  std::string node_policy = "binpack", device_policy = "spread";
  bool hami = false;  ///< in HAMi's mode
  std::int64_t slots = 10;
  std::int64_t check_every = 50;  ///< decisions; 0 = none is compared with the plain one
};

struct ReplayFigures {
  double allocated_100 = 0, allocated_130 = 0;   ///< percent of the cards, mean of the load's bin
  double fragment_rate = 0, fragment_ratio = 0;  ///< percent, at load 100
  std::uint64_t decisions = 0, compared = 0;
  std::chrono::duration<double> spent{0};  ///< for deciding and reserving
};

class Replay {
 public:
  /// The order of `machines` is the order of rank.
  Replay(const ReplayOptions& options, const std::vector<Machine>& machines,
         const TargetWorkload& workload);
  /// Errors: a choice that the bench's own books do not allow, or that is not the plain one's.
  Result<ReplayFigures> run(const std::vector<sim::TracePod>& pods);

 private:
  struct Bin {
    double sum = 0, rate = 0, ratio = 0, count = 0;
  };
  void record(std::int64_t arrived);
  Status place_plain_pod(const sim::TracePod& pod);
  Status place_device_pod(const sim::TracePod& pod);
  core::Request request_of(const sim::TracePod& pod) const;
  Status compare(const core::Request& request, const core::PlaceIndex::Choice& choice);
  Status take(const sim::TracePod& pod, const core::Decision& decision);
  void charge(std::size_t node, const sim::TracePod& pod);
  bool has_room(std::size_t node, const sim::TracePod& pod) const;

  const ReplayOptions options_;
  const std::vector<Machine>& machines_;
  const TargetWorkload& workload_;
  core::Cluster cluster_;
  core::PlaceIndex index_{{.classes = 1024}};
  core::CandidateSet candidates_;
  std::vector<NodeState> nodes_;           ///< the bench's own books
  std::vector<std::int64_t> free_memory_;  ///< likewise
  std::vector<double> fragments_;
  double fragment_ = 0;
  std::int64_t capacity_ = 0, given_ = 0, serial_ = 0;
  Bin full_, end_;
  ReplayFigures figures_;
};

}  // namespace tessera::bench
