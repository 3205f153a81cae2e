/// The scheduling queue of kube-scheduler in small: ready pods in order of arrival, pods in
/// back-off, and pods that wait for a change in the cluster. Thread rule: owned by one thread or
/// guarded by its owner; time is a parameter.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace tessera::sim {

class SchedulerQueue {
 public:
  SchedulerQueue(std::chrono::milliseconds backoff_first, std::chrono::milliseconds backoff_max)
      : first_(backoff_first), max_(backoff_max) {}

  void add(const std::string& uid);  ///< ready at once; known pods stay where they are
  void remove(const std::string& uid);
  std::optional<std::string> pop(MonoTime now);  ///< the next ready pod; it belongs to the caller
                                                 ///< until back_off, park or remove

  /// Failed: ready again after its back-off, which doubles with every attempt. Returns the pause.
  std::chrono::milliseconds back_off(const std::string& uid, MonoTime now);
  /// Fits nowhere: waits for wake(), and for its back-off.
  void park(const std::string& uid, MonoTime now);
  /// Something changed. Returns how long until all that waited are ready; 0 = they are.
  std::chrono::milliseconds wake(MonoTime now);

  std::size_t size() const { return entries_.size(); }

 private:
  enum class Where : std::uint8_t { kReady, kOut, kBackoff, kParked };
  struct Entry {
    Where where = Where::kReady;
    int attempts = 0;
    MonoTime not_before{};
  };
  std::chrono::milliseconds fail_once(Entry& entry, MonoTime now) const;
  void wait(const std::string& uid, Entry& entry);

  std::chrono::milliseconds first_, max_;
  std::unordered_map<std::string, Entry> entries_;
  std::deque<std::string> ready_;                 ///< may hold uids that left; pop skips them
  std::multimap<MonoTime, std::string> waiting_;  ///< same
};

}  // namespace tessera::sim
