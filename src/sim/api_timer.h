/// Runs functions later, on one thread of its own. Real time: it serves connections, not the
/// simulated cluster. Thread rule: any thread; functions may call after() themselves.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace tessera::sim::api {

class Timer {
 public:
  Timer();
  ~Timer();  ///< stop()
  void after(std::chrono::milliseconds delay, std::function<void()> f);
  /// Functions that are not due yet are dropped; waits for one that runs. Idempotent.
  void stop();

 private:
  using Time = std::chrono::steady_clock::time_point;
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<Time, std::function<void()>> due_;
  bool stopping_ = false;
  std::thread thread_;  // last: uses the others
};

}  // namespace tessera::sim::api
