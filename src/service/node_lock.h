/// The node lock as text and as a judgement: is it to be respected, or left behind by somebody who
/// will never release it? Source: spec/node-agent-protocol.md sections 6 and 12, decisions D11.
/// Thread rule: pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::service {

struct LockText {
  WallTime time{};
  std::string ns, name;  ///< both empty: the old form, a time only
  bool has_owner() const { return !name.empty(); }
};
/// "<RFC 3339>,<namespace>,<pod>" or "<RFC 3339>". Errors: `malformed lock annotation: …`.
Result<LockText> parse_lock(std::string_view text);
std::string format_lock(WallTime time, std::string_view ns, std::string_view name);

/// What is known of the pod that a lock names.
struct LockOwner {
  enum class Place : std::uint8_t { kMissing, kUnbound, kHere, kElsewhere };
  Place place = Place::kMissing;
  bool finished = false;
  bool terminating_before_start = false;
  std::optional<WallTime> bind_time;  ///< annotation of the bind
  bool agent_done = false;            ///< bind-phase is success or failed
};

/// How long the lock of a pod that is not bound yet is respected: its scheduler may be between lock
/// and Binding.
inline constexpr std::chrono::seconds kUnboundGrace{3};
/// How long an agent that has finished may take to release.
inline constexpr std::chrono::seconds kReleaseGrace{30};

/// "" = respect it, else the reason why it is stale, as one word for metrics and events.
/// Judges what the text alone says: malformed, expired, from the future.
std::string_view judge_lock_text(const Result<LockText>& lock, WallTime now,
                                 std::chrono::milliseconds timeout);
/// Judges a lock whose text is in order by its owner.
std::string_view judge_lock_owner(const LockText& lock, const LockOwner& owner, WallTime now);

}  // namespace tessera::service
