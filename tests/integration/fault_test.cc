#include <fmt/format.h>

#include "harness.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FaultTest : public ClusterTest {};

TEST_F(FaultTest, Case31APodDeletedWhileTheWatchWasCutIsGoneAfterTheNewList) {
  add_node("n1", 8);
  add_running("old", "n1", 24'576);
  start_server();
  add_pod("p", {.count = 8, .memory = 24'576});
  EXPECT_TRUE(filter("p", {"n1"}).names_null);
  // Nothing reaches us any more, and what happened meanwhile is forgotten: only a new list can
  // tell.
  api_->inject({.match = "watch=true", .times = 20, .status = 500});
  api_->drop_watches();
  delete_pod("old");
  api_->forget_history();
  api_->clear_faults();
  EXPECT_TRUE(eventually(
      [&] { return filter("p", {"n1"}).names == std::vector<std::string>{"n1"}; }, seconds(10)));
}

TEST_F(FaultTest, ANodeDeletedWhileTheWatchWasCutIsGoneAfterTheNewList) {
  add_node("n1");
  start_server();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  api_->inject({.match = "watch=true", .times = 20, .status = 500});
  api_->drop_watches();
  ASSERT_EQ(api_->request("DELETE", "/api/v1/nodes/n1").status, 200);
  api_->forget_history();
  api_->clear_faults();
  EXPECT_TRUE(eventually([&] { return filter("p", {"n1"}).names_null; }, seconds(10)));
}

TEST_F(FaultTest, AReservationOfAPodThatNoWatchEverShowedEndsWithTheListThatDoesNotNameIt) {
  add_node("n1");
  start_server();
  settle();
  api_->stall_watches(true);
  add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  delete_pod("p");
  api_->forget_history();
  api_->drop_watches();
  api_->stall_watches(false);
  EXPECT_TRUE(eventually([&] { return metric("tessera_reservations") == 0; }, seconds(10)));
}

TEST_F(FaultTest, Throttled429WithRetryAfterIsWaitedFor) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  api_->inject(
      {.match = "PATCH /api/v1/nodes", .times = 1, .status = 429, .retry_after = seconds(1)});
  api_->inject({.match = "/binding", .times = 1, .status = 429, .retry_after = seconds(1)});
  EXPECT_EQ(bind("p", uid, "n1"), "");
}

TEST_F(FaultTest, Conflicts409AreRetried) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  api_->inject({.match = "PATCH /api/v1/nodes", .times = 3, .status = 409});
  EXPECT_EQ(bind("p", uid, "n1"), "");
}

TEST_F(FaultTest, ALockThatTheServerNeverTakesIsAnErrorAndNothingStays) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  filter("p", {"n1"});
  api_->inject({.match = "PATCH /api/v1/nodes", .times = -1, .status = 500});
  const std::string error = bind("p", uid, "n1");
  EXPECT_NE(error.find("failed to set node lock"), std::string::npos) << error;
  api_->clear_faults();
  EXPECT_FALSE(lock_of("n1"));
  EXPECT_EQ(metric("tessera_reservations"), 0);
  EXPECT_EQ(bind("p", uid, "n1"), "");
}

TEST_F(FaultTest, ALockWhoseAnswerIsLostIsFoundToBeOurs) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1"});
  api_->inject({.match = "PATCH /api/v1/nodes", .times = 1, .drop_after_effect = true});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(calls("GET nodes"), 1U);
}

TEST_F(FaultTest, AnOlderPictureOfTheWatchDoesNotUndoOurOwnWrites) {
  add_node("n1");
  start_server();
  const std::string a = add_pod("a"), b = add_pod("b");
  filter("a", {"n1"});
  filter("b", {"n1"});
  settle();
  api_->stall_watches(true);
  EXPECT_EQ(bind("a", a, "n1"), "");
  // The watch still shows n1 without a lock; the answer to our own patch is what counts.
  auto second = bind_later("b", b, "n1");
  EXPECT_EQ(second.wait_for(milliseconds(300)), std::future_status::timeout);
  EXPECT_EQ(calls("PATCH nodes"), 1U);
  api_->stall_watches(false);
  agent_serves("a", "n1");
  EXPECT_EQ(second.get(), "");
}

TEST_F(FaultTest, EventsThatCannotBeWrittenStandInNobodysWay) {
  add_node("n1");
  start_server();
  api_->inject({.match = "/events", .times = -1, .delay = seconds(5)});
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) {
    const std::string name = fmt::format("p{}", i);
    add_pod(name, {.memory = 30'000});
    EXPECT_TRUE(filter(name, {"n1"}).names_null);
  }
  const std::string uid = add_pod("q");
  filter("q", {"n1"});
  EXPECT_EQ(bind("q", uid, "n1"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(5));
  api_->clear_faults();
}

}  // namespace
}  // namespace tessera::test
