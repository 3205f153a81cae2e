#include "service/node_lock.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "service/names.h"

namespace tessera::service {

Result<LockText> parse_lock(std::string_view text) {
  const std::vector<std::string_view> parts = text::split(text, ',');
  if (parts.size() != 1 && parts.size() != 3) {
    return fail(Code::kInvalid,
                fmt::format("malformed lock annotation: expected 3 parts, got {} from {}",
                            parts.size(), text::quote(text)));
  }
  Result<WallTime> time = parse_rfc3339(parts[0]);
  if (!time) return fail(Code::kInvalid, "malformed lock annotation: " + time.error().what);
  if (parts.size() == 1) return LockText{.time = *time, .ns = {}, .name = {}};
  if (!is_object_name(parts[1]) || !is_object_name(parts[2])) {
    return fail(Code::kInvalid,
                "malformed lock annotation: no namespace and pod name in " + text::quote(text));
  }
  return LockText{.time = *time, .ns = std::string(parts[1]), .name = std::string(parts[2])};
}

std::string format_lock(WallTime time, std::string_view ns, std::string_view name) {
  return fmt::format("{},{},{}", format_rfc3339(time), ns, name);
}

std::string_view judge_lock_text(const Result<LockText>& lock, WallTime now,
                                 std::chrono::milliseconds timeout) {
  if (!lock) return "malformed";
  if (now - lock->time > timeout) return "expired";
  // A clock that runs ahead by a little is normal; one that is off by more than the timeout would
  // block the node for that long.
  if (lock->time - now > timeout) return "from the future";
  return {};
}

std::string_view judge_lock_owner(const LockText& lock, const LockOwner& owner, WallTime now) {
  switch (owner.place) {
    case LockOwner::Place::kMissing:
      return "owner missing";
    case LockOwner::Place::kElsewhere:
      return "owner bound elsewhere";
    case LockOwner::Place::kUnbound:
      if (owner.finished) return "owner finished";
      if (owner.terminating_before_start) return "owner terminating";
      return now - lock.time > kUnboundGrace ? "owner not bound" : std::string_view{};
    case LockOwner::Place::kHere:
      break;
  }
  if (owner.finished) return "owner finished";
  if (owner.terminating_before_start) return "owner terminating";
  // Bound here, but well after this lock was taken: a pod of that name was created anew since.
  if (owner.bind_time && *owner.bind_time - lock.time > std::chrono::seconds(60))
    return "owner recreated";
  if (owner.agent_done && now - lock.time > kReleaseGrace) return "agent finished";
  return {};
}

}  // namespace tessera::service
