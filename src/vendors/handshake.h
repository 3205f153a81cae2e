/// What a handshake annotation says. Source: spec/device-model.md section 12, cases 142 and 143.
/// Who is alive is decided elsewhere, by changes that were seen: times in these texts come from
/// other clocks and from unknown time zones. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tessera::vendors {

enum class HandshakeKind : std::uint8_t {
  kMissing,     ///< no annotation, or an empty one
  kReport,      ///< an agent's: any text that is none of the others
  kRequesting,  ///< "Requesting_<time>": a scheduler waits for a report
  kUnreadable,  ///< "Requesting" without a time that can be read: nobody would ever change it
  kDeleted      ///< "Deleted…": an older scheduler gave the node up
};

struct Handshake {
  HandshakeKind kind = HandshakeKind::kMissing;
  /// As written, read as UTC when no zone is named; nullopt = none, or not readable.
  std::optional<WallTime> at;
  friend bool operator==(const Handshake&, const Handshake&) = default;
};
Handshake read_handshake(std::string_view text);
/// nullptr = no annotation.
HandshakeKind handshake_kind(const std::string* text);

/// "Requesting_2026-03-01 10:00:00", in UTC.
std::string format_requesting(WallTime now);

/// The same instant if the writer's clock was right and its zone is not known: moved by whole
/// quarters of an hour, at most 14 hours, so that it lies at or before `now` and within a quarter
/// of an hour of it. Beyond 14 hours the time stays as it is.
WallTime without_zone(WallTime written, WallTime now);

}  // namespace tessera::vendors
