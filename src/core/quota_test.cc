#include "core/quota.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
constexpr auto kInit = PositionKind::kInit;
constexpr auto kSidecar = PositionKind::kSidecar;
constexpr auto kApp = PositionKind::kApp;
constexpr auto kMemory = QuotaKind::kMemory;
constexpr auto kCores = QuotaKind::kCores;
constexpr auto kCount = QuotaKind::kCount;

QuotaNeeds needs(std::int64_t count, std::int64_t memory, std::int64_t cores = 0) {
  return {{kVendor, count, memory, cores}};
}
QuotaSubject subject(std::string ns = "team", std::string priority_class = "") {
  return {std::move(ns), false, false, std::move(priority_class)};
}
QuotaSpec quota(std::string name, std::vector<QuotaLimit> limits,
                std::vector<QuotaScope> scopes = {}) {
  return {"team", std::move(name), std::move(limits), std::move(scopes)};
}
std::string text(const std::optional<QuotaExcess>& excess) {
  return excess ? words(*excess) : "fits";
}

TEST(QuotaNeeds, OfAnAllocation) {
  struct Row {
    std::string name;
    std::vector<std::pair<PositionKind, std::vector<Held>>> containers;
    bool init_finished;
    QuotaNeeds want;
  };
  const decltype(Row::containers) example_10 = {{kInit, {{"aa", 9000, 60}}},
                                                {kInit, {{"aa", 4000, 80}, {"bb", 4000, 80}}},
                                                {kApp, {{"aa", 5000, 20}}},
                                                {kApp, {{"aa", 3000, 10}, {"cc", 3000, 10}}}};
  for (const Row& row : std::vector<Row>{
           {"device-model example 10, pod level (W-3): 11000 and 160 instead of 16000 and 170",
            example_10, false, needs(3, 11000, 160)},
           {"device-model example 11: after the init containers", example_10, true,
            needs(3, 11000, 40)},
           {"case 118: the larger of init and app",
            {{kInit, {{"a", 8000, 0}}}, {kApp, {{"b", 8000, 0}}}},
            false,
            needs(1, 8000)},
           {"case 109: apps add up on one card too",
            {{kApp, {{"a", 6000, 0}}}, {kApp, {{"a", 6000, 0}}}},
            false,
            needs(2, 12000)},
           {"S-10: positions are true with an init container without device",
            {{kInit, {}}, {kApp, {{"a", 16000, 0}}}, {kApp, {{"a", 16000, 0}}}},
            false,
            needs(2, 32000)},
           {"S-9: sidecars stay beside both",
            {{kSidecar, {{"a", 100, 1}}}, {kInit, {{"a", 5000, 0}}}, {kApp, {{"b", 2000, 9}}}},
            false,
            needs(2, 5100, 10)},
           {"sidecars outlive the init containers",
            {{kSidecar, {{"a", 100, 1}}}, {kInit, {{"a", 5000, 0}}}},
            true,
            needs(1, 100, 1)},
           {"the peaks may come from different containers",
            {{kInit, {{"a", 10, 90}}}, {kInit, {{"a", 90, 10}, {"b", 0, 0}}}},
            false,
            needs(2, 90, 90)},
           {"no device", {{kApp, {}}}, false, {}},
           {"only finished init containers", {{kInit, {{"a", 1, 1}}}}, true, {}}}) {
    SCOPED_TRACE(row.name);
    Allocation allocation = held("n1", row.containers);
    allocation.init_finished = row.init_finished;
    EXPECT_EQ(quota_needs(allocation), row.want);
  }
}

TEST(QuotaNeeds, InstancesAddUpForThePodsLife) {
  Allocation allocation =
      held_instances("n1", {instance(0, "m", "3g.40gb", 4), instance(1, "m", "2g.20gb", 0)});
  allocation.kinds[0] = kInit;
  EXPECT_EQ(quota_needs(allocation), needs(2, 40448 + 19968, 46 + 25)) << "N-3";
  allocation.init_finished = true;
  EXPECT_EQ(quota_needs(allocation), needs(2, 40448 + 19968, 46 + 25)) << "the instance stays";
}

TEST(QuotaNeeds, ByVendorInOrder) {
  Allocation allocation = held("n1", {{kApp, {{"x", 10, 1}, {"y", 20, 2}}}});
  allocation.grants[0].vendor = kOtherVendor;
  EXPECT_EQ(quota_needs(allocation), (QuotaNeeds{{kVendor, 1, 20, 2}, {kOtherVendor, 1, 10, 1}}));
}

TEST(QuotaNeeds, OfARequest) {
  struct Row {
    std::string name;
    std::vector<Position> positions;
    QuotaNeeds want;
  };
  for (const Row& row : std::vector<Row>{
           {"device-model example 15: max(9000, 2 x 6000); a percentage adds 0",
            {init({ask(2, 6000, 0)}), app({ask(1, 5000, 0)}), app({ask(1, 4000, 0)}),
             app({ask_percent(1, 50, 0)})},
            needs(3, 12000)},
           {"sidecars stay beside the larger of both",
            {sidecar({ask(1, 100, 5)}), init({ask(1, 5000, 0)}), app({ask(2, 1000, 10)})},
            needs(3, 5100, 25)},
           {"cores above a whole card count as a whole card",
            {app({ask(2, 1, 250)})},
            needs(2, 2, 200)},
           {"nothing", {app({})}, {}},
           {"a count of 0", {app({ask(0, 100, 100)})}, {}},
           {"too much for 64 bits stays at the largest figure",
            {app({ask(4, INT64_MAX / 2, 0)}), app({ask(4, INT64_MAX / 2, 0)})},
            needs(8, INT64_MAX)}}) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(quota_needs(pod("p", row.positions)), row.want);
  }
}

TEST(QuotaBook, LimitsOfOneObject) {
  struct Row {
    std::string name;
    std::vector<QuotaLimit> limits;
    QuotaNeeds used, asked;
    std::string want;
  };
  for (const Row& row : std::vector<Row>{
           {"device-model example 12: exactly full",
            {{kVendor, kMemory, 10000}},
            needs(1, 4000),
            needs(1, 6000),
            "fits"},
           {"device-model example 12: one more",
            {{kVendor, kMemory, 10000}},
            needs(1, 4000),
            needs(1, 6001),
            "quota q of memory: limit 10000, 4000 used, 6001 asked"},
           {"device-model example 13: limit 2000 times 4, 1500 times 4 asked",
            {{kVendor, kMemory, 8000}},
            {},
            needs(1, 6000),
            "fits"},
           {"device-model example 13: 2100 times 4",
            {{kVendor, kMemory, 8000}},
            {},
            needs(1, 8400),
            "quota q of memory: limit 8000, 0 used, 8400 asked"},
           {"device-model example 14, case 113: 0 blocks what is above 0",
            {{kVendor, kCores, 0}},
            {},
            needs(1, 1, 1),
            "quota q of cores: limit 0, 0 used, 1 asked"},
           {"device-model example 14: 0 asked passes a limit of 0",
            {{kVendor, kCores, 0}},
            {},
            needs(1, 1, 0),
            "fits"},
           {"0 asked passes where the limit is exceeded already",
            {{kVendor, kCores, 10}},
            needs(1, 1, 50),
            needs(1, 1, 0),
            "fits"},
           {"cards",
            {{kVendor, kCount, 2}},
            needs(2, 1),
            needs(1, 1),
            "quota q of cards: limit 2, 2 used, 1 asked"},
           {"case 112: a whole card of 24576",
            {{kVendor, kMemory, 10000}},
            {},
            needs(1, 24576),
            "quota q of memory: limit 10000, 0 used, 24576 asked"},
           {"another vendor's limit", {{kOtherVendor, kMemory, 1}}, {}, needs(1, 5000), "fits"},
           {"case 110: every vendor has its own",
            {{kVendor, kMemory, 9000}, {kOtherVendor, kMemory, 100}},
            {},
            {{kVendor, 1, 5000, 0}, {kOtherVendor, 1, 101, 0}},
            "quota q of memory: limit 100, 0 used, 101 asked"},
           {"a negative limit blocks",
            {{kVendor, kMemory, -5}},
            {},
            needs(1, 1),
            "quota q of memory: limit -5, 0 used, 1 asked"},
           {"sums beyond 64 bits do not wrap",
            {{kVendor, kMemory, 10000}},
            needs(1, INT64_MAX - 1),
            needs(1, INT64_MAX),
            "quota q of memory: limit 10000, 9223372036854775806 used, 9223372036854775807 "
            "asked"}}) {
    SCOPED_TRACE(row.name);
    QuotaBook book;
    book.set(quota("q", row.limits));
    book.charge(subject(), row.used);
    EXPECT_EQ(text(book.excess(subject(), row.asked)), row.want);
    EXPECT_EQ(text(book.excess(subject("elsewhere"), row.asked)), "fits");
  }
}

TEST(QuotaBook, SeveralObjectsTheLowestLimitWins) {
  QuotaBook book;
  book.set(quota("wide", {{kVendor, kMemory, 9000}}));
  book.set(quota("narrow", {{kVendor, kMemory, 5000}, {kVendor, kCount, 10}}));
  EXPECT_EQ(text(book.excess(subject(), needs(1, 5001))),
            "quota narrow of memory: limit 5000, 0 used, 5001 asked");
  EXPECT_TRUE(book.remove("team", "narrow"));
  EXPECT_EQ(text(book.excess(subject(), needs(99, 5001))), "fits")
      << "S-11: removing one leaves the other";
  EXPECT_EQ(text(book.excess(subject(), needs(1, 9001))),
            "quota wide of memory: limit 9000, 0 used, 9001 asked");
  EXPECT_FALSE(book.remove("team", "narrow"));
  EXPECT_FALSE(book.remove("nobody", "narrow"));
}

TEST(QuotaBook, Case114EveryUpdateTakesEffectAndUsedIsKept) {
  QuotaBook book;
  book.charge(subject(), needs(1, 4000));
  book.set(quota("q", {{kVendor, kMemory, 10000}}));
  EXPECT_EQ(text(book.excess(subject(), needs(1, 6000))), "fits");
  book.set(quota("q", {{kVendor, kMemory, 5000}}));
  EXPECT_EQ(text(book.excess(subject(), needs(1, 6000))),
            "quota q of memory: limit 5000, 4000 used, 6000 asked");
  book.set(quota("q", {{kVendor, kCores, 50}}));
  EXPECT_EQ(text(book.excess(subject(), needs(1, 6000))), "fits") << "the key is gone";
  EXPECT_TRUE(book.limits("team"));
  book.set(quota("q", {}));
  EXPECT_FALSE(book.limits("team"));
  EXPECT_TRUE(book.remove("team", "q"));
  EXPECT_EQ(book.used("team"), needs(1, 4000));
  EXPECT_FALSE(book.limits("team"));
}

TEST(QuotaBook, WhatThePodHeldBeforeIsFree) {
  QuotaBook book;
  book.set(quota("q", {{kVendor, kMemory, 10000}}));
  book.charge(subject(), needs(1, 8000));
  EXPECT_EQ(text(book.excess(subject(), needs(1, 10000))),
            "quota q of memory: limit 10000, 8000 used, 10000 asked");
  EXPECT_EQ(text(book.excess(subject(), needs(1, 10000), needs(1, 8000))), "fits");
}

TEST(QuotaBook, ScopesAsKubernetesHasThem) {
  using Word = QuotaScope::Word;
  using Match = QuotaScope::Match;
  struct Row {
    std::string name;
    std::vector<QuotaScope> scopes;
    QuotaSubject pod;
    bool want;
  };
  const QuotaSubject plain = subject();
  const QuotaSubject limited{"team", true, false, ""};
  const QuotaSubject effortless{"team", false, true, ""};
  const QuotaSubject high = subject("team", "high");
  for (const Row& row : std::vector<Row>{
           {"no scope", {}, plain, true},
           {"another namespace", {}, subject("elsewhere"), false},
           {"Terminating", {{Word::kTerminating, Match::kExists, {}}}, limited, true},
           {"Terminating, pod without a deadline",
            {{Word::kTerminating, Match::kExists, {}}},
            plain,
            false},
           {"NotTerminating", {{Word::kNotTerminating, Match::kExists, {}}}, plain, true},
           {"NotTerminating, pod with a deadline",
            {{Word::kNotTerminating, Match::kExists, {}}},
            limited,
            false},
           {"BestEffort", {{Word::kBestEffort, Match::kExists, {}}}, effortless, true},
           {"BestEffort, another pod", {{Word::kBestEffort, Match::kExists, {}}}, plain, false},
           {"NotBestEffort", {{Word::kNotBestEffort, Match::kExists, {}}}, plain, true},
           {"NotBestEffort, a best effort pod",
            {{Word::kNotBestEffort, Match::kExists, {}}},
            effortless,
            false},
           {"PriorityClass Exists", {{Word::kPriorityClass, Match::kExists, {}}}, high, true},
           {"PriorityClass Exists, pod without",
            {{Word::kPriorityClass, Match::kExists, {}}},
            plain,
            false},
           {"PriorityClass DoesNotExist",
            {{Word::kPriorityClass, Match::kDoesNotExist, {}}},
            plain,
            true},
           {"PriorityClass DoesNotExist, pod with",
            {{Word::kPriorityClass, Match::kDoesNotExist, {}}},
            high,
            false},
           {"PriorityClass In", {{Word::kPriorityClass, Match::kIn, {"low", "high"}}}, high, true},
           {"PriorityClass In, another",
            {{Word::kPriorityClass, Match::kIn, {"low"}}},
            high,
            false},
           {"PriorityClass In, pod without",
            {{Word::kPriorityClass, Match::kIn, {""}}},
            plain,
            false},
           {"PriorityClass NotIn", {{Word::kPriorityClass, Match::kNotIn, {"low"}}}, high, true},
           {"PriorityClass NotIn, listed",
            {{Word::kPriorityClass, Match::kNotIn, {"high"}}},
            high,
            false},
           {"PriorityClass NotIn, pod without",
            {{Word::kPriorityClass, Match::kNotIn, {"high"}}},
            plain,
            true},
           {"all must match",
            {{Word::kNotTerminating, Match::kExists, {}},
             {Word::kPriorityClass, Match::kIn, {"high"}}},
            plain,
            false}}) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(in_scope(quota("q", {}, row.scopes), row.pod), row.want);
  }
}

TEST(QuotaBook, OnlyPodsInScopeAreCounted) {
  QuotaBook book;
  book.set(quota("high", {{kVendor, kMemory, 5000}},
                 {{QuotaScope::Word::kPriorityClass, QuotaScope::Match::kIn, {"high"}}}));
  book.set(quota("all", {{kVendor, kMemory, 9000}}));
  book.charge(subject("team", "low"), needs(1, 4000));
  EXPECT_EQ(text(book.excess(subject("team", "high"), needs(1, 5000))), "fits");
  EXPECT_EQ(text(book.excess(subject("team", "low"), needs(1, 5001))),
            "quota all of memory: limit 9000, 4000 used, 5001 asked");
  book.charge(subject("team", "high"), needs(1, 3000));
  EXPECT_EQ(text(book.excess(subject("team", "high"), needs(1, 2000))), "fits");
  book.set(quota("all", {{kVendor, kMemory, 20000}}));
  EXPECT_EQ(text(book.excess(subject("team", "high"), needs(1, 2001))),
            "quota high of memory: limit 5000, 3000 used, 2001 asked");
  const std::vector<QuotaBook::Row> rows = book.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].quota.name, "all");
  EXPECT_EQ(rows[0].used, needs(2, 7000));
  EXPECT_EQ(rows[1].used, needs(1, 3000));
}

TEST(QuotaBook, GivingBackLeavesNothing) {
  QuotaBook book, empty;
  book.charge(subject("team", "a"), needs(1, 10));
  book.charge(subject("team", "a"), needs(1, 20));
  book.charge(subject("team", "b"), {{kOtherVendor, 1, 5, 5}});
  EXPECT_EQ(book.used("team"), (QuotaNeeds{{kVendor, 2, 30, 0}, {kOtherVendor, 1, 5, 5}}));
  EXPECT_FALSE(book == empty);
  book.uncharge(subject("team", "b"), {{kOtherVendor, 1, 5, 5}});
  book.uncharge(subject("team", "a"), needs(1, 10));
  EXPECT_EQ(book.used("team"), needs(1, 20));
  book.uncharge(subject("team", "a"), needs(1, 20));
  EXPECT_EQ(book.used("team"), QuotaNeeds{});
  EXPECT_TRUE(book == empty) << "no entry stays behind";
}

}  // namespace
}  // namespace tessera::core
