/// Compares the books with a recomputation from what the pods hold, every minute or so, repairs
/// what differs, logs and counts it; nothing ever should. A few nodes per step, so that no decision
/// waits for it: a node is recomputed in one step, which makes every comparison exact. Only quotas,
/// where there are any, are compared in one step over all pods. Thread rule: owned by the state
/// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "obs/metrics.h"
#include "service/books.h"
#include "service/task_thread.h"

namespace tessera::service {

/// What differs between the kept counters of a node and a recomputation from the pods on it.
std::vector<std::string> node_differences(const core::Cluster& cluster, NodeId node);
/// Between the quotas' use and what the pods hold.
std::vector<std::string> quota_differences(const core::Cluster& cluster);
/// Holds that no pod of the books stands behind.
std::vector<PodUid> orphaned_holds(Books& books, NodeId node);

class SelfCheck {
 public:
  struct Options {
    std::chrono::milliseconds interval{60'000};  ///< between two passes; 0 = never
    /// A node takes some tens of microseconds: no call waits for longer than that.
    std::chrono::milliseconds step_pause{1};
    std::size_t nodes_per_step = 1;
  };
  SelfCheck(TaskThread& state, Books& books, obs::Metrics& metrics, Options options);

  /// Begins a pass now; the next ones follow by themselves.
  void start();

 private:
  void step(std::uint32_t next);
  void finish();
  void found(const std::string& difference);

  TaskThread& state_;
  Books& books_;
  Options options_;
  bool wrong_ = false;  // in this pass: counters that a rebuild mends
  obs::Counter runs_, differences_;
};

}  // namespace tessera::service
