/// Decides which event is written when: repeated ones are counted up instead of written anew, what
/// goes out is bounded by a budget, and what waits for it goes by urgency. Source:
/// spec/scheduler.md section 3.4. Thread rule: one owner; time is handed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "client/token_bucket.h"
#include "obs/metrics.h"
#include "service/event_queue.h"

namespace tessera::service {

struct EventLimits {
  double per_second = 20, burst = 50;  ///< no limit with 0 or less a second
  std::size_t most_waiting = 1000;
};

/// Counts what nobody will write, wherever it is given up.
obs::Counter dropped_events(obs::Metrics& metrics);

class EventDesk {
 public:
  /// All events of one object with one reason.
  struct Series {
    std::string key;
    std::string name;  ///< of the Event object; empty: the server has none
    int count = 0;
    WallTime first{}, last{};

   private:
    friend class EventDesk;
    MonoTime sent{};
    EventNote* waiting = nullptr;
  };
  struct Outgoing {
    const EventNote& note;
    const Series& series;
    bool is_new;  ///< else its object exists, and is counted up
  };

  EventDesk(obs::Metrics& metrics, const EventLimits& limits, MonoTime now);

  void take_in(const EventNote& note, MonoTime now);
  /// So many as the budget has saved up may go out from now on.
  void begin_beat(MonoTime now);
  /// The most urgent, while any may go out. Valid until anything else is asked of this.
  std::optional<Outgoing> next(MonoTime now, WallTime wall);
  /// The server has not got the Event object `name` of the series: the next one is written anew.
  void not_there(const std::string& key, const std::string& name);
  std::size_t waiting() const { return waiting_.size(); }

 private:
  Series& series_of(const EventNote& note);
  void give_up(const EventNote& note);

  obs::Counter merged_, dropped_;
  client::TokenBucket budget_;
  std::size_t due_ = 0;  // of those that wait, how many are paid for
  EventQueue waiting_;
  EventNote* out_ = nullptr;  // handed out last
  std::uint64_t serial_ = 0;
  std::unordered_map<std::string, Series> series_;
  std::deque<std::string> order_;  // the oldest first
};

}  // namespace tessera::service
