#include "sim/scheduler_queue.h"

#include <algorithm>

namespace tessera::sim {

using std::chrono::milliseconds;

void SchedulerQueue::add(const std::string& uid) {
  if (entries_.try_emplace(uid).second) ready_.push_back(uid);
}

void SchedulerQueue::remove(const std::string& uid) { entries_.erase(uid); }

std::optional<std::string> SchedulerQueue::pop(MonoTime now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    const std::string uid = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    const auto it = entries_.find(uid);
    if (it == entries_.end() || it->second.where != Where::kBackoff) continue;
    it->second.where = Where::kReady;
    ready_.push_back(uid);
  }
  while (!ready_.empty()) {
    std::string uid = std::move(ready_.front());
    ready_.pop_front();
    const auto it = entries_.find(uid);
    if (it == entries_.end() || it->second.where != Where::kReady) continue;
    it->second.where = Where::kOut;
    return uid;
  }
  return std::nullopt;
}

milliseconds SchedulerQueue::fail_once(Entry& entry, MonoTime now) const {
  milliseconds pause = first_;
  for (int i = 0; i < entry.attempts && pause < max_; ++i) pause *= 2;
  pause = std::min(pause, max_);
  ++entry.attempts;
  entry.not_before = now + pause;
  return pause;
}

void SchedulerQueue::wait(const std::string& uid, Entry& entry) {
  entry.where = Where::kBackoff;
  waiting_.emplace(entry.not_before, uid);
}

milliseconds SchedulerQueue::back_off(const std::string& uid, MonoTime now) {
  const auto it = entries_.find(uid);
  if (it == entries_.end()) return milliseconds(0);
  const milliseconds pause = fail_once(it->second, now);
  wait(uid, it->second);
  return pause;
}

void SchedulerQueue::park(const std::string& uid, MonoTime now) {
  const auto it = entries_.find(uid);
  if (it == entries_.end()) return;
  fail_once(it->second, now);
  it->second.where = Where::kParked;
}

milliseconds SchedulerQueue::wake(MonoTime now) {
  MonoTime last = now;
  for (auto& [uid, entry] : entries_) {
    if (entry.where != Where::kParked) continue;
    wait(uid, entry);
    last = std::max(last, entry.not_before);
  }
  return std::chrono::ceil<milliseconds>(last - now);
}

}  // namespace tessera::sim
