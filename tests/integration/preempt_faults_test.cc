// Preemptions that meet refusals, errors and the end of their own pod.
#include <thread>

#include "preempt_world.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

constexpr const char* kEviction = "/eviction";

TEST_F(PreemptTest, ABudgetThatIsSeenIsNotEvenAsked) {
  add_node("n1", 2);
  add("kept", {.node = "n1", .card = 0, .app = "db"});
  add("low", {.priority = 5, .node = "n1", .card = 1});
  add_budget("db", "db", 0);
  start_server();
  const std::string uid = add("high", {.priority = 1000});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return !exists("low"); })) << "although its priority is the higher";
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_FALSE(leaving("kept"));
  EXPECT_EQ(calls("POST pods/eviction"), 2U);
}

TEST_F(PreemptTest, ABudgetThatOnlyTheApiServerKnowsMovesOnToTheNextSet) {
  api_->inject({.match = "/poddisruptionbudgets", .times = -1, .status = 403});
  add_node("n1", 2);
  add("kept", {.node = "n1", .card = 0, .app = "db"});
  add("low", {.priority = 5, .node = "n1", .card = 1});
  add_budget("db", "db", 0);
  start_server();
  const std::string uid = add("high", {.priority = 1000});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return !exists("low"); }));
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_NE(annotation("high", "hami.io/vgpu-devices-allocated").find("n1-card1"),
            std::string::npos);
  EXPECT_FALSE(leaving("kept"));
  EXPECT_EQ(metric(R"(tessera_preemption_victims_total{result="refused"})"), 1);
  EXPECT_EQ(attempts("partial"), 0) << "nobody had gone";
  ASSERT_TRUE(eventually([&] { return events("PreemptionReplanned").size() == 1; }));
  EXPECT_NE(events("PreemptionReplanned")[0].find("pod default/kept is not evicted"),
            std::string::npos);
}

TEST_F(PreemptTest, WhereEverySetIsRefusedNobodyGoesAndTheSlicesAreFree) {
  api_->inject({.match = "/poddisruptionbudgets", .times = -1, .status = 403});
  add_node("n1");
  add("kept", {.node = "n1", .app = "db"});
  add_budget("db", "db", 0);
  start_server();
  add("high", {.priority = 1000});
  add("small", {.memory = 4'000});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  EXPECT_TRUE(eventually([&] { return attempts("refused") == 1; }));
  EXPECT_FALSE(leaving("kept"));
  EXPECT_TRUE(fits("small", {"n1"})) << "nothing is held any more";
  EXPECT_TRUE(eventually([&] { return !noted("high"); }));
}

TEST_F(PreemptTest, RefusedAfterOthersWentTheirRoomIsKept) {
  add_node("n1");
  add_node("n2");
  add("a", {.memory = 8'000, .priority = 0, .node = "n1", .grace = 30, .app = "a"});
  add("b", {.memory = 8'000, .priority = 1, .node = "n1", .app = "b"});
  add("c", {.memory = 8'000, .priority = 3, .node = "n1", .app = "c"});
  add("other", {.memory = 16'000, .priority = 2, .node = "n2"});
  for (const char* app : {"a", "b"}) add_budget(app, app, 1);
  start_server();
  const std::string uid = add("high", {.memory = 16'000, .priority = 1000});
  settle();
  // Time to lower b's budget between the two questions and the second eviction.
  api_->inject({.match = "pods/a/eviction", .times = -1, .delay = milliseconds(400)});
  EXPECT_FALSE(fits("high", {"n1", "n2"}));
  ASSERT_TRUE(eventually([&] { return calls("POST pods/eviction") >= 3; }));
  allow("b", 0);
  ASSERT_TRUE(eventually([&] { return !exists("c"); }))
      << "in the place of b, while a still leaves";
  EXPECT_TRUE(exists("a"));
  EXPECT_FALSE(fits("high", {"n1", "n2"}));
  delete_pod("a");
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1", "n2"}); }));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_FALSE(leaving("b"));
  EXPECT_FALSE(leaving("other")) << "cheaper than c, but a would have gone in vain";
  EXPECT_EQ(attempts("partial"), 1);
  EXPECT_TRUE(eventually([&] { return attempts("landed") == 1; }));
}

TEST_F(PreemptTest, AnErrorBetweenTwoEvictionsIsTriedAgain) {
  add_node("n1");
  add("a", {.memory = 12'000, .node = "n1"});
  add("b", {.memory = 12'000, .priority = 1, .node = "n1"});
  start_server();
  const std::string uid = add("high", {.memory = 24'000, .priority = 1000});
  settle();
  api_->inject({.match = "pods/a/eviction", .times = 1, .drop_after_effect = true});
  api_->inject({.match = "pods/b/eviction", .times = 2, .status = 500});
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return !exists("a") && !exists("b"); }));
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_EQ(evictions(), 2);
}

TEST_F(PreemptTest, AnEvictionWhoseAnswerIsLostIsNotASecondOne) {
  add_node("n1");
  add("low", {.node = "n1"});
  start_server();
  const std::string uid = add("high", {.priority = 1000});
  settle();
  api_->inject({.match = kEviction, .times = 2, .drop_after_effect = true});
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return !exists("low"); }));
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_TRUE(eventually([&] { return attempts("landed") == 1; }));
}

TEST_F(PreemptTest, WithoutTheRightNothingIsTriedForLong) {
  add_node("n1");
  add("low", {.node = "n1"});
  start_server();
  add("high", {.priority = 1000});
  settle();
  api_->inject({.match = kEviction, .times = -1, .status = 403});
  EXPECT_FALSE(fits("high", {"n1"}));
  EXPECT_TRUE(eventually([&] { return attempts("forbidden") == 1; }));
  EXPECT_EQ(calls("POST pods/eviction"), 1U);
  EXPECT_FALSE(fits("high", {"n1"})) << "within its pause";
  EXPECT_EQ(attempts("begun"), 1);
}

TEST_F(PreemptTest, APreemptorThatIsDeletedHalfWayStopsIt) {
  add_node("n1");
  add("a", {.memory = 12'000, .node = "n1"});
  add("b", {.memory = 12'000, .priority = 1, .node = "n1"});
  start_server();
  add("high", {.memory = 24'000, .priority = 1000});
  add("small", {.memory = 12'000});
  settle();
  api_->inject({.match = "pods/b/eviction", .times = -1, .delay = milliseconds(300)});
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return calls("POST pods/eviction") >= 2; }));
  delete_pod("high");
  EXPECT_TRUE(eventually([&] { return attempts("pod_gone") == 1; }));
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_FALSE(leaving("b"));
  if (!exists("a")) {
    EXPECT_TRUE(eventually([&] { return fits("small", {"n1"}); }));
  }
  EXPECT_EQ(metric("tessera_preemptions_active"), 0);
}

TEST_F(PreemptTest, AfterTheDeadlineTheSlicesAreFreeForOthers) {
  options_.preemption_deadline = milliseconds(700);
  add_node("n1");
  add("low", {.node = "n1"});
  start_server();
  add("high", {.priority = 1000});
  add("other", {.priority = 1});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return !exists("low"); }));
  EXPECT_FALSE(fits("other", {"n1"}));
  EXPECT_TRUE(eventually([&] { return attempts("expired") == 1; }));
  EXPECT_TRUE(fits("other", {"n1"}));
  EXPECT_TRUE(eventually([&] { return !noted("high"); }));
}

TEST_F(PreemptTest, AReservationThatEndsUnboundFallsBackToTheClaim) {
  options_.reservation_ttl = milliseconds(300);
  add_node("n1");
  add("low", {.node = "n1"});
  start_server();
  const std::string uid = add("high", {.priority = 1000});
  add("thief", {.priority = 1});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_TRUE(eventually([&] { return metric("tessera_reservations_expired_total") == 1; }));
  EXPECT_FALSE(fits("thief", {"n1"}));
  EXPECT_EQ(bind("high", uid, "n1"), "") << "a bind decides again, on what is held for it";
}

TEST_F(PreemptTest, RoomThatAppearsElsewhereMakesItUnneeded) {
  add_node("n1");
  add("low", {.node = "n1"});
  start_server();
  const std::string uid = add("high", {.priority = 1000});
  settle();
  api_->inject({.match = kEviction, .times = -1, .status = 500});
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return noted("high"); }));
  add_node("n2");
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1", "n2"}); }));
  EXPECT_EQ(attempts("unneeded"), 1);
  EXPECT_EQ(bind("high", uid, "n2"), "");
  EXPECT_FALSE(leaving("low"));
}

TEST_F(PreemptTest, APodWhoseAgentIsServingItIsLeftAloneUntilItIsDone) {
  add_node("n1");
  start_server();
  const std::string low = add("low", {});
  settle();
  EXPECT_TRUE(fits("low", {"n1"}));
  EXPECT_EQ(bind("low", low, "n1"), "");
  ASSERT_TRUE(owns_lock("low"));
  add("high", {.priority = 1000});
  EXPECT_TRUE(eventually([&] { return !fits("high", {"n1"}); }));
  EXPECT_EQ(attempts("begun"), 0);
  agent_serves("low", "n1");
  EXPECT_TRUE(eventually([&] { return !annotation("high", "tessera.io/wake-up").empty(); }))
      << "it is woken to ask again";
  EXPECT_FALSE(fits("high", {"n1"}));
  EXPECT_TRUE(eventually([&] { return leaving("low"); }));
}

TEST_F(PreemptTest, PlansAreLimitedAndWhoWasTurnedAwayIsWoken) {
  options_.preemption_qps = 1;
  options_.preemption_burst = 1;
  add_node("n1", 2);
  add("a", {.node = "n1", .card = 0, .grace = 30});
  add("b", {.node = "n1", .card = 1, .grace = 30});
  start_server();
  add("one", {.priority = 1000});
  add("two", {.priority = 1000});
  settle();
  EXPECT_FALSE(fits("one", {"n1"}));
  EXPECT_FALSE(fits("two", {"n1"}));
  EXPECT_EQ(attempts("begun"), 1);
  EXPECT_EQ(attempts("limited"), 1);
  ASSERT_TRUE(eventually([&] { return !annotation("two", "tessera.io/wake-up").empty(); }));
  EXPECT_FALSE(fits("two", {"n1"}));
  EXPECT_TRUE(eventually([&] { return leaving("a") && leaving("b"); }));
  EXPECT_EQ(attempts("begun"), 2) << "each has its own victim";
}

TEST_F(PreemptTest, WhereNobodyIsWokenTheRoomStillWaits) {
  options_.wake_up_pending = false;
  const std::string uid = high_finds_the_node_full();
  EXPECT_TRUE(eventually([&] { return !events("PreemptionRoomFree").empty(); }));
  EXPECT_TRUE(annotation("high", "tessera.io/wake-up").empty());
  EXPECT_TRUE(fits("high", {"n1"}));
  EXPECT_EQ(bind("high", uid, "n1"), "");
}

TEST_F(PreemptTest, RoomThatIsLostBeginsAnewAfterAPause) {
  add_node("n1");
  add("low", {.node = "n1", .grace = 30});
  start_server();
  const std::string uid = add("high", {.priority = 1000});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return leaving("low"); }));
  delete_pod("low");
  ASSERT_TRUE(eventually([&] { return !events("PreemptionRoomFree").empty(); }));
  add("foreign", {.priority = 5, .node = "n1"});  // bound by somebody who asks nobody
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  EXPECT_EQ(attempts("lost"), 1);
  EXPECT_TRUE(eventually(
      [&] {
        fits("high", {"n1"});
        return leaving("foreign");
      },
      seconds(10)));
}

TEST_F(PreemptTest, TheNominatedNodeAskedAloneIsNotTheWholeQuestion) {
  add_node("n1");
  add_node("n2");
  add("dear", {.priority = 500, .node = "n1"});
  add("cheap", {.priority = 0, .node = "n2"});
  start_server();
  add("high", {.priority = 1000});
  patch_pod("high", R"({"status":{"nominatedNodeName":"n1"}})", "status");
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  EXPECT_EQ(attempts("begun"), 0);
  EXPECT_FALSE(fits("high", {"n1", "n2"}));
  EXPECT_TRUE(eventually([&] { return leaving("cheap"); }));
  EXPECT_FALSE(leaving("dear"));
}

}  // namespace
}  // namespace tessera::test
