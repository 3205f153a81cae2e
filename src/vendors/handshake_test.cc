#include "vendors/handshake.h"

#include <gtest/gtest.h>

#include <optional>

namespace tessera::vendors {
namespace {

using Kind = HandshakeKind;

std::optional<WallTime> at(std::string_view text) { return *parse_rfc3339(text); }

struct TextCase {
  std::string_view name, text;
  Kind kind;
  std::optional<WallTime> time;
};

TEST(Handshake, EveryTextThatWasSeenIsRead) {  // cases 142 and 143
  const auto ten = at("2026-03-01T10:00:00Z");
  const TextCase cases[] = {
      {"nothing", "", Kind::kMissing, {}},
      {"blanks", "  ", Kind::kMissing, {}},
      {"a request", "Requesting_2026-03-01 10:00:00", Kind::kRequesting, ten},
      {"a request without time", "Requesting", Kind::kUnreadable, {}},
      {"a request with an empty time", "Requesting_", Kind::kUnreadable, {}},
      {"a request with garbage", "Requesting_garbage", Kind::kUnreadable, {}},
      {"a date that is none", "Requesting_2026-13-01 10:00:00", Kind::kUnreadable, {}},
      {"old dotted date", "Requesting_2026.03.01 10:00:00", Kind::kRequesting, ten},
      {"the word anywhere, as HAMi looks for it", "x Requesting_2026-03-01 10:00:00",
       Kind::kRequesting, ten},
      {"given up by an older scheduler (case 142)", "Deleted_2026-03-01 10:00:00", Kind::kDeleted,
       ten},
      {"given up, no time", "Deleted", Kind::kDeleted, {}},
      {"a report", "Reported_2026-03-01 10:00:00", Kind::kReport, ten},
      {"a report with a blank", "Reported 2026-03-01 10:00:00", Kind::kReport, ten},
      {"a report of old agents", "Reported 2026.03.01 10:00:00", Kind::kReport, ten},
      {"only a time", "2026-03-01 10:00:00", Kind::kReport, ten},
      {"RFC 3339", "Reported_2026-03-01T18:00:00+08:00", Kind::kReport, ten},
      {"anything", "hello", Kind::kReport, {}},
  };
  for (const TextCase& c : cases) {
    EXPECT_EQ(read_handshake(c.text), (Handshake{c.kind, c.time})) << c.name;
  }
}

TEST(Handshake, ARequestIsWrittenInUtcAndReadsBack) {
  EXPECT_EQ(handshake_kind(nullptr), Kind::kMissing);
  const WallTime now = *at("2026-08-21T08:00:05.25Z");
  EXPECT_EQ(format_requesting(now), "Requesting_2026-08-21 08:00:05");
  EXPECT_EQ(read_handshake(format_requesting(now)).at, at("2026-08-21T08:00:05Z"));
}

struct ZoneCase {
  std::string_view name, written, now, want;
};

TEST(Handshake, AnUnknownZoneDoesNotMakeATimeOldOrFuture) {  // case 143
  const ZoneCase cases[] = {
      {"same zone", "2026-03-01T10:00:00Z", "2026-03-01T10:00:30Z", "2026-03-01T10:00:00Z"},
      {"the writer is 8 hours ahead", "2026-03-01T18:00:00Z", "2026-03-01T10:00:30Z",
       "2026-03-01T10:00:00Z"},
      {"5:30 hours behind", "2026-03-01T04:30:00Z", "2026-03-01T10:00:30Z", "2026-03-01T10:00:00Z"},
      {"this very moment", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"},
      {"a second ahead is taken as of another zone", "2026-03-01T10:00:01Z", "2026-03-01T10:00:00Z",
       "2026-03-01T09:45:01Z"},
      {"days ago is no zone", "2026-02-27T10:00:00Z", "2026-03-01T10:00:30Z",
       "2026-02-27T10:00:00Z"},
      {"days ahead neither", "2026-03-03T10:00:00Z", "2026-03-01T10:00:30Z",
       "2026-03-03T10:00:00Z"},
  };
  for (const ZoneCase& c : cases) {
    EXPECT_EQ(without_zone(*at(c.written), *at(c.now)), *at(c.want)) << c.name;
  }
}

}  // namespace
}  // namespace tessera::vendors
