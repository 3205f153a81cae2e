/// Kubernetes events with HAMi's reasons. They go out by a client of their own, together, a moment
/// after the first of them and then at most once a second; repeated ones are counted up instead of
/// written anew, and when too many come they are dropped: events never stand in the way of a
/// decision. Source: spec/scheduler.md section 3.4. Thread rule: write from the state thread;
/// everything else happens on the client's thread, so the client must end before this does.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "obs/metrics.h"
#include "service/placed_facts.h"

namespace tessera::service {

enum class EventType : std::uint8_t { kNormal, kWarning };

struct EventTarget {
  std::string_view kind;  ///< "Pod" or "Node"
  std::string_view ns, name, uid;
};

class Events {
 public:
  /// They go out together, so far apart at least; also the beat of their client, by which what its
  /// budget has left waiting goes out.
  static constexpr std::chrono::milliseconds kTogether{1000};

  /// Not enabled: nothing is written.
  Events(client::ApiClient& api, const Clock& clock, std::string component, obs::Metrics& metrics,
         bool enabled = true);

  bool enabled() const { return enabled_; }
  void write(const EventTarget& target, EventType type, std::string_view reason,
             std::string message);
  /// The text is made when the event goes out; asks the heap for nothing once it has run a while.
  void write_placed(const EventTarget& target, std::string_view reason, const PlacedFacts& facts);
  /// Before the end: what was handed over goes out now, as far as the limit allows. Blocks.
  void finish(std::chrono::milliseconds limit);

 private:
  /// An event as it was handed over. Used again and again, for the memory of its texts.
  struct Note {
    std::string kind, ns, name, uid, reason, message;
    EventType type = EventType::kNormal;
    bool has_facts = false;
    PlacedFacts facts;

    EventTarget target() const { return {kind, ns, name, uid}; }
  };
  struct Notes {
    std::vector<Note> slots;
    std::size_t count = 0;
  };
  struct Known {
    std::string name;
    int count = 0;
    WallTime first{};
    MonoTime sent{};
  };
  template <class F>
  void hand_over(const EventTarget& target, EventType type, std::string_view reason, F&& fill);
  void write_all();
  void write_one(const Note& note);
  void create(const Note& note, const std::string& message, Known& known);
  void count_up(const Note& note, const std::string& message, Known& known);
  void remember(const std::string& key);

  client::ApiClient& api_;
  const Clock& clock_;
  std::string component_;
  bool enabled_;
  obs::Counter written_, merged_, dropped_;

  std::mutex mutex_;  // guards what follows; held for moments only
  Notes coming_;
  bool called_ = false;  // write_all() will run
  std::chrono::steady_clock::time_point last_;

  // The client's thread.
  Notes going_;
  std::uint64_t serial_ = 0;
  std::unordered_map<std::string, Known> known_;
  std::deque<std::string> order_;
};

}  // namespace tessera::service
