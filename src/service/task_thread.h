/// Tasks and timers that run one after the other, in the order in which they were posted. Usually a
/// thread of its own runs them; whoever brings a task while nothing else is to be done may run it
/// himself instead of waking that thread (run_or_post). The state of the scheduler is guarded by
/// one: "on the state thread" means in such a task. Thread rule: everything from any thread, but
/// run() never from a task.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/move_function.h"
#include "base/ring.h"

namespace tessera::service {

class TaskThread {
 public:
  using Task = MoveFunction<void(), 64>;

  TaskThread();
  ~TaskThread();  ///< stop()
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// Dropped once stop() was called.
  void post(Task task);
  /// The same, except that the caller runs the task at once when no other runs or waits: two
  /// threads need not wake each other for a task of microseconds.
  void run_or_post(Task task);
  void after(std::chrono::milliseconds delay, Task task);
  /// Runs the task there and waits for its end. False when the thread has stopped: the task did not
  /// run then.
  bool run(const std::function<void()>& task);
  /// Ends after the task that runs now; what still waits is thrown away unrun. Idempotent.
  void stop();
  std::size_t queued() const;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  class Turn;
  void work();
  void move_due_timers(Instant now);
  bool nobody_looks();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Ring<Task> tasks_;
  std::multimap<Instant, Task> timers_;
  bool taken_ = false;           // somebody runs a task
  bool waits_for_turn_ = false;  // the thread, for the end of a task that another one runs
  bool missed_ = false;          // something came while a task ran
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace tessera::service
