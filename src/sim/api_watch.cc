#include "sim/api_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera::sim::api {
namespace {

std::string error_line(int status, std::string_view reason, std::string_view message) {
  return Value::object({{"type", "ERROR"}, {"object", status_object(status, reason, message)}})
             .dump() +
         "\n";
}

std::string_view name_of(ChangeKind kind) {
  if (kind == ChangeKind::kAdded) return "ADDED";
  return kind == ChangeKind::kModified ? "MODIFIED" : "DELETED";
}

/// What a watcher with a selector sees of a change: an object that begins to match is added, one
/// that stops is deleted.
std::optional<ChangeKind> seen_as(const Change& change, const Selector& selector) {
  if (selector.everything()) return change.kind;
  const bool before = change.before != nullptr && selector.matches(*change.before);
  if (change.kind == ChangeKind::kDeleted)
    return before ? std::optional(ChangeKind::kDeleted) : std::nullopt;
  const bool now = selector.matches(*change.object);
  if (before && now) return ChangeKind::kModified;
  if (now) return ChangeKind::kAdded;
  return before ? std::optional(ChangeKind::kDeleted) : std::nullopt;
}

/// The last state that matched, with the version of the change that ended it.
StoredObject last_match(const Change& change) {
  StoredObject object = *change.before;
  object.version = change.object->version;
  object.value.make("metadata").make("resourceVersion") = std::to_string(object.version);
  object.json = object.value.dump();
  return object;
}

}  // namespace

std::variant<WatchHub::Order, Reply> WatchHub::read_order(const Call& call, const Target& target) {
  auto selector = Selector::parse(*target.resource, call.parameter("labelSelector"),
                                  call.parameter("fieldSelector"));
  if (!selector) return bad_request(selector.error().what);
  Order order{
      .target = target,
      .view = {target.resource, call.wants_table(), std::string(call.parameter("includeObject"))},
      .selector = std::move(*selector),
      .bookmarks = call.flag("allowWatchBookmarks")};
  const std::string_view version = call.parameter("resourceVersion");
  const auto since = version.empty() ? Result<std::int64_t>(0) : text::parse_int(version, 64);
  if (!since || *since < 0)
    return bad_request(fmt::format("resourceVersion: Invalid value: \"{}\"", version));
  order.since = static_cast<std::uint64_t>(*since);
  const bool initial = call.flag("sendInitialEvents");
  if (initial && call.parameter("resourceVersionMatch") != "NotOlderThan")
    return failure(422, "Invalid",
                   "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                   "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  order.initial_events_end = initial && order.bookmarks;
  order.from_state = initial || order.since == 0;
  const std::string_view timeout = call.parameter("timeoutSeconds");
  const auto seconds = timeout.empty() ? Result<std::int64_t>(0) : text::parse_int(timeout, 32);
  if (!seconds || *seconds < 0)
    return bad_request(fmt::format("timeoutSeconds: Invalid value: \"{}\"", timeout));
  order.timeout_seconds = *seconds;
  return order;
}

std::uint64_t WatchHub::open(Order order, std::shared_ptr<http::Stream> stream) {
  Watch watch{.id = next_id_++, .order = std::move(order), .stream = std::move(stream)};
  const bool expired = !watch.order.from_state && !store_.remembers(watch.order.since);
  if (expired) {
    // as an API server with a watch cache does: 200, then the error as an event
    send(watch, error_line(410, "Expired",
                           fmt::format("too old resource version: {}", watch.order.since)));
    if (!stalled_) {
      watch.stream->end();
      return watch.id;
    }
  } else {
    send_beginning(watch);
  }
  watches_.push_back(std::move(watch));
  return watches_.back().id;
}

void WatchHub::send_beginning(Watch& watch) const {
  const Order& order = watch.order;
  if (!order.from_state) {
    store_.each_change_since(order.since,
                             [&](const Change& change) { send_change(watch, change); });
    return;
  }
  for (const ObjectPtr& object : store_.list(*order.target.resource, order.target.space))
    if (order.selector.matches(*object))
      send(watch, show_change(order.view, "ADDED", *object, clock_.wall()));
  if (order.initial_events_end) send(watch, show_bookmark(order.view, store_.version(), true));
}

void WatchHub::send(Watch& watch, std::string line) const {
  if (stalled_)
    watch.held.push_back(std::move(line));
  else
    watch.stream->write(std::move(line));
}

void WatchHub::send_change(Watch& watch, const Change& change) const {
  const Order& order = watch.order;
  if (&home_of(*order.target.resource) != change.object->resource) return;
  if (!order.target.space.empty() && order.target.space != change.object->space) return;
  if (!order.target.name.empty() && order.target.name != change.object->name) return;
  const auto kind = seen_as(change, order.selector);
  if (!kind) return;
  const bool left = *kind == ChangeKind::kDeleted && change.kind != ChangeKind::kDeleted;
  const WallTime now = clock_.wall();
  send(watch, left ? show_change(order.view, name_of(*kind), last_match(change), now)
                   : show_change(order.view, name_of(*kind), *change.object, now));
}

void WatchHub::publish(const Change& change) {
  for (Watch& watch : watches_) send_change(watch, change);
}

void WatchHub::bookmark() {
  watches_.remove_if([](const Watch& watch) { return !watch.stream->open(); });
  if (stalled_) return;
  for (Watch& watch : watches_)
    if (watch.order.bookmarks)
      watch.stream->write(show_bookmark(watch.order.view, store_.version(), false));
}

void WatchHub::end(std::uint64_t id) {
  const auto found =
      std::find_if(watches_.begin(), watches_.end(), [&](const Watch& w) { return w.id == id; });
  if (found == watches_.end() || stalled_) return;
  found->stream->end();
  watches_.erase(found);
}

void WatchHub::stall(bool stalled) {
  stalled_ = stalled;
  if (stalled) return;
  for (Watch& watch : watches_)
    for (std::string& line : std::exchange(watch.held, {})) watch.stream->write(std::move(line));
}

void WatchHub::drop_all() {
  for (Watch& watch : watches_) watch.stream->abort();
  watches_.clear();
}

}  // namespace tessera::sim::api
