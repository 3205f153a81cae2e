#include <fmt/format.h>

#include "harness.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RestartTest : public ClusterTest {};

TEST_F(RestartTest, ReadyOnlyWhenBothListsAreComplete) {
  add_node("n1");
  api_->inject({.match = "GET /api/v1/pods", .times = -1, .status = 500});
  start_server(false);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_TRUE(
      eventually([&] { return get("/readyz").body == "not ready: pods are not listed yet"; }));
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_FALSE(server_->ready());
  EXPECT_EQ(metric(R"(tessera_cache_synced{resource="pods"})"), 0);
  api_->clear_faults();
  EXPECT_TRUE(eventually([&] { return get("/readyz").status == 200; }, seconds(10)));
  EXPECT_EQ(metric(R"(tessera_cache_synced{resource="pods"})"), 1);
}

TEST_F(RestartTest, AFilterBeforeTheListsWaitsAndIsAnsweredRightAway) {
  add_node("n1");
  add_running("r", "n1", 20'000);
  api_->inject({.match = "GET /api/v1/pods", .times = 2, .status = 500});
  start_server(false);
  add_pod("p", {.memory = 20'000});
  const FilterAnswer answer = filter("p", {"n1"});
  EXPECT_EQ(answer.failed.at("n1"), "1/1 CardInsufficientMemory")
      << "decided with the running pod in the books: " << answer.body;
}

TEST_F(RestartTest, AFilterThatWaitedTooLongSaysWhatIsMissing) {
  options_.ready_wait = milliseconds(300);
  api_->inject({.match = "GET /api/v1/nodes", .times = -1, .status = 500});
  start_server(false);
  const std::string uid = add_pod("p");
  EXPECT_TRUE(eventually(
      [&] { return filter("p", {"n1"}).error == "not ready: nodes are not listed yet"; }));
  EXPECT_EQ(bind("p", uid, "n1"), "not ready: nodes are not listed yet");
  api_->clear_faults();
}

TEST_F(RestartTest, BooksAreTheSameAfterARestart) {
  add_node("n1", 2);
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  filter("p", {"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  stop_server();
  start_server();
  add_pod("two", {.count = 2, .memory = 20'000});
  EXPECT_EQ(filter("two", {"n1"}).failed.at("n1"),
            "1/2 AllocatedCardsInsufficientRequest, 1/2 CardInsufficientMemory");
}

TEST_F(RestartTest, ABindWhoseFilterWasAnsweredByThePredecessorStillWorks) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  stop_server();
  start_server();
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-devices-allocated"), "n1-card0,NVIDIA,20000,0:;");
}

TEST_F(RestartTest, ALockLeftBetweenLockAndBindingIsReleased) {
  add_node("n1");
  // What a process leaves that was killed between its two writes.
  const std::string owner = add_pod("owner");
  set_lock("n1", lock_text(seconds(0), "default,owner"));
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "") << "after the grace for a Binding that may be on its way";
  const std::optional<std::string> lock = lock_of("n1");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->ends_with(",default,p"));
}

TEST_F(RestartTest, StoppingAnswersWhatWaitsAndFinishesWhatHasItsLock) {
  add_node("n1");
  add_node("n2");
  add_running("owner", "n1", 1000);
  set_lock("n1", lock_text(seconds(1), "default,owner"));
  start_server();
  const std::string waiting = add_pod("waiting"), active = add_pod("active");
  filter("waiting", {"n1"});
  filter("active", {"n2"});
  api_->inject({.match = "pods/active/binding", .times = 1, .delay = milliseconds(500)});
  auto queued = bind_later("waiting", waiting, "n1");
  auto running = bind_later("active", active, "n2");
  ASSERT_TRUE(eventually(
      [&] { return lock_of("n2").has_value() && metric("tessera_bind_queue_length") == 1; }));
  server_->stop();
  EXPECT_EQ(queued.get(),
            "scheduler shutting down while waiting for node lock: node lock contention");
  EXPECT_EQ(running.get(), "");
  EXPECT_EQ(bound_node("active"), "n2");
  stop_server();
}

}  // namespace
}  // namespace tessera::test
