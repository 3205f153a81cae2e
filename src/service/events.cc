#include "service/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "json/writer.h"

namespace tessera::service {
namespace {

constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kLongestMessage = 1000;  // the API server refuses more than 1024
constexpr std::chrono::milliseconds kSoon{2};  // not in the moment in which an answer goes out
constexpr std::size_t kMostWaiting = 2000;     // more come in a second than may be written at all
constexpr std::chrono::seconds kQuietTime{5};  // repeats within it are only counted
constexpr std::chrono::minutes kNewEventAfter{
    30};  // well below the hour after which servers forget events

std::string cut(std::string message) {
  if (message.size() <= kLongestMessage) return message;
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U)
    --end;  // not inside a character
  message.resize(end);
  return message + "…";
}

/// Events of objects without a namespace live in "default".
std::string_view namespace_of(const EventTarget& target) {
  return target.ns.empty() ? "default" : target.ns;
}

void write_target(json::Writer& w, const EventTarget& target) {
  w.key("involvedObject").begin_object();
  w.key("kind").string(target.kind).key("apiVersion").string("v1").key("name").string(target.name);
  if (!target.ns.empty()) w.key("namespace").string(target.ns);
  if (!target.uid.empty()) w.key("uid").string(target.uid);
  w.end_object();
}

}  // namespace

Events::Events(client::ApiClient& api, const Clock& clock, std::string component,
               obs::Metrics& metrics, bool enabled)
    : api_(api),
      clock_(clock),
      component_(component.empty() ? "tessera" : std::move(component)),
      enabled_(enabled),
      written_(metrics.counter("tessera_events_written_total", "Events handed to the API client.")),
      merged_(metrics.counter("tessera_events_merged_total",
                              "Repeated events that were only counted.")),
      dropped_(metrics.counter("tessera_events_dropped_total",
                               "Events that were not written because too many came at once.")) {}

void Events::write(const EventTarget& target, EventType type, std::string_view reason,
                   std::string message) {
  hand_over(target, type, reason, [&](Note& note) {
    note.message = cut(std::move(message));
    note.has_facts = false;
  });
}

void Events::write_placed(const EventTarget& target, std::string_view reason,
                          const PlacedFacts& facts) {
  hand_over(target, EventType::kNormal, reason, [&](Note& note) {
    note.facts = facts;
    note.has_facts = true;
  });
}

template <class F>
void Events::hand_over(const EventTarget& target, EventType type, std::string_view reason,
                       F&& fill) {
  if (!enabled_) return;
  std::chrono::milliseconds wait = kSoon;
  {
    const std::lock_guard guard(mutex_);
    if (coming_.count == kMostWaiting) return dropped_.increment();
    if (coming_.count == coming_.slots.size()) coming_.slots.emplace_back();
    Note& note = coming_.slots[coming_.count++];
    note.kind = target.kind;
    note.ns = target.ns;
    note.name = target.name;
    note.uid = target.uid;
    note.type = type;
    note.reason = reason;
    fill(note);
    if (std::exchange(called_, true)) return;
    const auto since = std::chrono::steady_clock::now() - last_;
    if (since < kTogether)
      wait = std::max(wait, std::chrono::ceil<std::chrono::milliseconds>(kTogether - since));
  }
  api_.after(wait, [this] { write_all(); });
}

void Events::finish(std::chrono::milliseconds limit) {
  if (!enabled_) return;
  auto written = std::make_shared<std::promise<void>>();
  std::future<void> done = written->get_future();
  api_.after(std::chrono::milliseconds(0), [this, written] {
    write_all();
    written->set_value();
  });
  if (done.wait_for(limit) == std::future_status::ready) api_.finish_low_priority(limit);
}

// ---- on the client's thread

void Events::write_all() {
  going_.count = 0;
  {
    const std::lock_guard guard(mutex_);
    std::swap(coming_, going_);
    called_ = false;
    last_ = std::chrono::steady_clock::now();
  }
  for (std::size_t i = 0; i < going_.count; ++i) write_one(going_.slots[i]);
}

void Events::write_one(const Note& note) {
  const std::string key = fmt::format(
      "{}/{}/{}/{}", note.kind, note.uid.empty() ? note.name : note.uid, note.ns, note.reason);
  const auto found = known_.find(key);
  const MonoTime now = clock_.mono();
  const auto text = [&note] {
    return note.has_facts ? cut(placed_text(note.facts)) : note.message;
  };
  if (found == known_.end() || now - found->second.sent > kNewEventAfter) {
    if (found == known_.end()) remember(key);
    create(note, text(), known_[key]);
    return;
  }
  Known& known = found->second;
  ++known.count;
  if (now - known.sent < kQuietTime) {
    merged_.increment();
    return;
  }
  count_up(note, text(), known);
}

void Events::remember(const std::string& key) {
  order_.push_back(key);
  if (order_.size() <= kRemembered) return;
  known_.erase(order_.front());
  order_.pop_front();
}

void Events::create(const Note& note, const std::string& message, Known& known) {
  const EventTarget target = note.target();
  const WallTime now = clock_.wall();
  known = Known{.name = fmt::format("{}.{:x}{:04x}", target.name.substr(0, 220),
                                    static_cast<std::uint64_t>(now.time_since_epoch().count()),
                                    ++serial_ & 0xFFFFU),
                .count = 1,
                .first = now,
                .sent = clock_.mono()};
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Event");
  w.key("metadata")
      .begin_object()
      .key("name")
      .string(known.name)
      .key("namespace")
      .string(namespace_of(target))
      .end_object();
  write_target(w, target);
  w.key("type").string(note.type == EventType::kNormal ? "Normal" : "Warning");
  w.key("reason").string(note.reason).key("message").string(message).key("count").integer(1);
  w.key("firstTimestamp")
      .string(format_rfc3339(now))
      .key("lastTimestamp")
      .string(format_rfc3339(now));
  w.key("source").begin_object().key("component").string(component_).end_object();
  w.key("reportingComponent").string(component_).end_object();
  written_.increment();
  api_.send({.method = "POST",
             .path = fmt::format("/api/v1/namespaces/{}/events", namespace_of(target)),
             .body = std::move(w).take(),
             .low_priority = true},
            [](const client::ApiResponse&) {});
}

void Events::count_up(const Note& note, const std::string& message, Known& known) {
  known.sent = clock_.mono();
  json::Writer w;
  w.begin_object().key("count").integer(known.count).key("message").string(message);
  w.key("lastTimestamp").string(format_rfc3339(clock_.wall())).end_object();
  written_.increment();
  api_.send({.method = "PATCH",
             .path = fmt::format("/api/v1/namespaces/{}/events/{}", namespace_of(note.target()),
                                 known.name),
             .body = std::move(w).take(),
             .content_type = "application/merge-patch+json",
             .low_priority = true},
            [](const client::ApiResponse&) {});
}

}  // namespace tessera::service
