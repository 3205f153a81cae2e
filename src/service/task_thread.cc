#include "service/task_thread.h"

#include <future>
#include <memory>
#include <utility>

namespace tessera::service {

TaskThread::TaskThread() : thread_([this] { work(); }) {}

TaskThread::~TaskThread() { stop(); }

void TaskThread::post(Task task) {
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void TaskThread::after(std::chrono::milliseconds delay, Task task) {
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) return;
    timers_.emplace(std::chrono::steady_clock::now() + delay, std::move(task));
  }
  changed_.notify_one();
}

bool TaskThread::run(const Task& task) {
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
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  // Destroyed outside the lock: a task may own something that posts when it dies.
  std::deque<Task> tasks;
  std::multimap<Instant, Task> timers;
  {
    const std::lock_guard guard(mutex_);
    tasks.swap(tasks_);
    timers.swap(timers_);
  }
}

std::size_t TaskThread::queued() const {
  const std::lock_guard guard(mutex_);
  return tasks_.size();
}

void TaskThread::move_due_timers(Instant now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    tasks_.push_back(std::move(timers_.begin()->second));
    timers_.erase(timers_.begin());
  }
}

void TaskThread::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    move_due_timers(std::chrono::steady_clock::now());
    if (!tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
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
