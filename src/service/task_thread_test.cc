#include "service/task_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace tessera::service {
namespace {

using std::chrono::milliseconds;

TEST(TaskThread, TasksOfOneThreadRunInTheirOrder) {
  TaskThread thread;
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i) thread.post([&seen, i] { seen.push_back(i); });
  ASSERT_TRUE(thread.run([] {}));
  ASSERT_EQ(seen.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(TaskThread, TimersRunWhenDueEarliestFirst) {
  TaskThread thread;
  std::vector<int> seen;
  std::atomic<bool> done{false};
  thread.after(milliseconds(40), [&] {
    seen.push_back(2);
    done = true;
  });
  thread.after(milliseconds(10), [&] { seen.push_back(1); });
  thread.post([&] { seen.push_back(0); });
  while (!done) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(thread.run([] {}));
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
}

TEST(TaskThread, ATaskMayPostAndSetTimers) {
  TaskThread thread;
  std::atomic<int> count{0};
  thread.post([&] {
    thread.post([&] { ++count; });
    thread.after(milliseconds(1), [&] { ++count; });
  });
  while (count < 2) std::this_thread::sleep_for(milliseconds(1));
}

TEST(TaskThread, WhatWaitsAtTheStopIsThrownAwayAndRunSaysSo) {
  auto kept_alive = std::make_shared<int>(1);
  std::atomic<bool> ran{false};
  TaskThread thread;
  thread.after(std::chrono::hours(1), [&ran, kept_alive] { ran = true; });
  thread.stop();
  EXPECT_EQ(kept_alive.use_count(), 1) << "the task was destroyed";
  thread.post([&ran] { ran = true; });
  EXPECT_FALSE(thread.run([&ran] { ran = true; }));
  EXPECT_FALSE(ran);
  EXPECT_EQ(thread.queued(), 0U);
}

TEST(TaskThread, RunIsReleasedWhenTheThreadStopsBeforeTheTask) {
  TaskThread thread;
  std::atomic<bool> entered{false}, leave{false};
  thread.post([&] {
    entered = true;
    while (!leave) std::this_thread::sleep_for(milliseconds(1));
  });
  while (!entered) std::this_thread::sleep_for(milliseconds(1));
  std::atomic<bool> result{true};
  std::thread waiter([&] { result = thread.run([] {}); });
  while (thread.queued() == 0) std::this_thread::sleep_for(milliseconds(1));
  std::thread stopper([&] { thread.stop(); });
  std::this_thread::sleep_for(milliseconds(20));
  leave = true;
  waiter.join();
  stopper.join();
  EXPECT_FALSE(result);
}

TEST(TaskThread, WhoComesWhileNothingElseIsToBeDoneRunsHisTaskHimself) {
  TaskThread thread;
  std::atomic<std::thread::id> ran_on;
  ASSERT_TRUE(thread.run([] {}));
  while (ran_on.load() !=
         std::this_thread::get_id())  // the thread may still be ending its last task
    thread.run_or_post([&] { ran_on = std::this_thread::get_id(); });
  std::atomic<bool> entered{false}, leave{false};
  thread.post([&] {
    entered = true;
    while (!leave) std::this_thread::sleep_for(milliseconds(1));
  });
  while (!entered) std::this_thread::sleep_for(milliseconds(1));
  std::thread::id second;
  thread.run_or_post([&] { second = std::this_thread::get_id(); });
  EXPECT_EQ(thread.queued(), 1U) << "he does not wait for his turn";
  leave = true;
  ASSERT_TRUE(thread.run([] {}));
  EXPECT_NE(second, std::this_thread::get_id());
}

TEST(TaskThread, WhatCameDuringAForeignTaskIsDoneAfterIt) {
  TaskThread thread;
  std::atomic<int> done{0};
  const auto count = [&] { ++done; };
  for (int i = 0; i < 200; ++i) {
    const int before = done;
    thread.run_or_post([&] {
      thread.post(count);
      thread.after(milliseconds(0), count);
      thread.run_or_post(count);
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (done < before + 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_EQ(done, before + 3) << i;
  }
}

TEST(TaskThread, OneTaskAtATimeWhoeverRunsIt) {
  TaskThread thread;
  int unguarded = 0;
  constexpr int kEach = 3000;
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < kEach; ++i) {
        if ((i + c) % 3 == 0)
          thread.post([&unguarded] { ++unguarded; });
        else
          thread.run_or_post([&unguarded] { ++unguarded; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  ASSERT_TRUE(thread.run([] {}));
  EXPECT_EQ(unguarded, 3 * kEach);
}

TEST(TaskThread, StopWaitsForAForeignTask) {
  TaskThread thread;
  std::atomic<bool> entered{false}, left{false};
  std::thread caller([&] {
    while (!entered) {
      thread.run_or_post([&] {
        entered = true;
        std::this_thread::sleep_for(milliseconds(30));
        left = true;
      });
    }
  });
  while (!entered) std::this_thread::yield();
  thread.stop();
  EXPECT_TRUE(left);
  caller.join();
}

}  // namespace
}  // namespace tessera::service
