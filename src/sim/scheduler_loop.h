/// Plays kube-scheduler: queue, filter, prioritize, bind, back-off; the same HTTP requests the real
/// one sends, one filter at a time, binds in parallel. Source: spec/extender-protocol.md sections 1
/// to 5. Thread rule: public functions from any thread but the clients'.
///   SchedulerLoop loop(api, {.extender_url = "http://127.0.0.1:8080"}); loop.start(); …
///   loop.stats().filter_p99_ms
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/api.h"

namespace tessera::sim {

struct SchedulerLoopOptions {
  std::string extender_url;  ///< http://127.0.0.1:PORT
  std::string scheduler_name = "hami-scheduler";
  std::chrono::milliseconds backoff_first{1000}, backoff_max{10'000};
  bool full_nodes = false;  ///< nodeCacheCapable: false
  /// Takes pods of default-scheduler as well: in a cluster without another scheduler and without
  /// the webhook nobody else would.
  bool default_scheduler_too = false;
  /// A pod that names one of these is sent to the extender; others are bound here, as
  /// kube-scheduler's own binder does.
  std::vector<std::string> managed_resources{"nvidia.com/gpu", "nvidia.com/gpumem",
                                             "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"};
};

struct SchedulerLoopStats {
  std::uint64_t filters = 0, prioritized = 0, binds = 0, bind_errors = 0, unschedulable = 0,
                errors = 0;
  std::uint64_t pending = 0;
  double filter_p50_ms = 0, filter_p99_ms = 0;  ///< of the last 1,000 calls
  double bound_p50_ms = 0,
         bound_p99_ms = 0;  ///< from first sight to bound, of the last 10,000 pods
  std::string last_error;
};

/// A pod that waits, and why in the words of its PodScheduled condition (empty: not tried yet, or
/// being bound).
struct WaitingPod {
  std::string name;
  std::string asks;  ///< limits of its containers, "gpu=1 gpumem=1000"
  std::string reason;
};

class SchedulerLoop {
 public:
  SchedulerLoop(client::ApiClient& api, SchedulerLoopOptions options);
  ~SchedulerLoop();  ///< stop()
  void start();
  void stop();
  SchedulerLoopStats stats() const;
  std::vector<WaitingPod> waiting(std::size_t most) const;  ///< oldest first
 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// `0/5 nodes are available: 2 2/2 CardInsufficientMemory, 3 node unregistered.` out of the reasons
/// of the nodes that were refused.
std::string unschedulable_message(std::size_t nodes, const std::vector<std::string>& reasons);

}  // namespace tessera::sim
