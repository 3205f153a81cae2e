// Pods that were refused are touched when room appears (S-41): their scheduler then looks again.
#include <fmt/format.h>

#include <thread>

#include "harness.h"

namespace tessera::test {
namespace {

class WakeUpTest : public ClusterTest {
 protected:
  bool woken(const std::string& pod) { return !annotation(pod, "tessera.io/wake-up").empty(); }
  int woken_of(const std::vector<std::string>& pods) {
    int count = 0;
    for (const std::string& pod : pods) count += woken(pod) ? 1 : 0;
    return count;
  }
  double touches() { return metric(R"(tessera_wake_ups_total{result="sent"})"); }
  void refuse(const std::string& pod) { ASSERT_TRUE(filter(pod, {"n1", "n2"}).names_null) << pod; }
};

TEST_F(WakeUpTest, APodThatEndsWakesOneThatFitsInItsPlace) {
  add_node("n1");
  add_running("a", "n1", 20'000);
  start_server();
  add_pod("p", {.memory = 20'000});
  add_pod("too-large", {.memory = 24'577});
  refuse("p");
  refuse("too-large");
  settle();
  EXPECT_FALSE(woken("p"));
  delete_pod("a");
  EXPECT_TRUE(eventually([&] { return woken("p"); }));
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_FALSE(woken("too-large")) << "it fits nowhere";
}

TEST_F(WakeUpTest, OnlyAsManyAsCouldFitOldestFirst) {
  add_node("n1");
  add_running("a", "n1", 20'000);
  start_server();
  const std::vector<std::string> pods = {"p1", "p2", "p3"};
  for (const std::string& pod : pods) {
    add_pod(pod, {.memory = 20'000});
    refuse(pod);
  }
  settle();
  delete_pod("a");
  EXPECT_TRUE(eventually([&] { return woken("p1"); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(woken_of(pods), 1);
}

TEST_F(WakeUpTest, ANewNodeAndAHigherQuotaWakeToo) {
  add_node("n1");
  start_server();
  add_pod("large", {.memory = 40'000});
  refuse("large");
  settle();
  add_node("n2", 1, 81'920);
  EXPECT_TRUE(eventually([&] { return woken("large"); }));

  const std::string quotas = "/api/v1/namespaces/default/resourcequotas";
  ASSERT_EQ(
      api_->request(
              "POST", quotas,
              R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"default"},"spec":{"hard":{"limits.nvidia.com/gpumem":"100"}}})")
          .status,
      201);
  add_pod("limited", {.memory = 5000});
  ASSERT_TRUE(eventually([&] { return filter("limited", {"n1"}).names_null; }));
  EXPECT_FALSE(woken("limited"));
  ASSERT_EQ(api_->request("PATCH", quotas + "/q",
                          R"({"spec":{"hard":{"limits.nvidia.com/gpumem":"50000"}}})",
                          "application/merge-patch+json")
                .status,
            200);
  EXPECT_TRUE(eventually([&] { return woken("limited"); }));
}

TEST_F(WakeUpTest, APodIsNotTouchedAgainBeforeItsPauseIsOver) {
  add_node("n1");
  start_server();
  add_pod("p", {.memory = 20'000});
  settle();
  for (int i = 0; i < 6; ++i) {  // room comes and goes six times within a second
    const std::string blocker = fmt::format("b{}", i);
    add_running(blocker, "n1", 20'000);
    ASSERT_TRUE(eventually([&] { return filter("p", {"n1"}).names_null; }));
    delete_pod(blocker);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  EXPECT_GE(touches(), 1);
  EXPECT_LE(touches(), 3);
}

TEST_F(WakeUpTest, AfterARestartWhoIsCalledUnschedulableIsAskedAgain) {
  add_node("n1");
  add_pod("p", {.memory = 20'000});
  patch_pod(
      "p",
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"PodScheduled","status":"False","lastTransitionTime":"{}"}}]}}}})",
          format_rfc3339(clock_.wall())),
      "status");
  start_server();
  EXPECT_TRUE(eventually([&] { return woken("p"); }));
}

TEST_F(WakeUpTest, ItCanBeSwitchedOff) {
  options_.wake_up_pending = false;
  add_node("n1");
  add_running("a", "n1", 20'000);
  start_server();
  add_pod("p", {.memory = 20'000});
  refuse("p");
  delete_pod("a");
  EXPECT_TRUE(eventually([&] { return !filter("p", {"n1"}).names_null; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(woken("p"));
  EXPECT_EQ(calls("PATCH pods"), 0U);
}

}  // namespace
}  // namespace tessera::test
