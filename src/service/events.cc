#include "service/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "json/writer.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

constexpr std::size_t kLongestMessage = 1000;  // the API server refuses more than 1024
constexpr std::chrono::milliseconds kSoon{2};  // not in the moment in which an answer goes out
constexpr std::chrono::milliseconds kLookAgain{2};
constexpr std::chrono::seconds kLastWord{2};  // the client's thread gives way to all others
constexpr std::size_t kUnderWay = 8;  // what the client has can be overtaken by nothing any more

std::string cut(std::string message) {
  if (message.size() <= kLongestMessage) return message;
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U)
    --end;  // not inside a character
  message.resize(end);
  return message + "…";
}

std::string message_of(const EventNote& note) {
  return note.has_facts ? cut(placed_text(note.facts)) : note.message;
}

/// Events of objects without a namespace live in "default".
std::string_view namespace_of(const EventNote& note) {
  return note.ns.empty() ? std::string_view("default") : note.ns;
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
               obs::Metrics& metrics, const Options& options)
    : api_(api),
      clock_(clock),
      component_(component.empty() ? "tessera" : std::move(component)),
      enabled_(options.enabled),
      written_(metrics.counter("tessera_events_written_total", "Events handed to the API client.")),
      failed_(metrics.counter("tessera_events_failed_total",
                              "Events that the API server refused or did not answer.")),
      dropped_(dropped_events(metrics)),
      coming_(options.limits.most_waiting),
      going_(options.limits.most_waiting),
      desk_(metrics, options.limits, clock.mono()) {}

void Events::write(const EventTarget& target, EventType type, std::string_view reason,
                   std::string message) {
  hand_over(target, type, reason, [&](EventNote& note) {
    note.message = cut(std::move(message));
    note.has_facts = false;
  });
}

void Events::write_placed(const EventTarget& target, std::string_view reason,
                          const PlacedFacts& facts) {
  hand_over(target, EventType::kNormal, reason, [&](EventNote& note) {
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
    EventNote* note = coming_.put(type, [this](const EventNote&) { dropped_.increment(); });
    if (note == nullptr) return dropped_.increment();
    note->kind = target.kind;
    note->ns = target.ns;
    note->name = target.name;
    note->uid = target.uid;
    note->reason = reason;
    note->happened = clock_.wall();
    fill(*note);
    if (std::exchange(called_, true)) return;
    const auto since = std::chrono::steady_clock::now() - last_;
    if (since < kTogether)
      wait = std::max(wait, std::chrono::ceil<std::chrono::milliseconds>(kTogether - since));
  }
  api_.after(wait, [this] { beat(); });
}

void Events::finish(std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  if (!enabled_) return;
  const auto end = steady_clock::now() + limit;
  do {
    const std::optional<Left> left = beat_now(end, false);
    if (!left) break;
    if (left->waiting == 0 && left->under_way == 0) return;
    std::this_thread::sleep_for(kLookAgain);
  } while (steady_clock::now() < end);
  beat_now(steady_clock::now() + kLastWord, true);
  give_up(take_back());
}

/// Nothing: its thread has not come to it in time; it will, unless the client ends before.
std::optional<Events::Left> Events::beat_now(std::chrono::steady_clock::time_point until,
                                             bool is_last) {
  auto promise = std::make_shared<std::promise<Left>>();
  std::future<Left> left = promise->get_future();
  api_.after(std::chrono::milliseconds(0), [this, promise, is_last] {
    beat();
    if (is_last && !std::exchange(ended_, true)) give_up(desk_.waiting());
    promise->set_value({desk_.waiting(), under_way_});
  });
  if (left.wait_until(until) != std::future_status::ready) return std::nullopt;
  return left.get();
}

void Events::give_up(std::size_t events) {
  if (events == 0) return;
  dropped_.increment(static_cast<double>(events));
  log::info("events are left unwritten at the end",
            {{"events", static_cast<std::uint64_t>(events)}});
}

/// How many events its thread has not come to; they go nowhere any more.
std::size_t Events::take_back() {
  const std::lock_guard guard(mutex_);
  const std::size_t count = coming_.size();
  while (EventNote* note = coming_.take()) coming_.give_back(*note);
  return count;
}

// ---- on the client's thread

void Events::beat() {
  collect();
  desk_.begin_beat(clock_.mono());
  send_due();
  {
    const std::lock_guard guard(mutex_);
    if (desk_.waiting() == 0 || std::exchange(called_, true)) return;
  }
  api_.after(kTogether, [this] { beat(); });
}

/// Copied, so that the places in which they came keep their memory for others that come.
void Events::collect() {
  {
    const std::lock_guard guard(mutex_);
    std::swap(coming_, going_);
    called_ = false;
    last_ = std::chrono::steady_clock::now();
  }
  while (EventNote* note = going_.take()) {
    desk_.take_in(*note, clock_.mono());
    going_.give_back(*note);
  }
}

void Events::send_due() {
  while (under_way_ < kUnderWay && !ended_) {
    const auto event = desk_.next(clock_.mono(), clock_.wall());
    if (!event) return;
    send(*event);
  }
}

void Events::send(const EventDesk::Outgoing& event) {
  ++under_way_;
  written_.increment();
  api_.send(event.is_new ? creation(event) : count_up(event),
            [this, is_new = event.is_new, key = event.series.key,
             name = event.series.name](const client::ApiResponse& response) {
              --under_way_;
              if (!response.ok()) failed_.increment();
              if (response.status == 404 || (is_new && !response.ok())) desk_.not_there(key, name);
              send_due();
            });
}

client::ApiRequest Events::creation(const EventDesk::Outgoing& event) const {
  const EventNote& note = event.note;
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Event");
  w.key("metadata").begin_object().key("name").string(event.series.name);
  w.key("namespace").string(namespace_of(note)).end_object();
  write_target(w, note.target());
  w.key("type").string(note.type == EventType::kNormal ? "Normal" : "Warning");
  w.key("reason").string(note.reason).key("message").string(message_of(note));
  w.key("count").integer(event.series.count);
  w.key("firstTimestamp").string(format_rfc3339(event.series.first));
  w.key("lastTimestamp").string(format_rfc3339(event.series.last));
  w.key("source").begin_object().key("component").string(component_).end_object();
  w.key("reportingComponent").string(component_).end_object();
  return {.method = "POST",
          .path = fmt::format("/api/v1/namespaces/{}/events", namespace_of(note)),
          .body = std::move(w).take(),
          .low_priority = true};
}

client::ApiRequest Events::count_up(const EventDesk::Outgoing& event) const {
  json::Writer w;
  w.begin_object().key("count").integer(event.series.count);
  w.key("message").string(message_of(event.note));
  w.key("lastTimestamp").string(format_rfc3339(event.series.last)).end_object();
  return {.method = "PATCH",
          .path = fmt::format("/api/v1/namespaces/{}/events/{}", namespace_of(event.note),
                              event.series.name),
          .body = std::move(w).take(),
          .content_type = "application/merge-patch+json",
          .low_priority = true};
}

}  // namespace tessera::service
