#include "base/clock.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

namespace tessera {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

struct TimeCase {
  std::string_view text;
  std::int64_t microseconds_since_epoch;
};

class TimeReads : public testing::TestWithParam<TimeCase> {};
TEST_P(TimeReads, ToMicroseconds) {
  const auto time = parse_rfc3339(GetParam().text);
  ASSERT_TRUE(time) << time.error().what;
  EXPECT_EQ(time->time_since_epoch().count(), GetParam().microseconds_since_epoch);
}
INSTANTIATE_TEST_SUITE_P(
    Table, TimeReads,
    testing::Values(TimeCase{"1970-01-01T00:00:00Z", 0},
                    TimeCase{"2026-08-21T08:00:00Z", 1787299200'000000},
                    TimeCase{"2026-08-21T08:00:00.123456+08:00", 1787270400'123456},
                    TimeCase{"2026-08-21T08:00:00.5Z", 1787299200'500000},
                    TimeCase{"2026-08-21T08:00:00.123456789Z", 1787299200'123456},
                    TimeCase{"2026-08-20T23:30:00-08:30", 1787299200'000000},
                    TimeCase{"2024-02-29T00:00:00Z", 1709164800'000000},
                    TimeCase{"1969-12-31T23:59:59Z", -1'000000}));

class TimeRefuses : public testing::TestWithParam<std::string_view> {};
TEST_P(TimeRefuses, QuotingTheText) {
  const auto time = parse_rfc3339(GetParam());
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().what, "invalid RFC 3339 time \"" + std::string(GetParam()) + "\"");
}
INSTANTIATE_TEST_SUITE_P(Table, TimeRefuses,
                         testing::Values("", "oops", "2026-08-21", "2026-08-21T08:00:00",
                                         "2026-08-21 08:00:00Z", "2026-02-29T00:00:00Z",
                                         "2026-13-01T00:00:00Z", "2026-08-21T24:00:00Z",
                                         "2026-08-21T08:60:00Z", "2026-08-21T08:00:60Z",
                                         "2026-08-21T08:00:00.Z", "2026-08-21T08:00:00+0800",
                                         "2026-08-21T08:00:00+24:00", "2026-08-21T08:00:00ZZ",
                                         "26-08-21T08:00:00Z", "2026-08-21T08:00:00z"));

TEST(Time, IsWrittenInUtc) {
  const WallTime time = *parse_rfc3339("2026-08-21T08:00:00.000123+08:00");
  EXPECT_EQ(format_rfc3339(time), "2026-08-21T00:00:00Z");
  EXPECT_EQ(format_rfc3339_micro(time), "2026-08-21T00:00:00.000123Z");
  EXPECT_EQ(unix_seconds(time), 1787270400);
}

TEST(TimeProperty, WhatIsWrittenReadsBack) {
  const bool holds = rc::check([] {
    // Years 1 to 9999, the range of the format.
    const auto micros =
        *rc::gen::inRange<std::int64_t>(-62'135'596'800'000'000, 253'402'300'800'000'000);
    const WallTime time{microseconds(micros)};
    const auto read = parse_rfc3339(format_rfc3339_micro(time));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == time);
  });
  EXPECT_TRUE(holds);
}

TEST(ManualClock, StandsStillUntilAdvanced) {
  ManualClock clock(*parse_rfc3339("2026-08-21T08:00:00Z"));
  const WallTime wall = clock.wall();
  const MonoTime mono = clock.mono();
  EXPECT_EQ(clock.wall(), wall);
  clock.advance(milliseconds(1500));
  EXPECT_EQ(clock.wall() - wall, milliseconds(1500));
  EXPECT_EQ(clock.mono() - mono, milliseconds(1500));
}

TEST(SystemClock, MovesForward) {
  const SystemClock clock;
  const MonoTime before = clock.mono();
  EXPECT_GE(clock.mono(), before);
  EXPECT_GT(unix_seconds(clock.wall()), 1'700'000'000);
}

struct DurationCase {
  std::string_view text;
  std::int64_t milliseconds;
  std::string_view written;
};

class DurationReads : public testing::TestWithParam<DurationCase> {};
TEST_P(DurationReads, AndIsWrittenAsGoDoes) {
  const auto duration = parse_duration(GetParam().text);
  ASSERT_TRUE(duration) << duration.error().what;
  EXPECT_EQ(duration->count(), GetParam().milliseconds);
  EXPECT_EQ(format_duration(*duration), GetParam().written);
}
INSTANTIATE_TEST_SUITE_P(
    Table, DurationReads,
    testing::Values(DurationCase{"0", 0, "0s"}, DurationCase{"+0", 0, "0s"},
                    DurationCase{"0s", 0, "0s"}, DurationCase{"5m", 300'000, "5m0s"},
                    DurationCase{"28s", 28'000, "28s"}, DurationCase{"1m30s", 90'000, "1m30s"},
                    DurationCase{"100ms", 100, "100ms"}, DurationCase{"1h", 3'600'000, "1h0m0s"},
                    DurationCase{"1.5s", 1500, "1.5s"}, DurationCase{".5s", 500, "500ms"},
                    DurationCase{"1.s", 1000, "1s"}, DurationCase{"-2s", -2000, "-2s"},
                    DurationCase{"1.5h", 5'400'000, "1h30m0s"},
                    DurationCase{"90s", 90'000, "1m30s"}, DurationCase{"2000us", 2, "2ms"},
                    DurationCase{"2000\u00b5s", 2, "2ms"}, DurationCase{"1ns", 1, "1ms"},
                    DurationCase{"61m0.25s", 3'660'250, "1h1m0.25s"}));

struct BadDuration {
  std::string_view text, error;
};
class DurationRefuses : public testing::TestWithParam<BadDuration> {};
TEST_P(DurationRefuses, InGoWords) {
  const auto duration = parse_duration(GetParam().text);
  ASSERT_FALSE(duration);
  EXPECT_EQ(duration.error().what, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, DurationRefuses,
    testing::Values(BadDuration{"", R"(time: invalid duration "")"},
                    BadDuration{"-", R"(time: invalid duration "-")"},
                    BadDuration{"s", R"(time: invalid duration "s")"},
                    BadDuration{".s", R"(time: invalid duration ".s")"},
                    BadDuration{"5", R"(time: missing unit in duration "5")"},
                    BadDuration{"1m5", R"(time: missing unit in duration "1m5")"},
                    BadDuration{"1d", R"(time: unknown unit "d" in duration "1d")"},
                    BadDuration{"1 s", R"(time: unknown unit " s" in duration "1 s")"},
                    BadDuration{"9999999999h", R"(time: invalid duration "9999999999h")"},
                    BadDuration{"99999999999999999999s",
                                R"(time: invalid duration "99999999999999999999s")"}));

TEST(DurationProperty, WhatIsWrittenReadsBack) {
  const bool holds = rc::check([] {
    constexpr std::int64_t kLongest = 9'223'372'036'854;  // nanoseconds in 64 bits, as milliseconds
    const milliseconds duration(*rc::gen::inRange<std::int64_t>(-kLongest, kLongest));
    const auto read = parse_duration(format_duration(duration));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == duration);
  });
  EXPECT_TRUE(holds);
}

TEST(Duration, TheLongestNegativeOneIsWritten) {
  EXPECT_EQ(format_duration(milliseconds(std::numeric_limits<std::int64_t>::min())),
            "-2562047788015h12m55.808s");
}

}  // namespace
}  // namespace tessera
