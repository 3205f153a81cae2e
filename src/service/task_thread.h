/// A thread with a queue of tasks and timers; tasks run one after the other in the order they were
/// posted. The state thread of the scheduler is one, the scrape worker another. Thread rule: post,
/// after and run from any thread; run never from the thread itself.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace tessera::service {

class TaskThread {
 public:
  using Task = std::function<void()>;

  TaskThread();
  ~TaskThread();  ///< stop()
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Dropped once stop() was called.
  void post(Task task);
  void after(std::chrono::milliseconds delay, Task task);
  /// Runs the task there and waits for its end. False when the thread has stopped: the task did not
  /// run then.
  bool run(const Task& task);
  /// Ends after the task that runs now; what still waits is thrown away unrun. Idempotent.
  void stop();
  std::size_t queued() const;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  void work();
  void move_due_timers(Instant now);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::multimap<Instant, Task> timers_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace tessera::service
