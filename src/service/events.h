/// Kubernetes events with HAMi's reasons. They go out by a client of their own, together, a moment
/// after the first of them and then at most once a second, warnings before all others; repeated
/// ones are counted up instead of written anew, and when too many come the oldest that warn of
/// nothing are dropped: events never stand in the way of a decision. They tell what has happened,
/// so the end of a term of leadership takes none away. Source: spec/scheduler.md section 3.4.
/// Thread rule: write from the state thread; everything else happens on the client's thread, so the
/// client must end before this does.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "client/api.h"
#include "obs/metrics.h"
#include "service/event_desk.h"
#include "service/event_note.h"
#include "service/event_queue.h"
#include "service/placed_facts.h"

namespace tessera::service {

class Events {
 public:
  /// They go out together, so far apart at least.
  static constexpr std::chrono::milliseconds kTogether{1000};

  struct Options {
    bool enabled = true;  ///< false: nothing is written
    EventLimits limits;
  };
  /// The client's own budget for low priority must be without limit: it is kept here.
  Events(client::ApiClient& api, const Clock& clock, std::string component, obs::Metrics& metrics,
         const Options& options);

  bool enabled() const { return enabled_; }
  void write(const EventTarget& target, EventType type, std::string_view reason,
             std::string message);
  /// The text is made when the event goes out; asks the heap for nothing once it has run a while.
  void write_placed(const EventTarget& target, std::string_view reason, const PlacedFacts& facts);
  /// Before the end: what was handed over goes out now, as far as budget and limit allow; the rest
  /// counts as dropped. Blocks, some seconds longer where the client's thread gets no time.
  void finish(std::chrono::milliseconds limit);

 private:
  template <class F>
  void hand_over(const EventTarget& target, EventType type, std::string_view reason, F&& fill);
  struct Left {
    std::size_t waiting = 0, under_way = 0;
  };
  std::optional<Left> beat_now(std::chrono::steady_clock::time_point until, bool is_last);
  void give_up(std::size_t events);
  std::size_t take_back();
  void beat();
  void collect();
  void send_due();
  void send(const EventDesk::Outgoing& event);
  client::ApiRequest creation(const EventDesk::Outgoing& event) const;
  client::ApiRequest count_up(const EventDesk::Outgoing& event) const;

  client::ApiClient& api_;
  const Clock& clock_;
  std::string component_;
  bool enabled_;
  obs::Counter written_, failed_, dropped_;

  std::mutex mutex_;  // guards what follows; held for moments only
  EventQueue coming_;
  bool called_ = false;  // beat() will run
  std::chrono::steady_clock::time_point last_;

  // The client's thread.
  EventQueue going_;
  EventDesk desk_;
  std::size_t under_way_ = 0;
  bool ended_ = false;  // what waits has been given up
};

}  // namespace tessera::service
