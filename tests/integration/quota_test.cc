// ResourceQuota where it is enforced: at the reservation. Numbers are those of the public cases.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "harness.h"

namespace tessera::test {
namespace {

constexpr std::string_view kQuotas = "/api/v1/namespaces/default/resourcequotas";

class QuotaTest : public ClusterTest {
 protected:
  /// hard: `"limits.nvidia.com/gpumem":"10000"`.
  void add_quota(const std::string& hard, const std::string& name = "q",
                 const std::string& more = {}) {
    const auto answer = api_->request(
        "POST", kQuotas,
        fmt::format(
            R"({{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"hard":{{{}}}{}}}}})",
            name, hard, more));
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  void change_quota(const std::string& hard) {
    const auto answer = api_->request("PATCH", fmt::format("{}/q", kQuotas),
                                      fmt::format(R"({{"spec":{{"hard":{{{}}}}}}})", hard),
                                      "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  bool fits(const std::string& pod) { return !filter(pod, {"n1"}).names_null; }
  bool soon_fits(const std::string& pod) {
    return eventually([&] { return fits(pod); }, std::chrono::seconds(3));
  }
  bool soon_refused(const std::string& pod) {
    return eventually([&] { return !fits(pod); }, std::chrono::seconds(3));
  }
};

TEST_F(QuotaTest, TenPodsTogetherCannotPass) {
  add_node("n1", 8);
  add_quota(R"("limits.nvidia.com/gpumem":"10000")");
  start_server();
  constexpr int kPods = 10;
  for (int i = 0; i < kPods; ++i) add_pod(fmt::format("p{}", i), {.memory = 3000});
  std::atomic<int> passed{0}, refused{0};
  std::vector<std::thread> clients;
  clients.reserve(kPods);
  for (int i = 0; i < kPods; ++i) {
    clients.emplace_back([&, i] {
      const FilterAnswer answer = filter(fmt::format("p{}", i), {"n1"});
      EXPECT_EQ(answer.error, "");
      if (!answer.names_null) ++passed;
      if (answer.unresolvable.contains("n1")) {
        ++refused;
        EXPECT_EQ(answer.unresolvable.at("n1"), "8/8 ResourceQuotaNotFit");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(passed, 3);
  EXPECT_EQ(refused, 7);
}

TEST_F(QuotaTest, TheEventNamesTheQuotaItsLimitWhatIsUsedAndWhatWasAsked) {
  add_node("n1", 2);
  add_quota(R"("limits.nvidia.com/gpumem":"10000")", "team");
  add_running("a", "n1", 6000);
  start_server();
  add_pod("p", {.memory = 5000});
  EXPECT_FALSE(fits("p"));
  ASSERT_TRUE(eventually([&] { return !events("FilteringFailed").empty(); }));
  const std::string text = events("FilteringFailed").front();
  for (const char* part : {"team", "10000", "6000", "5000", "ResourceQuotaNotFit"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST_F(QuotaTest, Case108SeveralCardsCountEach) {
  add_node("n1", 2);
  add_quota(R"("limits.nvidia.com/gpumem":"10000")");
  start_server();
  add_pod("too-much", {.count = 2, .memory = 6000});
  add_pod("enough", {.count = 2, .memory = 5000});
  EXPECT_FALSE(fits("too-much"));
  EXPECT_TRUE(fits("enough"));
}

TEST_F(QuotaTest, Case112WholeCardsAndPercentagesAreCountedByTheCardTheyGet) {
  add_node("n1");
  add_quota(R"("limits.nvidia.com/gpumem":"12000")");
  start_server();
  add_pod("whole", {.memory = 0});
  EXPECT_FALSE(fits("whole")) << "24576 MiB";
  ASSERT_TRUE(eventually([&] { return !events("FilteringFailed").empty(); }));
  const std::string text = events("FilteringFailed").front();
  EXPECT_NE(text.find("quota q allows 12000 MiB of memory, 0 are used"), std::string::npos) << text;
  const std::string half =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"half","namespace":"default"},"spec":{"containers":[{"name":"c","image":"none","resources":{"limits":{"nvidia.com/gpu":"1","nvidia.com/gpumem-percentage":"50"}}}]}})";
  ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods", half).status, 201);
  EXPECT_FALSE(fits("half")) << "12288 MiB";
  change_quota(R"("limits.nvidia.com/gpumem":"12288")");
  EXPECT_TRUE(soon_fits("half"));
}

TEST_F(QuotaTest, Case113ALimitOfZeroBlocks) {
  add_node("n1");
  add_quota(R"("limits.nvidia.com/gpumem":"0")");
  start_server();
  add_pod("p", {.memory = 1});
  EXPECT_FALSE(fits("p"));
}

TEST_F(QuotaTest, Case114EveryChangeTakesEffectAndUseIsKept) {
  add_node("n1", 2);
  add_quota(R"("limits.nvidia.com/gpumem":"10000","limits.nvidia.com/gpucores":"200")");
  add_running("a", "n1", 4000);
  start_server();
  add_pod("p", {.memory = 2000});
  EXPECT_TRUE(fits("p")) << "4000 + 2000";
  delete_pod("p");
  change_quota(R"("limits.nvidia.com/gpumem":"5000")");
  add_pod("q", {.memory = 2000});
  EXPECT_TRUE(soon_refused("q")) << "the pod that runs still counts";
  change_quota(R"("limits.nvidia.com/gpumem":null)");
  EXPECT_TRUE(soon_fits("q")) << "the key is gone: no limit";
  change_quota(R"("limits.nvidia.com/gpumem":"5000")");
  EXPECT_TRUE(soon_refused("q"));
  api_->stall_watches(true);  // the deletion is missed, the next list tells it
  ASSERT_EQ(api_->request("DELETE", fmt::format("{}/q", kQuotas)).status, 200);
  api_->stall_watches(false);
  api_->drop_watches();
  api_->forget_history();
  EXPECT_TRUE(soon_fits("q"));
}

TEST_F(QuotaTest, Case116NamesAreComparedWhole) {
  add_node("n1");
  add_quota(
      R"("limits.nvidia.com/gpumem-percentage":"1","limits.nvidia.com/gpumemfoo":"1","limits.nvidia.com/gp":"0","nvidia.com/gpumem":"1")");
  start_server();
  add_pod("p", {.memory = 20'000});
  EXPECT_TRUE(fits("p"));
}

TEST_F(QuotaTest, Case117WhatIsFreedIsGivenBackExactly) {
  add_node("n1");
  add_quota(R"("limits.nvidia.com/gpumem":"10000","limits.nvidia.com/gpu":"1")");
  start_server();
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("p{}", i);
    const std::string uid = add_pod(name, {.memory = 6000});
    ASSERT_TRUE(soon_fits(name)) << i;
    ASSERT_TRUE(fits(name)) << "a repeated filter counts its own reservation as free: " << i;
    if (i % 4 == 0) {  // a failed bind: the node is not the reserved one
      EXPECT_NE(bind(name, uid, "elsewhere"), "");
    } else if (i % 4 == 1) {  // runs and ends by itself
      ASSERT_EQ(bind(name, uid, "n1"), "");
      agent_serves(name, "n1");
      patch_pod(name, R"({"metadata":{"annotations":{"example.com/touched":"1"}}})");
      patch_pod(name, R"({"status":{"phase":"Succeeded"}})", "status");
      continue;
    }
    delete_pod(name);
  }
  add_pod("last", {.memory = 10'000});
  EXPECT_TRUE(soon_fits("last")) << "the use is back at 0";
}

TEST_F(QuotaTest, Case120LimitAndUseAreMetricsInOneUnit) {
  add_node("n1");
  add_quota(R"("limits.nvidia.com/gpumem":"10000")");
  add_running("a", "n1", 6000);
  start_server();
  const auto row = [&](const std::string& name) {
    return metric("tessera_resource_quota_" + name +
                  R"({namespace="default",quota="q",resource="nvidia.com/gpumem"})");
  };
  EXPECT_EQ(row("limit"), 10'000);
  EXPECT_EQ(row("used"), 6000);
  EXPECT_EQ(
      metric(
          R"(hami_resource_quota_limit{namespace="default",quota_name="nvidia.com/gpumem",zone="vGPU"})"),
      10'000);
  ASSERT_EQ(api_->request("DELETE", fmt::format("{}/q", kQuotas)).status, 200);
  EXPECT_TRUE(eventually([&] { return row("limit") == -1; })) << "gone with its quota";
}

TEST_F(QuotaTest, ARestartRebuildsWhatIsUsed) {
  add_node("n1", 2);
  add_quota(R"("limits.nvidia.com/gpumem":"10000")");
  add_running("a", "n1", 6000);
  start_server();
  add_pod("p", {.memory = 5000});
  EXPECT_FALSE(fits("p"));
  stop_server();
  start_server();
  EXPECT_FALSE(fits("p"));
  add_pod("q", {.memory = 4000});
  EXPECT_TRUE(fits("q"));
}

TEST_F(QuotaTest, SeveralObjectsTheLowestCountsAndScopesChoose) {
  add_node("n1", 2);
  add_quota(R"("limits.nvidia.com/gpumem":"9000")", "wide");
  add_quota(R"("limits.nvidia.com/gpumem":"1000")", "jobs", R"(,"scopes":["Terminating"])");
  start_server();
  add_pod("service", {.memory = 5000});
  EXPECT_TRUE(fits("service")) << "only the wide one is about it";
  const std::string job =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"job","namespace":"default"},"spec":{"activeDeadlineSeconds":60,"containers":[{"name":"c","image":"none","resources":{"limits":{"nvidia.com/gpu":"1","nvidia.com/gpumem":"2000"}}}]}})";
  ASSERT_EQ(api_->request("POST", "/api/v1/namespaces/default/pods", job).status, 201);
  EXPECT_FALSE(fits("job"));
  add_pod("second", {.memory = 5000});
  EXPECT_FALSE(fits("second"));
}

TEST_F(QuotaTest, WithoutTheRightToReadQuotasTheRestGoesOn) {
  add_node("n1");
  add_quota(R"("limits.nvidia.com/gpumem":"1000")");
  api_->inject({.match = "/api/v1/resourcequotas", .times = -1, .status = 403});
  start_server();
  EXPECT_EQ(metric("tessera_quota_watch"), 0);
  add_pod("p", {.memory = 2000});
  EXPECT_TRUE(fits("p"));
  api_->clear_faults();
  EXPECT_TRUE(eventually([&] { return !fits("p"); }, std::chrono::seconds(10)))
      << "once the right is there, they count";
  EXPECT_EQ(metric("tessera_quota_watch"), 1);
}

TEST_F(QuotaTest, ASimulationCountsWhatTheNamespaceHasLeft) {
  add_node("n1");
  add_quota(R"("limits.nvidia.com/gpumem":"10000")");
  add_running("a", "n1", 6000);
  start_server();
  const auto simulate = [&](const std::string& pod, int memory) {
    return filter_body(fmt::format(R"({{"Pod":{},"Nodes":{{"items":[{}]}}}})",
                                   pod_json(pod, {.memory = memory}), node_json("new", 1, 24'576)));
  };
  EXPECT_TRUE(eventually([&] { return simulate("big", 5000).nodes.empty(); }));
  EXPECT_EQ(simulate("small", 4000).nodes, std::vector<std::string>{"new"});
  EXPECT_EQ(metric("tessera_reservations"), 0);
}

}  // namespace
}  // namespace tessera::test
