#include "service/task_thread.h"

#include <future>
#include <memory>
#include <utility>

namespace tessera::service {

TaskThread::TaskThread() : thread_([this] { work(); }) {}

TaskThread::~TaskThread() { stop(); }

/// The right to run a task, given back at the end, also when the task throws.
class TaskThread::Turn {
 public:
  explicit Turn(TaskThread& of) : of_(of) {}
  ~Turn() {
    bool more = false;
    {
      const std::lock_guard guard(of_.mutex_);
      of_.taken_ = false;
      more = of_.stopping_ || of_.waits_for_turn_ || std::exchange(of_.missed_, false);
    }
    if (more) of_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  TaskThread& of_;
};

void TaskThread::post(Task task) {
  bool wake = false;
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) return;
    tasks_.push(std::move(task));
    wake = nobody_looks();
  }
  if (wake) changed_.notify_one();
}

/// Whether the thread must be woken to see what has come. Whoever has the turn does so at its end.
bool TaskThread::nobody_looks() {
  missed_ = missed_ || taken_;
  return !taken_;
}

void TaskThread::run_or_post(Task task) {
  {
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    if (taken_ || waits_for_turn_ || !tasks_.empty()) {
      lock.unlock();
      return post(std::move(task));
    }
    taken_ = true;
  }
  const Turn turn(*this);
  task();
  task.reset();
}

void TaskThread::after(std::chrono::milliseconds delay, Task task) {
  bool wake = false;
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) return;
    timers_.emplace(std::chrono::steady_clock::now() + delay, std::move(task));
    wake = nobody_looks();
  }
  if (wake) changed_.notify_one();
}

bool TaskThread::run(const std::function<void()>& task) {
  // The promise lives in the queued task: when the queue is thrown away its destruction ends the
  // wait.
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> future = done->get_future();
  post([&task, done] {
    task();
    done->set_value();
  });
  done.reset();
  try {
    future.get();
  } catch (const std::future_error&) {
    return false;
  }
  return true;
}

void TaskThread::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Destroyed outside the lock: a task may own something that posts when it dies.
  Ring<Task> tasks;
  std::multimap<Instant, Task> timers;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !taken_; });
    std::swap(tasks, tasks_);
    timers.swap(timers_);
  }
}

std::size_t TaskThread::queued() const {
  const std::lock_guard guard(mutex_);
  return tasks_.size();
}

void TaskThread::move_due_timers(Instant now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    tasks_.push(std::move(timers_.begin()->second));
    timers_.erase(timers_.begin());
  }
}

void TaskThread::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    waits_for_turn_ = taken_;
    if (taken_) {
      changed_.wait(lock);
      continue;
    }
    move_due_timers(std::chrono::steady_clock::now());
    if (!tasks_.empty()) {
      Task task = tasks_.pop();
      taken_ = true;
      lock.unlock();
      task();
      task.reset();
      lock.lock();
      taken_ = false;
      continue;
    }
    if (timers_.empty()) {
      changed_.wait(lock);
    } else {
      const Instant next = timers_.begin()->first;
      changed_.wait_until(lock, next);
    }
  }
}

}  // namespace tessera::service
