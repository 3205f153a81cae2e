// Preemption of our own over the embedded API server: who goes, who may not take the room, how it
// ends.
#include <thread>

#include "json/reader.h"
#include "preempt_world.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

TEST_F(PreemptTest, APodOfHigherPriorityGetsTheRoomOfALowerOne) {
  const std::string uid = high_finds_the_node_full();
  ASSERT_TRUE(eventually([&] { return !exists("low"); }));
  ASSERT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_TRUE(eventually([&] {
    return pod_field("high", {"status", "nominatedNodeName"}) == "n1";
  }));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_TRUE(eventually([&] { return !noted("high"); }))
      << annotation("high", "tessera.io/preemption");
  EXPECT_EQ(attempts("landed"), 1);
  EXPECT_EQ(evictions(), 1);
  EXPECT_EQ(metric("tessera_preemptions_active"), 0);
  EXPECT_EQ(metric("tessera_preemption_duration_seconds_count"), 1);
}

TEST_F(PreemptTest, EveryStepIsAnEventOnBothPods) {
  const std::string uid = high_finds_the_node_full();
  EXPECT_TRUE(eventually([&] { return !events("PreemptionRoomFree").empty(); }));
  EXPECT_TRUE(eventually([&] { return fits("high", {"n1"}); }));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_TRUE(eventually([&] { return !events("PreemptionEnded").empty(); }));
  EXPECT_EQ(
      events("Preempting"),
      Names{"needs room on node n1: of lower priority, to be evicted: default/low (priority 0)"});
  EXPECT_EQ(events("EvictedForDevices"),
            Names{"its devices on node n1 go to pod default/high of priority 1000"});
  EXPECT_EQ(events("PreemptionRoomFree"), Names{"its slices on node n1 are free and held for it"});
  EXPECT_EQ(events("PreemptionEnded"), Names{"the pod is bound to node n1"});
}

TEST_F(PreemptTest, NobodyIsEvictedWhenItIsOffOrNotAllowedOrOfNoUse) {
  add_node("n1");
  add("low", {.node = "n1"});
  options_.preemption = "off";
  start_server();
  add("high", {.priority = 1000});
  add("equal", {.priority = 0});
  add("never", {.priority = 1000, .never = true});
  add("huge", {.memory = 30'000, .priority = 1000});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  stop_server();
  options_.preemption = "own";
  start_server();
  for (const char* pod : {"equal", "never", "huge"}) EXPECT_FALSE(fits(pod, {"n1"})) << pod;
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(calls("POST pods/eviction"), 0U);
  EXPECT_FALSE(leaving("low"));
  EXPECT_TRUE(fits("equal", {"n1"}) == false);
}

TEST_F(PreemptTest, Case195NobodyIsEvictedForACardThatIsNotThere) {
  add_node("n1");
  add("low", {.node = "n1"});
  start_server();
  add("high", {.priority = 1000});
  patch_pod("high", R"({"metadata":{"annotations":{"nvidia.com/use-gputype":"H100"}}})");
  settle();
  const FilterAnswer answer = filter("high", {"n1"});
  EXPECT_EQ(answer.unresolvable.count("n1"), 1U) << answer.body;
  EXPECT_EQ(attempts("begun"), 0);
  EXPECT_EQ(attempts("no_help"), 0) << "there is no node to plan for";
  EXPECT_EQ(calls("POST pods/eviction"), 0U);
}

TEST_F(PreemptTest, ALowerPodCannotTakeTheRoomWhileTheVictimLeaves) {
  add_node("n1");
  add("low", {.node = "n1", .grace = 30});
  start_server();
  const std::string uid = add("high", {.priority = 1000});
  add("thief", {.priority = 10});
  settle();
  EXPECT_FALSE(fits("high", {"n1"}));
  ASSERT_TRUE(eventually([&] { return leaving("low"); }));
  EXPECT_TRUE(exists("low")) << "it has its grace";
  EXPECT_FALSE(fits("high", {"n1"})) << "the victim still uses the card";
  EXPECT_NE(bind("high", uid, "n1"), "") << "nor by a bind without a filter";
  EXPECT_FALSE(fits("thief", {"n1"}));
  delete_pod("low");
  ASSERT_TRUE(eventually([&] { return !events("PreemptionRoomFree").empty(); }));
  EXPECT_FALSE(fits("thief", {"n1"}));
  EXPECT_TRUE(eventually([&] { return !annotation("high", "tessera.io/wake-up").empty(); }));
  EXPECT_TRUE(fits("high", {"n1"}));
  EXPECT_FALSE(fits("thief", {"n1"}));
  EXPECT_EQ(bind("high", uid, "n1"), "");
  EXPECT_EQ(calls("POST pods/eviction"), 2U) << "one with dryRun, one in earnest";
}

}  // namespace
}  // namespace tessera::test
