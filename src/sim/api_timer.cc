#include "sim/api_timer.h"

#include <utility>

namespace tessera::sim::api {

Timer::Timer() : thread_([this] { run(); }) {}
Timer::~Timer() { stop(); }

void Timer::after(std::chrono::milliseconds delay, std::function<void()> f) {
  const std::lock_guard lock(mutex_);
  due_.emplace(std::chrono::steady_clock::now() + delay, std::move(f));
  wake_.notify_one();
}

void Timer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  due_.clear();  // what they hold must not outlive the server
}

void Timer::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (due_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const Time next = due_.begin()->first;
    if (std::chrono::steady_clock::now() < next) {
      wake_.wait_until(lock, next);
      continue;
    }
    const std::function<void()> f = std::move(due_.extract(due_.begin()).mapped());
    lock.unlock();
    f();
    lock.lock();
  }
}

}  // namespace tessera::sim::api
