/// Plays kube-scheduler: queue, filter, bind, back-off; the same HTTP requests the real one sends, one filter at a time, binds in parallel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/api.h"

namespace tessera::sim {

struct SchedulerLoopOptions {
  std::string extender_url;                       ///< http://127.0.0.1:PORT
  std::string scheduler_name = "hami-scheduler";
  std::chrono::milliseconds backoff_first{1000}, backoff_max{10'000};
  bool full_nodes = false;                        ///< nodeCacheCapable: false
};

struct SchedulerLoopStats {
  std::uint64_t filters = 0, binds = 0, bind_errors = 0, unschedulable = 0, errors = 0;
  std::uint64_t pending = 0;
  double filter_p50_ms = 0, filter_p99_ms = 0;    ///< of the last 1,000 calls
  std::string last_error;
};

class SchedulerLoop {
 public:
  SchedulerLoop(client::ApiClient& api, SchedulerLoopOptions options);
  ~SchedulerLoop();
  void start();
  void stop();
  SchedulerLoopStats stats() const;
 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::sim
