/// Kubernetes events with HAMi's reasons. They go out on the client's low-priority lane, repeated
/// ones are counted up instead of written anew, and when too many come they are dropped: events
/// never stand in the way of a decision. Source: spec/scheduler.md section 3.4. Thread rule: owned
/// by the state thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "client/api.h"
#include "obs/metrics.h"

namespace tessera::service {

enum class EventType : std::uint8_t { kNormal, kWarning };

struct EventTarget {
  std::string kind;  ///< "Pod" or "Node"
  std::string ns, name, uid;
};

class Events {
 public:
  /// Not enabled: nothing is written.
  Events(client::ApiClient& api, const Clock& clock, std::string component, obs::Metrics& metrics,
         bool enabled = true);

  void write(const EventTarget& target, EventType type, std::string_view reason,
             std::string message);

 private:
  struct Known {
    std::string name;
    int count = 0;
    WallTime first{};
    MonoTime sent{};
  };
  void create(const EventTarget& target, EventType type, std::string_view reason,
              const std::string& message, Known& known);
  void count_up(const EventTarget& target, const std::string& message, Known& known);
  void remember(const std::string& key);

  client::ApiClient& api_;
  const Clock& clock_;
  std::string component_;
  bool enabled_;
  std::uint64_t serial_ = 0;
  std::unordered_map<std::string, Known> known_;
  std::deque<std::string> order_;
  obs::Counter written_, merged_;
};

}  // namespace tessera::service
