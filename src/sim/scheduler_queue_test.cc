#include "sim/scheduler_queue.h"

#include <gtest/gtest.h>

#include "sim/scheduler_loop.h"

namespace tessera::sim {
namespace {

using std::chrono::milliseconds;

MonoTime at(int ms) { return MonoTime(milliseconds(ms)); }
SchedulerQueue queue() { return {milliseconds(1000), milliseconds(10'000)}; }

TEST(SchedulerQueue, GivesPodsInOrderOfArrivalAndEachOnce) {
  SchedulerQueue q = queue();
  q.add("a");
  q.add("b");
  q.add("a");
  EXPECT_EQ(q.pop(at(0)), "a");
  EXPECT_EQ(q.pop(at(0)), "b");
  EXPECT_EQ(q.pop(at(0)), std::nullopt);
  EXPECT_EQ(q.size(), 2U);
}

TEST(SchedulerQueue, BackOffDoublesUpToItsLimit) {
  SchedulerQueue q = queue();
  q.add("a");
  int now = 0;
  for (const int pause : {1000, 2000, 4000, 8000, 10'000, 10'000}) {
    ASSERT_EQ(q.pop(at(now)), "a");
    ASSERT_EQ(q.back_off("a", at(now)), milliseconds(pause));
    EXPECT_EQ(q.pop(at(now + pause - 1)), std::nullopt);
    now += pause;
  }
}

TEST(SchedulerQueue, ParkedPodWaitsForAChangeAndForItsBackOff) {
  SchedulerQueue q = queue();
  q.add("a");
  ASSERT_EQ(q.pop(at(0)), "a");
  q.park("a", at(0));
  EXPECT_EQ(q.pop(at(60'000)), std::nullopt) << "nothing changed";
  EXPECT_EQ(q.wake(at(60'000)), milliseconds(0));
  ASSERT_EQ(q.pop(at(60'000)), "a");
  q.park("a", at(60'000));
  EXPECT_EQ(q.wake(at(60'500)), milliseconds(1500)) << "second attempt: two seconds";
  EXPECT_EQ(q.pop(at(60'500)), std::nullopt);
  EXPECT_EQ(q.pop(at(62'000)), "a");
}

TEST(SchedulerQueue, RemovedPodDoesNotComeBack) {
  SchedulerQueue q = queue();
  for (const char* uid : {"ready", "backoff", "parked"}) q.add(uid);
  while (const auto uid = q.pop(at(0))) {
    if (*uid == "backoff") q.back_off(*uid, at(0));
    if (*uid == "parked") q.park(*uid, at(0));
  }
  for (const char* uid : {"ready", "backoff", "parked"}) q.remove(uid);
  q.wake(at(0));
  EXPECT_EQ(q.pop(at(100'000)), std::nullopt);
  EXPECT_EQ(q.size(), 0U);
}

TEST(UnschedulableMessage, CountsEqualReasonsAndSortsAsText) {
  EXPECT_EQ(unschedulable_message(
                5, {"2/2 CardInsufficientMemory", "node unregistered", "2/2 CardInsufficientMemory",
                    "node unregistered", "node unregistered"}),
            "0/5 nodes are available: 2 2/2 CardInsufficientMemory, 3 node unregistered.");
  EXPECT_EQ(unschedulable_message(0, {}), "0/0 nodes are available.");
}

}  // namespace
}  // namespace tessera::sim
