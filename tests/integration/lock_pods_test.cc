/// Which pods lock their node, and what becomes of locks whose pod changes under them. Source:
/// spec/node-agent-protocol.md sections 6 and 12.
#include <fmt/format.h>

#include <chrono>

#include "harness.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kDevice =
    R"("resources":{"limits":{"nvidia.com/gpu":"1","nvidia.com/gpumem":"1000"}})";

class LockPodsTest : public ClusterTest {
 protected:
  /// Creates a pod from its spec's text (and more metadata), lets it pass filter for n1.
  std::string filtered(const std::string& name, const std::string& spec,
                       const std::string& metadata = {}) {
    const auto made = api_->request(
        "POST", "/api/v1/namespaces/default/pods",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"{}}},"spec":{{"schedulerName":"hami-scheduler",{}}}}})",
            name, metadata, spec));
    EXPECT_EQ(made.status, 201) << made.body;
    const FilterAnswer answer = filter(name, {"n1"});
    EXPECT_EQ(answer.names, std::vector<std::string>{"n1"}) << answer.body;
    return pod_field(name, {"metadata", "uid"});
  }
  static std::string one(std::string_view container) {
    return fmt::format(R"("containers":[{{"name":"main","image":"i",{}}}])", container);
  }
};

TEST_F(LockPodsTest, Rule3APodWhoseInitContainersAloneAskForDevicesLocks) {
  add_node("n1");
  start_server();
  const std::string uid =
      filtered("p", fmt::format(R"("initContainers":[{{"name":"init","image":"i",{}}}],)"
                                R"("containers":[{{"name":"main","image":"i"}}])",
                                kDevice));
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_TRUE(owns_lock("p"));
}

TEST_F(LockPodsTest, APodWithoutDevicesDoesNotLockNorWait) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(1), "default,owner"));
  start_server();
  const std::string uid = filtered("p", one(R"("resources":{"limits":{"cpu":"1"}})"));
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(bound_node("p"), "n1");
  EXPECT_FALSE(owns_lock("p"));
}

class GangTest : public LockPodsTest, public testing::WithParamInterface<const char*> {};

TEST_P(GangTest, Case88MembersOnOneNodeAreServedOneAfterTheOther) {
  add_node("n1", 2);
  start_server();
  const bool by_label = std::string_view(GetParam()) == "label";
  std::vector<std::string> names;
  std::vector<std::future<std::string>> binds;
  for (int i = 0; i < 5; ++i) {
    names.push_back(fmt::format("g{}", i));
    const std::string uid = filtered(
        names.back(), one(kDevice) + (by_label ? "" : R"(,"schedulingGroup":{"podGroupName":"g"})"),
        by_label ? R"(,"labels":{"scheduling.x-k8s.io/pod-group":"g"})" : "");
    binds.push_back(bind_later(names.back(), uid, "n1"));
    ASSERT_TRUE(eventually(
        [&] { return i == 0 ? owns_lock("g0") : metric("tessera_bind_queue_length") == i; }));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(binds[i].get(), "");
    EXPECT_TRUE(owns_lock(names[i]));
    std::this_thread::sleep_for(milliseconds(22));
    agent_serves(names[i], "n1");
  }
}
INSTANTIATE_TEST_SUITE_P(By, GangTest, testing::Values("label", "schedulingGroup"),
                         [](const auto& param) { return std::string(param.param); });

// ---- two vendors

class TwoVendorsTest : public LockPodsTest {
 protected:
  /// n1 with a card of either vendor.
  void add_mixed_node() {
    add_node("n1");
    patch_node(
        "n1",
        R"({"metadata":{"annotations":{"hami.io/node-register-xpu":"[{\"id\":\"xpu-0\",\"count\":4,\"devmem\":98304,\"devcore\":100,\"type\":\"XPU-P800\",\"health\":true}]"}}})");
    const auto status = api_->request(
        "PATCH", "/api/v1/nodes/n1/status",
        R"({"status":{"capacity":{"kunlunxin.com/vxpu":"4"},"allocatable":{"kunlunxin.com/vxpu":"4"}}})",
        "application/merge-patch+json");
    ASSERT_EQ(status.status, 200) << status.body;
  }
  static constexpr std::string_view kBoth =
      R"("resources":{"limits":{"nvidia.com/gpu":"1","nvidia.com/gpumem":"1000","kunlunxin.com/vxpu":"1","kunlunxin.com/vxpu-memory":"24576"}})";
};

TEST_F(TwoVendorsTest, Case85OneLockServesBothAndOneReleaseFreesIt) {
  add_mixed_node();
  start_server();
  const std::string a = filtered("a", one(kBoth)), b = filtered("b", one(kBoth));
  EXPECT_EQ(bind("a", a, "n1"), "");
  EXPECT_TRUE(owns_lock("a"));
  EXPECT_EQ(calls("PATCH nodes"), 1U) << "one lock, not one per vendor";
  EXPECT_NE(annotation("a", "hami.io/vgpu-devices-allocated"), "");
  EXPECT_NE(annotation("a", "hami.io/xpu-devices-allocated"), "");
  auto next = bind_later("b", b, "n1");
  EXPECT_EQ(next.wait_for(milliseconds(200)), std::future_status::timeout);
  agent_serves("a", "n1");
  EXPECT_EQ(next.get(), "");
  EXPECT_TRUE(owns_lock("b"));
}

TEST_F(TwoVendorsTest, Case75AFailedBindingFreesTheLockOfBothVendors) {
  add_mixed_node();
  start_server();
  const std::string a = filtered("a", one(kBoth));
  api_->inject({.match = "/binding", .times = 1, .status = 500});
  EXPECT_NE(bind("a", a, "n1"), "");
  EXPECT_TRUE(eventually([&] { return !lock_of("n1"); }));
  EXPECT_EQ(annotation("a", "hami.io/bind-phase"), "");
  EXPECT_EQ(metric("tessera_reservations"), 0);
  EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("a", a, "n1"), "");
}

TEST_F(TwoVendorsTest, VendorsWhoseAgentsDoNotKnowTheLockTakeNone) {
  add_node("n1");
  const auto status = api_->request(
      "PATCH", "/api/v1/nodes/n1/status",
      R"({"status":{"capacity":{"kunlunxin.com/xpu":"8"},"allocatable":{"kunlunxin.com/xpu":"8"}}})",
      "application/merge-patch+json");
  ASSERT_EQ(status.status, 200) << status.body;
  start_server();
  const std::string a = filtered("a", one(R"("resources":{"limits":{"kunlunxin.com/xpu":"1"}})"));
  EXPECT_EQ(bind("a", a, "n1"), "");
  EXPECT_EQ(lock_of("n1"), std::nullopt);
  EXPECT_EQ(calls("PATCH nodes"), 0U);
}

// ---- locks and pods that change under them

TEST_F(LockPodsTest, AnOwnerCreatedAnewUnderTheSameNameDoesNotKeepTheLock) {
  add_node("n1");
  start_server();
  const std::string a = filtered("a", one(kDevice)), b = filtered("b", one(kDevice));
  EXPECT_EQ(bind("a", a, "n1"), "");
  auto next = bind_later("b", b, "n1");
  api_->stall_watches(true);  // both news arrive at once
  delete_pod("a");
  EXPECT_NE(add_pod("a"), a);
  api_->stall_watches(false);
  EXPECT_EQ(next.get(), "");
  EXPECT_TRUE(owns_lock("b"));
}

TEST_F(LockPodsTest, AnOwnerBoundLongAfterTheLockIsAnotherPodOfThatName) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  patch_pod("owner", fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/bind-time":"{}"}}}}}})",
                                 unix_seconds(clock_.wall())));
  set_lock("n1", lock_text(seconds(120), "default,owner"));
  start_server();
  const std::string b = filtered("b", one(kDevice));
  EXPECT_EQ(bind("b", b, "n1"), "");
  EXPECT_EQ(metric(R"(tessera_node_lock_stale_total{reason="owner recreated"})"), 1);
}

TEST_F(LockPodsTest, AnOwnerDeletedBeforeItStartedDoesNotKeepTheLock) {
  add_node("n1");
  start_server();
  const std::string a = filtered("a", one(kDevice)), b = filtered("b", one(kDevice));
  EXPECT_EQ(bind("a", a, "n1"), "");
  auto next = bind_later("b", b, "n1");
  const auto deleted =
      api_->request("DELETE", "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=300");
  ASSERT_EQ(deleted.status, 200) << deleted.body;
  EXPECT_EQ(next.get(), "");
  EXPECT_EQ(metric(R"(tessera_node_lock_stale_total{reason="owner terminating"})"), 1);
}

TEST_F(LockPodsTest, Rule4AnAgentThatNeverAnswersIsToldAndItsDevicesStayCharged) {
  options_.node_lock_timeout = seconds(2);
  add_node("n1");
  start_server();
  const std::string a = filtered("a", one(kDevice));
  EXPECT_EQ(bind("a", a, "n1"), "");
  EXPECT_TRUE(eventually([&] { return metric("tessera_allocate_failed_total") == 1; }, seconds(8)));
  EXPECT_TRUE(eventually([&] { return !lock_of("n1"); }, seconds(8)));
  EXPECT_TRUE(eventually([&] { return events("AllocateTimeout").size() == 1; }));
  EXPECT_EQ(events("AllocateTimeout").at(0),
            "the node agent of n1 has not served the pod within 2s after its bind; its devices "
            "stay charged until the pod ends");
  add_pod("whole", {.memory = 24'576});
  EXPECT_EQ(filter("whole", {"n1"}).failed.at("n1"), "1/1 CardInsufficientMemory");
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(metric("tessera_allocate_failed_total"), 1) << "told once";
  const std::string b = filtered("b", one(kDevice));
  EXPECT_EQ(bind("b", b, "n1"), "") << "the node goes on";
}

TEST_F(LockPodsTest, APodThatRunsWasServedWhateverItsPhaseSays) {
  options_.node_lock_timeout = seconds(1);
  add_node("n1");
  start_server();
  const std::string a = filtered("a", one(kDevice));
  EXPECT_EQ(bind("a", a, "n1"), "");
  patch_pod("a", R"({"status":{"phase":"Running"}})", "status");
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(metric("tessera_allocate_failed_total"), 0);
}

TEST_F(LockPodsTest, PreferringAnUnlockedNodeCanBeSwitchedOff) {
  options_.prefer_unlocked_nodes = false;
  add_node("n1");
  add_node("n2");
  add_running("busy", "n1", 1000);
  add_running("other", "n2", 1000);
  set_lock("n1", lock_text(seconds(1), "default,busy"));
  start_server();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1", "n2"}).names, std::vector<std::string>{"n1"}) << "the lower name";
}

TEST_F(LockPodsTest, AStopReleasesALockOfOursThatNobodyIsBoundUnder) {
  add_node("n1");
  start_server();
  const std::string a = filtered("a", one(kDevice));
  // The Binding fails, and so does the release that follows: the lock is left over.
  api_->inject({.match = "/binding", .times = 1, .status = 403, .delay = milliseconds(400)});
  auto bound = bind_later("a", a, "n1");
  ASSERT_TRUE(eventually([&] { return owns_lock("a"); }));
  api_->inject({.match = "PATCH /api/v1/nodes/n1", .times = 5, .status = 500});
  EXPECT_NE(bound.get(), "");
  EXPECT_TRUE(owns_lock("a"));
  api_->clear_faults();
  server_->stop();
  EXPECT_EQ(lock_of("n1"), std::nullopt);
  stop_server();
}

TEST_F(LockPodsTest, AStopLeavesTheLockOfABoundPodToItsAgent) {
  add_node("n1");
  start_server();
  const std::string a = filtered("a", one(kDevice));
  EXPECT_EQ(bind("a", a, "n1"), "");
  server_->stop();
  EXPECT_TRUE(owns_lock("a"));
  stop_server();
}

}  // namespace
}  // namespace tessera::test
