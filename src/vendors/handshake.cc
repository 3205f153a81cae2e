#include "vendors/handshake.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace tessera::vendors {
namespace {

constexpr std::string_view kRequesting = "Requesting";
constexpr std::string_view kDeleted = "Deleted";
constexpr std::size_t kDate = 10, kSeconds = 19;  // lengths of "2026-03-01" and with " 10:00:00"

/// "2026-03-01 10:00:00", with dots in the date as old agents wrote, or RFC 3339.
std::optional<WallTime> time_in(std::string_view text) {
  std::string normal(text::trim(text));
  if (normal.size() == kSeconds) {
    std::replace(normal.begin(), normal.begin() + kDate, '.', '-');
    if (normal[kDate] == ' ') normal[kDate] = 'T';
    normal += 'Z';
  }
  const auto time = parse_rfc3339(normal);
  if (!time) return std::nullopt;
  return *time;
}

}  // namespace

Handshake read_handshake(std::string_view text) {
  text = text::trim(text);
  if (text.empty()) return {};
  // HAMi looks for its word anywhere in the text.
  const bool requested = text.find(kRequesting) != std::string_view::npos;
  const bool given_up = text.substr(0, kDeleted.size()) == kDeleted;
  Handshake read;
  const std::size_t mark = text.find_first_of(requested || given_up ? "_" : "_ ");
  if (mark != std::string_view::npos) read.at = time_in(text.substr(mark + 1));
  if (requested) {
    read.kind = read.at ? HandshakeKind::kRequesting : HandshakeKind::kUnreadable;
  } else if (given_up) {
    read.kind = HandshakeKind::kDeleted;
  } else {
    read.kind = HandshakeKind::kReport;
    if (!read.at) read.at = time_in(text);
  }
  return read;
}

HandshakeKind handshake_kind(const std::string* text) {
  return text == nullptr ? HandshakeKind::kMissing : read_handshake(*text).kind;
}

std::string format_requesting(WallTime now) {
  std::string time = format_rfc3339(now).substr(0, kSeconds);
  time[kDate] = ' ';
  return std::string(kRequesting) + "_" + time;
}

WallTime without_zone(WallTime written, WallTime now) {
  constexpr auto kQuarter = std::chrono::minutes(15);
  constexpr auto kFarthest = std::chrono::hours(14);
  const auto ahead = written - now;
  if (ahead > kFarthest || ahead < -kFarthest - kQuarter) return written;
  auto late = (now - written) % kQuarter;
  if (late < late.zero()) late += kQuarter;
  return now - late;
}

}  // namespace tessera::vendors
