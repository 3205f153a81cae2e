/// Signals as ordinary events: blocked in all threads, waited for in one place.
#pragma once

#include <atomic>
#include <thread>

namespace tessera::apps {

/// Blocks SIGINT, SIGTERM and SIGHUP for the calling thread and all that it starts later. Call
/// first in main.
void block_signals();
/// Waits for the next of them; returns its number.
int wait_for_signal();

/// Sets a flag on SIGINT or SIGTERM while it lives.
class StopFlag {
 public:
  StopFlag();
  ~StopFlag();
  const std::atomic<bool>& stop() const { return stop_; }

 private:
  std::atomic<bool> stop_{false}, ended_{false};
  std::thread thread_;
};

}  // namespace tessera::apps
