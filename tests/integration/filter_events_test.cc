// What a filter call says besides its answer, and nodes that change their labels and cordons.
#include <fmt/format.h>

#include <chrono>

#include "harness.h"

namespace tessera::test {
namespace {

class FilterEventsTest : public ClusterTest {};

TEST_F(FilterEventsTest, SuccessNamesAFewOfThoseThatFitWithTheirScores) {
  std::vector<std::string> names;
  for (int i = 0; i < 9; ++i) names.push_back(fmt::format("n{}", i));
  for (const std::string& name : names) add_node(name);
  add_node("small", 1, 1000);
  names.emplace_back("small");
  start_server();
  add_pod("p", {.memory = 5000});
  EXPECT_EQ(filter("p", names).names, std::vector<std::string>{"n0"});
  ASSERT_TRUE(eventually([&] { return events("FilteringSucceed").size() == 1; }));
  const std::string text = events("FilteringSucceed").front();
  EXPECT_EQ(text.rfind("find fit node(n0), 1 nodes not fit, 9 nodes fit(n1:", 0), 0U) << text;
  EXPECT_NE(text.find(",…,n0:"), std::string::npos) << text;
  EXPECT_EQ(text.find("n7"), std::string::npos) << "capped: " << text;
}

TEST_F(FilterEventsTest, AStopTakesNoEventAway) {
  add_node("n1");
  start_server();
  for (const char* pod : {"a", "b", "c"}) {
    add_pod(pod, {.memory = 1000});
    filter(pod, {"n1"});
  }
  stop_server();
  EXPECT_EQ(events("FilteringSucceed").size(), 3U) << "two of them waited for the next second";
}

/// Two events a pod are more than their budget carries: what warns of something goes out first.
TEST_F(FilterEventsTest, AWarningDoesNotWaitBehindSuccesses) {
  constexpr int kPods = 120;
  const std::vector<std::string> nodes = {"n1", "n2"};
  for (const std::string& node : nodes) add_node(node, 8);
  api_->inject({.match = "POST /api/v1/namespaces/default/events",
                .times = -1,
                .delay = std::chrono::milliseconds(1000)});  // a few a second, on any machine
  start_server();
  for (int i = 0; i < kPods; ++i) {
    add_pod(fmt::format("p{}", i), {.memory = 1000});
    EXPECT_FALSE(filter(fmt::format("p{}", i), nodes).names_null) << i;
  }
  add_pod("huge", {.memory = 30'000});
  EXPECT_TRUE(filter("huge", nodes).names_null);
  ASSERT_TRUE(
      eventually([&] { return events("FilteringFailed").size() == 1; }, std::chrono::seconds(60)));
  EXPECT_LT(events("FilteringSucceed").size(), 60U)
      << "those before it took more than ten seconds of the server";
  EXPECT_EQ(metric("tessera_events_dropped_total"), 0);
  EXPECT_EQ(metric("tessera_events_failed_total"), 0);
  api_->clear_faults();
}

TEST_F(FilterEventsTest, FailureGivesReasonsAndOneSentence) {
  add_node("n1");
  add_node("n2", 1, 1000);
  start_server();
  add_pod("p", {.memory = 30'000});
  EXPECT_TRUE(filter("p", {"n1", "n2", "ghost"}).names_null);
  ASSERT_TRUE(eventually([&] { return events("FilteringFailed").size() == 1; }));
  const std::string text = events("FilteringFailed").front();
  for (const char* part :
       {"no available node, 3 nodes do not meet: ", "2 nodes CardInsufficientMemory(n1,n2)",
        "1 nodes node unregistered(ghost)", "0 of 3 nodes fit", "24576"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST_F(FilterEventsTest, Case47OneCappedEventPerPodAndNoWaitingForEvents) {
  constexpr int kNodes = 500, kPods = 100;
  std::vector<std::string> names;
  for (int i = 0; i < kNodes; ++i) {
    names.push_back(fmt::format("n{:03}", i));
    add_node(names.back(), 1, 1000);
  }
  api_->inject({.match = "POST /api/v1/namespaces/default/events",
                .times = -1,
                .delay = std::chrono::milliseconds(200)});
  start_server();
  for (int i = 0; i < kPods; ++i) add_pod(fmt::format("p{}", i), {.memory = 2000});
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kPods; ++i)
      EXPECT_EQ(filter(fmt::format("p{}", i), names).failed.size(), 500U);
  }
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken, std::chrono::seconds(20)) << "200 calls do not wait for 200 ms each";
  api_->clear_faults();
  ASSERT_TRUE(eventually([&] { return !events("FilteringFailed").empty(); }));
  std::map<std::string, int> by_text;
  for (const std::string& text : events("FilteringFailed")) {
    EXPECT_LE(text.size(), 1024U);
    EXPECT_NE(text.find("500 nodes CardInsufficientMemory(n000,n001,n002,n003,n004,…)"),
              std::string::npos)
        << text;
  }
  EXPECT_LE(events("FilteringFailed").size(), static_cast<std::size_t>(kPods));
}

TEST_F(FilterEventsTest, ANodeThatStopsMatchingTheSelectorIsNoCandidateAndItsPodsStayCounted) {
  options_.node_label_selector = "pool=gpu";
  for (const char* name : {"n1", "n2"}) {
    add_node(name);
    patch_node(name, R"({"metadata":{"labels":{"pool":"gpu"}}})");
  }
  add_running("a", "n1", 20'000);
  start_server();
  add_pod("p", {.memory = 4000});
  add_pod("big", {.memory = 10'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  patch_node("n1", R"({"metadata":{"labels":{"pool":"cpu"}}})");
  EXPECT_TRUE(eventually([&] { return filter("p", {"n1"}).unresolvable.contains("n1"); }));
  EXPECT_EQ(filter("p", {"n1"}).unresolvable.at("n1"), "node unregistered");
  patch_node("n1", R"({"metadata":{"labels":{"pool":"gpu"}}})");
  EXPECT_TRUE(eventually([&] { return !filter("p", {"n1"}).names_null; }));
  EXPECT_EQ(filter("big", {"n1"}).failed.at("n1"), "1/1 CardInsufficientMemory")
      << "the pod that runs there was counted all the time";
}

TEST_F(FilterEventsTest, ACordonedCardIsClosedAndOpenedLive) {
  add_node("n1", 1);
  start_server();
  add_pod("p");
  patch_node("n1", R"({"metadata":{"annotations":{"hami.io/device-cordon":"n1-card0"}}})");
  EXPECT_TRUE(eventually([&] { return filter("p", {"n1"}).names_null; }));
  EXPECT_EQ(filter("p", {"n1"}).unresolvable.at("n1"), "1/1 CardCordoned");
  patch_node("n1", R"({"metadata":{"annotations":{"hami.io/device-cordon":null}}})");
  EXPECT_TRUE(eventually([&] { return !filter("p", {"n1"}).names_null; }));
}

TEST_F(FilterEventsTest, D5WhereEvictionCannotHelpIsSaid) {
  add_node("two", 2);
  add_node("full", 1);
  add_running("a", "full", 24'000);
  start_server();
  add_pod("three", {.count = 3});
  const FilterAnswer few = filter("three", {"two"});
  EXPECT_EQ(few.unresolvable.at("two"), "NodeInsufficientDevice");
  add_pod("p", {.memory = 5000});
  const FilterAnswer busy = filter("p", {"full", "ghost"});
  EXPECT_EQ(busy.failed.at("full"), "1/1 CardInsufficientMemory");
  EXPECT_EQ(busy.unresolvable.at("ghost"), "node unregistered");
}

TEST_F(FilterEventsTest, ANewUidUnderTheSameNameIsAnotherPod) {
  add_node("n1");
  start_server();
  const std::string first = add_pod("p", {.memory = 20'000});
  EXPECT_FALSE(filter("p", {"n1"}).names_null);
  EXPECT_EQ(bind("p", first, "n1"), "");
  agent_serves("p", "n1");
  delete_pod("p");
  const std::string second = add_pod("p", {.memory = 24'000});
  EXPECT_NE(first, second);
  EXPECT_TRUE(eventually([&] { return !filter("p", {"n1"}).names_null; }))
      << "what the first one held is free";
  EXPECT_EQ(bind("p", second, "n1"), "");
}

}  // namespace
}  // namespace tessera::test
