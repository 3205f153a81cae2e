#include "service/events.h"

#include <fmt/format.h>

#include <utility>

#include "json/writer.h"

namespace tessera::service {
namespace {

constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kLongestMessage = 1000;  // the API server refuses more than 1024
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
std::string namespace_of(const EventTarget& target) {
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
                              "Repeated events that were only counted.")) {}

void Events::write(const EventTarget& target, EventType type, std::string_view reason,
                   std::string message) {
  if (!enabled_) return;
  message = cut(std::move(message));
  const std::string key = fmt::format(
      "{}/{}/{}/{}", target.kind, target.uid.empty() ? target.name : target.uid, target.ns, reason);
  const auto found = known_.find(key);
  const MonoTime now = clock_.mono();
  if (found == known_.end() || now - found->second.sent > kNewEventAfter) {
    if (found == known_.end()) remember(key);
    create(target, type, reason, message, known_[key]);
    return;
  }
  Known& known = found->second;
  ++known.count;
  if (now - known.sent < kQuietTime) {
    merged_.increment();
    return;
  }
  count_up(target, message, known);
}

void Events::remember(const std::string& key) {
  order_.push_back(key);
  if (order_.size() <= kRemembered) return;
  known_.erase(order_.front());
  order_.pop_front();
}

void Events::create(const EventTarget& target, EventType type, std::string_view reason,
                    const std::string& message, Known& known) {
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
  w.key("type").string(type == EventType::kNormal ? "Normal" : "Warning");
  w.key("reason").string(reason).key("message").string(message).key("count").integer(1);
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

void Events::count_up(const EventTarget& target, const std::string& message, Known& known) {
  known.sent = clock_.mono();
  json::Writer w;
  w.begin_object().key("count").integer(known.count).key("message").string(message);
  w.key("lastTimestamp").string(format_rfc3339(clock_.wall())).end_object();
  written_.increment();
  api_.send(
      {.method = "PATCH",
       .path = fmt::format("/api/v1/namespaces/{}/events/{}", namespace_of(target), known.name),
       .body = std::move(w).take(),
       .content_type = "application/merge-patch+json",
       .low_priority = true},
      [](const client::ApiResponse&) {});
}

}  // namespace tessera::service
