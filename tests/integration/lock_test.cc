#include <fmt/format.h>

#include <chrono>

#include "harness.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

class LockTest : public ClusterTest {
 protected:
  /// A pod that has passed filter for n1.
  std::string filtered(const std::string& name) {
    const std::string uid = add_pod(name);
    EXPECT_EQ(filter(name, {"n1"}).names, std::vector<std::string>{"n1"});
    return uid;
  }
};

TEST_F(LockTest, BindsOfANodeQueueUntilTheAgentHasReleased) {
  add_node("n1");
  start_server();
  const std::string a = filtered("a"), b = filtered("b"), c = filtered("c");
  EXPECT_EQ(bind("a", a, "n1"), "");
  auto second = bind_later("b", b, "n1");
  EXPECT_EQ(second.wait_for(milliseconds(300)), std::future_status::timeout)
      << "a's agent has not released";
  EXPECT_TRUE(owns_lock("a"));
  EXPECT_TRUE(eventually([&] { return metric("tessera_bind_queue_length") == 1; }));
  agent_serves("a", "n1");
  EXPECT_EQ(second.get(), "");
  EXPECT_TRUE(owns_lock("b"));
  auto third = bind_later("c", c, "n1");
  agent_serves("b", "n1");
  EXPECT_EQ(third.get(), "");
  EXPECT_EQ(calls("PATCH nodes"), 3U);
  EXPECT_EQ(calls("POST pods/binding"), 3U);
  EXPECT_EQ(calls("GET nodes") + calls("GET pods"), 0U) << "two calls per pod, crowded too";
}

TEST_F(LockTest, OtherNodesDoNotWait) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string a = filtered("a"), b = filtered("b");
  EXPECT_EQ(bind("a", a, "n1"), "");
  auto waiting = bind_later("b", b, "n1");
  const std::string c = add_pod("c");
  EXPECT_EQ(filter("c", {"n2"}).names, std::vector<std::string>{"n2"});
  EXPECT_EQ(bind("c", c, "n2"), "");
  agent_serves("a", "n1");
  EXPECT_EQ(waiting.get(), "");
}

TEST_F(LockTest, Case78ALivingOwnersLockIsWaitedForAndThenTheBindGoesThrough) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(10), "default,owner"));
  start_server();
  const std::string b = filtered("b");
  auto bound = bind_later("b", b, "n1");
  EXPECT_EQ(bound.wait_for(milliseconds(300)), std::future_status::timeout);
  remove_lock("n1");
  EXPECT_EQ(bound.get(), "");
  EXPECT_TRUE(owns_lock("b"));
}

TEST_F(LockTest, D11TheWaitEndsWithHamisTextAndTheReservationStays) {
  options_.node_lock_retry_timeout = milliseconds(400);
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(10), "default,owner"));
  start_server();
  const std::string b = filtered("b");
  const auto begun = steady_clock::now();
  EXPECT_EQ(bind("b", b, "n1"), "node n1 has been locked within 5m0s: node lock contention");
  EXPECT_GE(steady_clock::now() - begun, milliseconds(400));
  EXPECT_EQ(metric("tessera_reservations"), 1);
  EXPECT_EQ(metric("tessera_node_lock_contention_total"), 1);
  remove_lock("n1");
  EXPECT_EQ(bind("b", b, "n1"), "");
}

TEST_F(LockTest, D11AWaitOfZeroFailsAtOnce) {
  options_.node_lock_retry_timeout = milliseconds(0);
  options_.node_lock_timeout = seconds(90);
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(10), "default,owner"));
  start_server();
  const std::string b = filtered("b");
  EXPECT_EQ(bind("b", b, "n1"), "node n1 has been locked within 1m30s: node lock contention");
}

TEST_F(LockTest, Case79AFailedBindLeavesSomebodyElsesLock) {
  options_.node_lock_retry_timeout = milliseconds(200);
  add_node("n1");
  add_running("owner", "n1", 1000);
  const std::string lock = lock_text(seconds(10), "default,owner");
  set_lock("n1", lock);
  start_server();
  const std::string b = filtered("b");
  EXPECT_NE(bind("b", b, "n1"), "");
  EXPECT_EQ(lock_of("n1"), lock);
}

TEST_F(LockTest, Case80AnOldLockWithoutOwnerIsReplaced) {
  add_node("n1");
  set_lock("n1", lock_text(seconds(600), ""));
  start_server();
  const std::string b = filtered("b");
  EXPECT_EQ(bind("b", b, "n1"), "");
  EXPECT_TRUE(owns_lock("b"));
}

TEST_F(LockTest, Case80AYoungLockWithoutOwnerIsRespected) {
  options_.node_lock_retry_timeout = milliseconds(1500);
  add_node("n1");
  const std::string lock = lock_text(seconds(10), "");
  set_lock("n1", lock);
  start_server();
  const std::string b = filtered("b");
  EXPECT_EQ(bind("b", b, "n1"), "node n1 has been locked within 5m0s: node lock contention");
  EXPECT_EQ(lock_of("n1"), lock);
}

TEST_F(LockTest, Case82TheLockOfAPodThatDoesNotExistIsTakenOverAtOnce) {
  add_node("n1");
  set_lock("n1", lock_text(seconds(0), "default,gone"));
  start_server();
  const std::string b = filtered("b");
  const auto begun = steady_clock::now();
  EXPECT_EQ(bind("b", b, "n1"), "");
  EXPECT_LT(steady_clock::now() - begun, seconds(2));
  EXPECT_TRUE(owns_lock("b"));
  EXPECT_EQ(metric(R"(tessera_node_lock_stale_total{reason="owner missing"})"), 1);
  EXPECT_TRUE(eventually([&] { return events("NodeLockReleased").size() == 1; }));
  EXPECT_EQ(calls("GET pods"), 1U);
}

TEST_F(LockTest, Case86MalformedLocksAreTakenOver) {
  add_node("n1");
  start_server();
  int i = 0;
  for (const char* value : {"oops", "a,b", "2026-08-20T10:00:00Z,only-two", "x,y,z",
                            "2026-08-20T10:00:00Z,../..,p", ""}) {
    set_lock("n1", value);
    const std::string name = fmt::format("p{}", i++);
    const std::string uid = filtered(name);
    EXPECT_EQ(bind(name, uid, "n1"), "") << value;
    agent_serves(name, "n1");
  }
}

TEST_F(LockTest, Case87AnExpiredLockOfALivingPodIsTakenOver) {
  options_.node_lock_timeout = seconds(30);
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(40), "default,owner"));
  start_server();
  const std::string b = filtered("b");
  EXPECT_EQ(bind("b", b, "n1"), "");
}

TEST_F(LockTest, AFinishedOwnersLockIsTakenOver) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(1), "default,owner"));
  start_server();
  const std::string b = filtered("b");
  auto bound = bind_later("b", b, "n1");
  EXPECT_EQ(bound.wait_for(milliseconds(200)), std::future_status::timeout);
  patch_pod("owner", R"({"status":{"phase":"Failed"}})", "status");
  EXPECT_EQ(bound.get(), "");
}

TEST_F(LockTest, ADeletedOwnersLockIsTakenOver) {
  add_node("n1");
  start_server();
  const std::string a = filtered("a"), b = filtered("b");
  EXPECT_EQ(bind("a", a, "n1"), "");
  auto bound = bind_later("b", b, "n1");
  EXPECT_EQ(bound.wait_for(milliseconds(200)), std::future_status::timeout);
  delete_pod("a");
  EXPECT_EQ(bound.get(), "");
  EXPECT_TRUE(owns_lock("b"));
}

TEST_F(LockTest, TheLockOfAPodBoundElsewhereIsTakenOver) {
  add_node("n1");
  add_node("n2");
  add_running("owner", "n2", 1000);
  set_lock("n1", lock_text(seconds(1), "default,owner"));
  start_server();
  const std::string b = filtered("b");
  EXPECT_EQ(bind("b", b, "n1"), "");
}

TEST_F(LockTest, TheLockOfALivingPodThatNobodyIsBindingIsReleasedWithoutAnyBind) {
  add_node("n1");
  add_pod("owner");
  set_lock("n1", lock_text(seconds(10), "default,owner"));
  start_server();
  EXPECT_TRUE(eventually([&] { return !lock_of("n1"); }));
  EXPECT_EQ(metric(R"(tessera_node_lock_stale_total{reason="owner not bound"})"), 1);
}

TEST_F(LockTest, AnExpiredLockIsReleasedWithoutAnyBindAndTheDevicesStayCharged) {
  options_.node_lock_timeout = seconds(2);
  add_node("n1");
  start_server();
  const std::string a = filtered("a");
  EXPECT_EQ(bind("a", a, "n1"), "");
  EXPECT_TRUE(eventually([&] { return !lock_of("n1"); }, seconds(8)));
  EXPECT_EQ(metric(R"(tessera_node_lock_stale_total{reason="expired"})"), 1);
  add_pod("whole", {.memory = 24'576});
  EXPECT_TRUE(filter("whole", {"n1"}).names_null);
}

TEST_F(LockTest, OwnLockFromAnEarlierAttemptIsTakenAgain) {
  add_node("n1");
  set_lock("n1", lock_text(seconds(1), "default,b"));
  start_server();
  const std::string b = filtered("b");
  EXPECT_EQ(bind("b", b, "n1"), "");
  EXPECT_TRUE(owns_lock("b"));
}

TEST_F(LockTest, Case86AConflictIsRetriedOnFreshDataAndOtherAnnotationsStay) {
  add_node("n1");
  start_server();
  const std::string b = filtered("b");
  settle();
  api_->stall_watches(true);  // our picture of the node is old from here on
  patch_node("n1", R"({"metadata":{"annotations":{"somebody/else":"kept"}}})");
  EXPECT_EQ(bind("b", b, "n1"), "");
  EXPECT_TRUE(owns_lock("b"));
  EXPECT_NE(api_->request("GET", "/api/v1/nodes/n1").body.find("somebody/else"), std::string::npos);
  EXPECT_EQ(calls("PATCH nodes"), 2U);
  EXPECT_EQ(calls("GET nodes"), 1U);
  api_->stall_watches(false);
}

TEST_F(LockTest, Case86ALockThatSomebodyTookMeanwhileIsWaitedFor) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  start_server();
  const std::string b = filtered("b");
  settle();
  api_->stall_watches(true);
  const std::string lock = lock_text(seconds(0), "default,owner");
  set_lock("n1", lock);
  auto bound = bind_later("b", b, "n1");
  EXPECT_EQ(bound.wait_for(milliseconds(400)), std::future_status::timeout);
  EXPECT_EQ(lock_of("n1"), lock);
  api_->stall_watches(false);
  remove_lock("n1");
  EXPECT_EQ(bound.get(), "");
}

TEST_F(LockTest, Case86AReleaseDoesNotTakeSomebodyElsesLock) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  start_server();
  const std::string b = filtered("b");
  settle();
  // While the Binding is on its way somebody forces his own lock in; then the Binding fails.
  api_->inject({.match = "/binding", .times = 1, .status = 500, .delay = milliseconds(400)});
  auto bound = bind_later("b", b, "n1");
  ASSERT_TRUE(eventually([&] { return owns_lock("b"); }));
  const std::string lock = lock_text(seconds(0), "default,owner");
  set_lock("n1", lock);
  EXPECT_NE(bound.get(), "");
  EXPECT_EQ(lock_of("n1"), lock);
}

TEST_F(LockTest, ABindWhoseClientHasGoneIsDropped) {
  add_node("n1");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(1), "default,owner"));
  start_server();
  const std::string b = filtered("b");
  const auto gone = http_->call(
      {.method = "POST",
       .path = "/bind",
       .body = fmt::format(
           R"({{"PodName":"b","PodNamespace":"default","PodUID":"{}","Node":"n1"}})", b),
       .timeout = milliseconds(300)});
  EXPECT_EQ(gone.status, 0);
  EXPECT_TRUE(eventually([&] { return metric(R"(tessera_bind_total{result="dropped"})") == 1; }));
  remove_lock("n1");
  settle();
  EXPECT_EQ(bound_node("b"), "");
  EXPECT_EQ(bind("b", b, "n1"), "");
}

TEST_F(LockTest, Case88AndACrowdOnOneNodeIsServedInTheOrderOfItsCalls) {
  add_node("n1");
  start_server();
  std::vector<std::future<std::string>> binds;
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(fmt::format("g{}", i));
    const std::string uid = filtered(names.back());
    binds.push_back(bind_later(names.back(), uid, "n1"));
    ASSERT_TRUE(eventually(
        [&] { return i == 0 ? owns_lock("g0") : metric("tessera_bind_queue_length") == i; }));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(binds[i].get(), "");
    EXPECT_TRUE(owns_lock(names[i]));
    agent_serves(names[i], "n1");
  }
}

}  // namespace
}  // namespace tessera::test
