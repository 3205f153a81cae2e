#include "service/event_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tessera::service {
namespace {

constexpr std::size_t kRemembered = 4096;
constexpr std::size_t kLongestName = 220;      // of the object; the event's has a suffix
constexpr std::chrono::seconds kQuietTime{5};  // repeats within it are only counted
constexpr std::chrono::minutes kNewEventAfter{
    30};  // well below the hour after which servers forget events

std::string key_of(const EventNote& note) {
  return fmt::format("{}/{}/{}/{}/{}", note.kind, note.uid.empty() ? note.name : note.uid, note.ns,
                     note.type == EventType::kWarning ? 'W' : 'N', note.reason);
}

}  // namespace

obs::Counter dropped_events(obs::Metrics& metrics) {
  return metrics.counter("tessera_events_dropped_total",
                         "Events that were not written because too many came at once.");
}

EventDesk::EventDesk(obs::Metrics& metrics, const EventLimits& limits, MonoTime now)
    : merged_(metrics.counter("tessera_events_merged_total",
                              "Repeated events that were only counted.")),
      dropped_(dropped_events(metrics)),
      budget_(limits.per_second, limits.burst, now),
      waiting_(limits.most_waiting) {}

EventDesk::Series& EventDesk::series_of(const EventNote& note) {
  auto [entry, is_new] = series_.try_emplace(key_of(note));
  if (!is_new) return entry->second;
  Series& series = entry->second;  // stays where it is when others go
  series.key = entry->first;
  series.first = series.last = note.happened;
  order_.push_back(entry->first);
  if (order_.size() > kRemembered) {
    series_.erase(order_.front());
    order_.pop_front();
  }
  return series;
}

void EventDesk::take_in(const EventNote& note, MonoTime now) {
  Series& series = series_of(note);
  const bool waits = series.waiting != nullptr;
  if (!waits && (series.name.empty() || now - series.sent > kNewEventAfter)) {
    series.name.clear();
    series.count = 0;
    series.first = note.happened;
  }
  ++series.count;
  series.last = note.happened;
  if (waits) *series.waiting = note;  // the newest words
  if (waits || (!series.name.empty() && now - series.sent < kQuietTime)) return merged_.increment();
  series.waiting = waiting_.put(note.type, [this](const EventNote& gone) { give_up(gone); });
  if (series.waiting == nullptr) return dropped_.increment();
  *series.waiting = note;
}

void EventDesk::give_up(const EventNote& note) {
  dropped_.increment();
  if (const auto found = series_.find(key_of(note)); found != series_.end())
    found->second.waiting = nullptr;
}

void EventDesk::begin_beat(MonoTime now) {
  while (due_ < waiting_.size() && budget_.take(now)) ++due_;
}

std::optional<EventDesk::Outgoing> EventDesk::next(MonoTime now, WallTime wall) {
  if (out_ != nullptr) waiting_.give_back(*std::exchange(out_, nullptr));
  if (due_ == 0) return std::nullopt;
  out_ = waiting_.take();
  --due_;
  Series& series = series_of(*out_);
  series.waiting = nullptr;
  series.count = std::max(series.count, 1);  // 0: it was forgotten meanwhile
  series.sent = now;
  const bool is_new = series.name.empty();
  if (is_new)
    series.name = fmt::format("{}.{:x}{:04x}", out_->name.substr(0, kLongestName),
                              static_cast<std::uint64_t>(wall.time_since_epoch().count()),
                              ++serial_ & 0xFFFFU);
  return Outgoing{*out_, series, is_new};
}

void EventDesk::not_there(const std::string& key, const std::string& name) {
  const auto found = series_.find(key);
  if (found != series_.end() && found->second.name == name) found->second.name.clear();
}

}  // namespace tessera::service
