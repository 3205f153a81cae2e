/// What preemption is made of: the note, budgets, answers to evictions, who may be displaced,
/// claims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/budgets.h"
#include "service/evictable.h"
#include "service/preempt_lift.h"
#include "service/preempt_note.h"
#include "service/preempt_writer.h"

namespace tessera::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- the note

PreemptionNote note() {
  return {.node = "n1",
          .devices = {{"example.com/devices", "card0,X,100,0:;"}},
          .victims = {{"u1", "team-a", "low"}, {"u2", "team-b", "lower"}},
          .deadline = WallTime(std::chrono::seconds(1'800'000'000))};
}

TEST(PreemptionNote, ComesBackAsItWasWritten) {
  const auto back = decode_note(encode_note(note()));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->node, "n1");
  EXPECT_EQ(back->devices, note().devices);
  EXPECT_EQ(back->victims, note().victims);
  EXPECT_EQ(back->deadline, note().deadline);
}

TEST(PreemptionNote, WhatIsWrongIsNamed) {
  const std::string good_victims = R"("victims":[{"uid":"u","ns":"a","name":"b"}])";
  const std::string good_head = R"({"node":"n1","deadline":"2026-08-21T08:00:00Z",)";
  struct Row {
    std::string text;
    const char* names;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"{", "tessera.io/preemption"},
           {R"({"deadline":"2026-08-21T08:00:00Z",)" + good_victims + "}", "node: is missing"},
           {R"({"node":"../x",)" + good_victims + "}", "node: cannot be \"../x\""},
           {R"({"node":"n1","deadline":"soon",)" + good_victims + "}", "deadline"},
           {good_head + R"("victims":[]})", "victims"},
           {good_head + R"("victims":[{"uid":"u","ns":"a/b","name":"b"}]})", "victims"},
           {good_head + R"("victims":[{"ns":"a","name":"b"}]})", "victims"},
           {good_head + good_victims + R"(,"devices":{"k":5}})", "devices"}}) {
    const auto read = decode_note(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_THAT(read.error().what, HasSubstr(row.names)) << row.text;
  }
}

// ---- answers

TEST(EvictionAnswer, ByWhatTheApiServerMeans) {
  struct Row {
    int status;
    const char* body;
    Eviction meaning;
  };
  const char* budget =
      R"({"message":"no","details":{"causes":[{"reason":"DisruptionBudget","message":"b"}]}})";
  for (const Row& row : std::initializer_list<Row>{
           {201, "", Eviction::kAccepted},
           {404, "", Eviction::kGone},
           {409,
            R"({"message":"Precondition failed: UID in precondition: a, UID in object meta: b"})",
            Eviction::kGone},
           {409, R"({"message":"the object has been modified"})", Eviction::kFailed},
           {403, "", Eviction::kForbidden},
           {401, "", Eviction::kForbidden},
           {429, budget, Eviction::kRefused},
           {429, R"({"message":"too many requests"})", Eviction::kFailed},
           {500, "", Eviction::kFailed},
           {0, "", Eviction::kFailed}}) {
    client::ApiResponse response;
    response.status = row.status;
    response.body = row.body;
    if (row.status == 0) response.error = "connection refused";
    EXPECT_EQ(read_eviction_answer(response), row.meaning) << row.status << " " << row.body;
  }
}

// ---- budgets

k8s::PodDisruptionBudget budget(const std::string& ns, const std::string& name,
                                const std::string& app, std::int64_t allowed,
                                const std::string& version = "1") {
  k8s::PodDisruptionBudget b{
      .ns = ns, .name = name, .uid = name, .resource_version = version, .selector = {}};
  b.selector.emplace();
  b.selector->labels = {{"app", app}};
  b.disruptions_allowed = allowed;
  return b;
}

TEST(Budgets, ByNamespaceAndLabelsTheNewestWins) {
  ManualClock clock{WallTime{}};
  Budgets budgets(clock);
  budgets.apply(budget("b", "two", "db", 3));
  budgets.apply(budget("a", "one", "db", 1));
  budgets.apply(budget("a", "three", "web", -2));
  EXPECT_THAT(budgets.allowed(), ElementsAre(1, 0, 3)) << "below 0 is none";
  EXPECT_THAT(budgets.over("a", {{"app", "db"}}), ElementsAre(0U));
  EXPECT_THAT(budgets.over("b", {{"app", "db"}}), ElementsAre(2U));
  EXPECT_THAT(budgets.over("c", {{"app", "db"}}), IsEmpty());
  budgets.apply(budget("a", "one", "db", 7, "9"));
  budgets.apply(budget("a", "one", "db", 2, "5"));
  EXPECT_THAT(budgets.allowed(), ElementsAre(7, 0, 3)) << "an older picture is late";
  budgets.remove("a", "one", 8);
  EXPECT_EQ(budgets.size(), 3U) << "it came back after that deletion";
  clock.advance(std::chrono::seconds(1));
  budgets.listed({"b/two"}, clock.mono());
  EXPECT_THAT(budgets.allowed(), ElementsAre(3));
}

// ---- claims

class ClaimTest : public testing::Test {
 protected:
  ClaimTest() {
    core::NodeSpec spec;
    spec.name = "n1";
    core::Device card;
    card.id = "card0";
    card.slots = 10;
    card.memory = MiB{1000};
    card.cores = CorePercent{100};
    card.healthy = true;
    card.vendor = VendorId{0};
    spec.devices = {card};
    spec.offered = {true};
    NodeFact node;
    node.name = "n1";
    node.spec = spec;
    books_.apply(std::move(node));
  }
  static core::Allocation slices(std::int64_t memory) {
    core::Allocation allocation;
    allocation.node = "n1";
    allocation.kinds = {core::PositionKind::kApp};
    allocation.grants = {{.position = 0,
                          .vendor = VendorId{0},
                          .device = "card0",
                          .memory = MiB{memory},
                          .cores = CorePercent{0}}};
    return allocation;
  }
  void bound(const std::string& uid, std::int64_t memory, std::int64_t priority,
             std::uint64_t version = 1, bool terminating = false) {
    PodFact fact;
    fact.ns = "default";
    fact.name = uid;
    fact.uid = uid;
    fact.version = version;
    fact.node = "n1";
    fact.asks_devices = true;
    fact.started = true;
    fact.terminating = terminating;
    fact.priority = priority;
    fact.allocation = slices(memory);
    books_.apply(std::move(fact));
  }
  Status reserve(const std::string& uid, std::int64_t memory) {
    return books_.reserve(books_.note_pod("default", uid, uid), slices(memory));
  }
  std::vector<std::string> evictable(std::int64_t priority) {
    const NodeId node = books_.cluster().find_node("n1");
    std::vector<std::string> uids;
    for (const core::Evictable& pod :
         evictable_on(books_, budgets_, {&node, 1},
                      {.priority = priority, .preemptor = "p", .leave_out = {}})
             .pods)
      uids.push_back(pod.uid.v);
    return uids;
  }

  obs::Metrics metrics_;
  ManualClock clock_{WallTime(std::chrono::seconds(1'800'000'000))};
  Books books_{core::VendorTable(1), clock_, std::chrono::seconds(600), metrics_};
  Budgets budgets_{clock_};
};

TEST_F(ClaimTest, NobodyElseIsGivenClaimedSlices) {
  bound("low", 900, 0);
  PodRecord& high = books_.note_pod("default", "high", "high");
  books_.claim(high, slices(900), clock_.mono() + std::chrono::minutes(5));
  EXPECT_TRUE(books_.only_claims("high"));
  EXPECT_FALSE(reserve("small", 100)) << "more is in use than there is";
  EXPECT_FALSE(reserve("high", 900)) << "the victim is still there";
  books_.remove_pod("low");
  EXPECT_FALSE(reserve("thief", 900));
  EXPECT_TRUE(reserve("small", 100)) << "what nobody claims is free";
  EXPECT_TRUE(reserve("high", 900));
  EXPECT_FALSE(books_.only_claims("high"));
}

TEST_F(ClaimTest, AReservationThatEndsOrExpiresLeavesTheClaim) {
  PodRecord& high = books_.note_pod("default", "high", "high");
  books_.claim(high, slices(900), clock_.mono() + std::chrono::minutes(60));
  ASSERT_TRUE(reserve("high", 900));
  books_.end_reservation("high");
  EXPECT_TRUE(books_.only_claims("high"));
  EXPECT_FALSE(reserve("thief", 900));
  ASSERT_TRUE(reserve("high", 900));
  clock_.advance(std::chrono::minutes(11));
  books_.expire_reservations();
  EXPECT_FALSE(reserve("thief", 900));
  books_.end_claim("high");
  EXPECT_TRUE(reserve("thief", 900));
}

TEST_F(ClaimTest, ItEndsWithThePodAndWithItsBinding) {
  books_.claim(books_.note_pod("default", "high", "high"), slices(900),
               clock_.mono() + std::chrono::minutes(5));
  books_.remove_pod("high");
  EXPECT_FALSE(books_.claims("high"));
  ASSERT_TRUE(reserve("next", 900));
  books_.claim(*books_.pod("next"), slices(900), clock_.mono() + std::chrono::minutes(5));
  EXPECT_TRUE(books_.only_claims("next")) << "it takes the reservation's place";
  bound("next", 900, 5, 3);
  EXPECT_FALSE(books_.claims("next"));
  books_.end_claim("next");
  EXPECT_FALSE(reserve("thief", 900)) << "a bound pod loses nothing by it";
}

TEST_F(ClaimTest, TheBooksEqualARebuildWhileSlicesAreClaimedTwice) {
  bound("low", 900, 0);
  books_.claim(books_.note_pod("default", "high", "high"), slices(900),
               clock_.mono() + std::chrono::minutes(5));
  EXPECT_THAT(books_.cluster().differences(books_.cluster().rebuild()), IsEmpty());
  {
    Lifted lifted(books_.cluster());
    lifted.off("low");
    lifted.off("nobody");
    EXPECT_EQ(books_.cluster().hold({"low"}), nullptr);
  }
  EXPECT_NE(books_.cluster().hold({"low"}), nullptr);
  EXPECT_THAT(books_.cluster().differences(books_.cluster().rebuild()), IsEmpty());
}

// ---- who may be displaced

TEST_F(ClaimTest, OnlyBoundPodsOfLowerPriorityThatStay) {
  bound("low", 100, 0);
  bound("equal", 100, 10);
  bound("leaving", 100, 0, 1, true);
  ASSERT_TRUE(reserve("reserved", 100));
  EXPECT_THAT(evictable(10), ElementsAre("low"));
  EXPECT_THAT(evictable(11), ElementsAre("equal", "low"));
  EXPECT_THAT(evictable(0), IsEmpty());
}

TEST_F(ClaimTest, NotWhileTheNodesAgentServesThem) {
  PodFact fact;
  fact.ns = "default";
  fact.name = fact.uid = "starting";
  fact.version = 1;
  fact.node = "n1";
  fact.asks_devices = true;
  fact.bind_phase = "allocating";
  fact.allocation = slices(100);
  books_.apply(PodFact(fact));
  EXPECT_THAT(evictable(10), ElementsAre("starting")) << "the node has no lock: nobody serves it";
  NodeFact node;
  node.name = "n1";
  node.version = 2;
  node.spec = books_.cluster().node(books_.cluster().find_node("n1")).spec;
  node.lock = "2026-08-21T08:00:00Z,default,starting";
  books_.apply(std::move(node));
  EXPECT_THAT(evictable(10), IsEmpty());
  fact.started = true;
  fact.version = 2;
  books_.apply(std::move(fact));
  EXPECT_THAT(evictable(10), ElementsAre("starting"));
}

}  // namespace
}  // namespace tessera::service
