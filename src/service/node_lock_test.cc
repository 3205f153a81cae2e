#include "service/node_lock.h"

#include <gtest/gtest.h>

#include <ostream>

namespace tessera::service {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

WallTime at(std::string_view text) { return *parse_rfc3339(text); }
const WallTime kNow = at("2026-08-21T08:10:00Z");

TEST(LockText, IsWrittenAsAgentsReadIt) {
  EXPECT_EQ(format_lock(kNow, "team-a", "p1"), "2026-08-21T08:10:00Z,team-a,p1");
  const auto lock = parse_lock("2026-08-21T16:10:00+08:00,team-a,p1");
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->time, kNow);
  EXPECT_EQ(lock->ns, "team-a");
  EXPECT_EQ(lock->name, "p1");
  EXPECT_TRUE(lock->has_owner());
  EXPECT_FALSE(parse_lock("2026-08-21T08:10:00Z")->has_owner());
}

TEST(LockText, FaultsQuoteTheValue) {
  struct Row {
    const char* text;
    const char* part;
  };
  for (const Row& row :
       {Row{"", "malformed"}, Row{"oops", "oops"},
        Row{"2026-08-21T08:10:00Z,a", "expected 3 parts, got 2"},
        Row{"2026-08-21T08:10:00Z,a,b,c", "got 4"}, Row{"2026-08-21T08:10:00Z,,b", "namespace"},
        Row{"2026-08-21T08:10:00Z,..,b", "namespace"},
        Row{"2026-08-21T08:10:00Z,a,b/c", "pod name"}}) {
    const auto lock = parse_lock(row.text);
    ASSERT_FALSE(lock) << row.text;
    EXPECT_NE(lock.error().what.find(row.part), std::string::npos) << lock.error().what;
  }
}

struct TextRow {
  const char* name;
  const char* text;
  const char* reason;
};
TEST(JudgeLock, ByItsText) {
  for (const TextRow& row :
       {TextRow{"young", "2026-08-21T08:09:50Z,a,b", ""},
        TextRow{"young, no owner", "2026-08-21T08:09:50Z", ""},
        TextRow{"exactly the timeout", "2026-08-21T08:05:00Z,a,b", ""},
        TextRow{"one second over", "2026-08-21T08:04:59Z,a,b", "expired"},
        TextRow{"old, no owner", "2026-08-21T08:00:00Z", "expired"},
        TextRow{"clock ahead by a minute", "2026-08-21T08:11:00Z,a,b", ""},
        TextRow{"clock ahead by an hour", "2026-08-21T09:10:00Z,a,b", "from the future"},
        TextRow{"not a time", "x,a,b", "malformed"}}) {
    EXPECT_EQ(judge_lock_text(parse_lock(row.text), kNow, minutes(5)), row.reason) << row.name;
  }
}

struct OwnerRow {
  const char* name;
  seconds age;
  LockOwner owner;
  const char* reason;
};
TEST(JudgeLock, ByItsOwner) {
  using Place = LockOwner::Place;
  const OwnerRow rows[] = {
      {"missing, however young", seconds(0), {.place = Place::kMissing}, "owner missing"},
      {"bound elsewhere", seconds(0), {.place = Place::kElsewhere}, "owner bound elsewhere"},
      {"bound here, being served", seconds(100), {.place = Place::kHere}, ""},
      {"bound here, finished",
       seconds(1),
       {.place = Place::kHere, .finished = true},
       "owner finished"},
      {"deleted before it started",
       seconds(1),
       {.place = Place::kHere, .terminating_before_start = true},
       "owner terminating"},
      {"bound in this attempt",
       seconds(10),
       {.place = Place::kHere, .bind_time = kNow - seconds(9)},
       ""},
      {"bound long after the lock: created anew",
       seconds(200),
       {.place = Place::kHere, .bind_time = kNow},
       "owner recreated"},
      {"agent just done", seconds(5), {.place = Place::kHere, .agent_done = true}, ""},
      {"agent done, lock forgotten",
       seconds(31),
       {.place = Place::kHere, .agent_done = true},
       "agent finished"},
      {"not bound: its scheduler may be at it", seconds(2), {.place = Place::kUnbound}, ""},
      {"not bound for too long", seconds(4), {.place = Place::kUnbound}, "owner not bound"},
      {"not bound and deleted",
       seconds(1),
       {.place = Place::kUnbound, .terminating_before_start = true},
       "owner terminating"},
  };
  for (const OwnerRow& row : rows) {
    EXPECT_EQ(judge_lock_owner({.time = kNow - row.age, .ns = "a", .name = "b"}, row.owner, kNow),
              row.reason)
        << row.name;
  }
}

}  // namespace
}  // namespace tessera::service
