#include <fmt/format.h>

#include "harness.h"

namespace tessera::test {
namespace {

class BindTest : public ClusterTest {};

TEST_F(BindTest, AFilterAndABindCostTwoApiCallsAndWriteEverythingThatTheAgentReads) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 2000, .cores = 10});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(bound_node("p"), "n1");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-node"), "n1");
  EXPECT_EQ(annotation("p", "hami.io/bind-phase"), "allocating");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-devices-to-allocate"), "n1-card0,NVIDIA,2000,10:;");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-devices-allocated"), "n1-card0,NVIDIA,2000,10:;");
  EXPECT_FALSE(annotation("p", "hami.io/vgpu-time").empty());
  EXPECT_FALSE(annotation("p", "hami.io/bind-time").empty());
  EXPECT_EQ(pod_field("p", {"metadata", "labels", "hami.io/vgpu-node"}), "n1");
  const std::optional<std::string> lock = lock_of("n1");
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->substr(lock->find(',')), ",default,p");
  EXPECT_EQ(lock->substr(lock->find(',') - 1, 1), "Z") << "UTC: " << *lock;
  EXPECT_EQ(calls("PATCH nodes"), 1U);
  EXPECT_EQ(calls("POST pods/binding"), 1U);
  EXPECT_EQ(calls("GET nodes") + calls("GET pods") + calls("PATCH pods"), 0U);
  EXPECT_TRUE(eventually([&] {
    return events("BindingSucceed") ==
           std::vector<std::string>{"Successfully binding node [n1] to default/p"};
  }));
}

TEST_F(BindTest, D11ARepeatedBindOfABoundPodSucceedsAndTouchesNothing) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  const std::string before = pod_text("p");
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(bind("p", uid, "n2"), "pod default/p is already bound to node n1, not to n2");
  EXPECT_EQ(pod_text("p"), before);
  EXPECT_EQ(calls("PATCH nodes"), 1U);
  EXPECT_EQ(calls("POST pods/binding"), 1U);
}

TEST_F(BindTest, Case12AReusedNameWithAnotherUidIsRefused) {
  add_node("n1");
  start_server();
  const std::string first = add_pod("a");
  EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"});
  delete_pod("a");
  const std::string second = add_pod("a");
  ASSERT_NE(first, second);
  settle();
  const std::string error = bind("a", first, "n1");
  EXPECT_EQ(error, fmt::format("pod default/a has UID {}, the bind names UID {}", second, first));
  EXPECT_EQ(bound_node("a"), "");
  EXPECT_EQ(annotation("a", "hami.io/bind-phase"), "");
  EXPECT_FALSE(lock_of("n1"));
  EXPECT_EQ(metric("tessera_reservations"), 0);
}

TEST_F(BindTest, Case12TheApiServerRefusesWhatTheWatchHasNotShownYet) {
  add_node("n1");
  start_server();
  const std::string first = add_pod("a");
  settle();
  EXPECT_EQ(filter("a", {"n1"}).names, std::vector<std::string>{"n1"});
  api_->stall_watches(true);
  delete_pod("a");
  const std::string second = add_pod("a");
  const std::string error = bind("a", first, "n1");
  EXPECT_EQ(error, fmt::format("pod default/a has UID {}, the bind names UID {}", second, first));
  EXPECT_EQ(bound_node("a"), "");
  EXPECT_FALSE(lock_of("n1"));
  api_->stall_watches(false);
}

TEST_F(BindTest, Case72ABindOfADeletedPodLeavesNothingBehind) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  delete_pod("p");
  EXPECT_NE(bind("p", uid, "n1").find("not found"), std::string::npos);
  add_pod("q", {.memory = 20'000});
  EXPECT_TRUE(
      eventually([&] { return filter("q", {"n1"}).names == std::vector<std::string>{"n1"}; }));
  EXPECT_TRUE(eventually([&] { return !lock_of("n1"); }));
}

TEST_F(BindTest, Case72ABindToADeletedNodeLeavesNothingBehind) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  ASSERT_EQ(api_->request("DELETE", "/api/v1/nodes/n1").status, 200);
  settle();
  EXPECT_EQ(bind("p", uid, "n1"), "node \"n1\" not found");
  EXPECT_EQ(metric("tessera_reservations"), 0);
  EXPECT_TRUE(eventually([&] {
    return events("BindingFailed") == std::vector<std::string>{"failed to get node n1"};
  }));
  add_node("n1");
  add_pod("q", {.memory = 20'000});
  EXPECT_TRUE(
      eventually([&] { return filter("q", {"n1"}).names == std::vector<std::string>{"n1"}; }));
}

TEST_F(BindTest, ABindWithoutAReservationDecidesOnItsNode) {
  add_node("n1");
  add_running("r", "n1", 20'000);
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  settle();
  EXPECT_EQ(bind("p", uid, "n1"),
            "pod default/p does not fit on node n1: 1/1 CardInsufficientMemory");
  EXPECT_FALSE(lock_of("n1"));
  EXPECT_EQ(bind("p", uid, "n2"), "");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-devices-allocated"), "n2-card0,NVIDIA,20000,0:;");
  EXPECT_EQ(calls("GET pods"), 0U) << "the watch has told what the pod asks for";
}

TEST_F(BindTest, ABindOfAPodThatNoWatchHasShownAsksTheApiServer) {
  add_node("n1");
  start_server();
  settle();
  api_->stall_watches(true);
  const std::string uid = add_pod("p");
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(bound_node("p"), "n1");
  EXPECT_EQ(calls("GET pods"), 1U);
  EXPECT_EQ(bind("ghost", "no-such-uid", "n1"), "pod \"ghost\" not found");
  api_->stall_watches(false);
}

TEST_F(BindTest, APodWithoutDevicesIsBoundWithoutLockAndAnnotations) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.count = 0, .memory = 0});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(bound_node("p"), "n1");
  EXPECT_EQ(annotation("p", "hami.io/bind-phase"), "");
  EXPECT_FALSE(lock_of("n1"));
}

TEST_F(BindTest, S32ANodeNameTooLongForALabelIsNoObstacle) {
  const std::string node = std::string(40, 'n') + "." + std::string(40, 'm');
  add_node(node);
  start_server();
  const std::string uid = add_pod("p");
  EXPECT_EQ(filter("p", {node}).names, std::vector<std::string>{node});
  EXPECT_EQ(bind("p", uid, node), "");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-node"), node);
  EXPECT_EQ(pod_field("p", {"metadata", "labels", "hami.io/vgpu-node"}), "");
}

TEST_F(BindTest, TheLabelIsWrittenByAThirdCallWhenAskedFor) {
  options_.write_node_label_by_patch = true;
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_TRUE(eventually([&] { return calls("PATCH pods") == 1; }));
}

TEST_F(BindTest, Case75AFailedBindingLeavesNothingBehind) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  const std::string other = add_pod("q", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  api_->inject({.match = "/binding", .times = 1, .status = 500});
  EXPECT_NE(bind("p", uid, "n1"), "");
  EXPECT_FALSE(lock_of("n1"));
  EXPECT_EQ(annotation("p", "hami.io/bind-phase"), "");
  EXPECT_EQ(metric("tessera_reservations"), 0);
  EXPECT_TRUE(eventually([&] { return events("BindingFailed").size() == 1; }));
  EXPECT_EQ(filter("q", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("q", other, "n1"), "") << "the next bind works at once";
}

TEST_F(BindTest, Case74FilterWritesNothingSoNothingCanFailHalfWay) {
  add_node("n1");
  start_server();
  api_->inject({.match = "PATCH /api/v1/namespaces", .times = -1, .status = 500});
  add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(calls("PATCH pods"), 0U);
}

TEST_F(BindTest, ABindingWhoseAnswerIsLostIsFoundToBeDone) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  api_->inject({.match = "/binding", .times = 1, .drop_after_effect = true});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(bound_node("p"), "n1");
  ASSERT_TRUE(lock_of("n1")) << "the agent needs it";
}

TEST_F(BindTest, ABindingThatNeverArrivedIsAFailureThatIsCleanedUp) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  api_->inject({.match = "/binding", .times = -1, .cut = true});
  EXPECT_NE(bind("p", uid, "n1"), "");
  EXPECT_EQ(bound_node("p"), "");
  EXPECT_FALSE(lock_of("n1"));
  EXPECT_EQ(metric("tessera_reservations"), 0);
}

TEST_F(BindTest, ARefusalInWordsIsHandedOn) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  api_->inject({.match = "/binding", .times = 1, .status = 403});
  EXPECT_NE(bind("p", uid, "n1"), "");
  EXPECT_FALSE(lock_of("n1"));
}

}  // namespace
}  // namespace tessera::test
