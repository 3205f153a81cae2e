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

}  // namespace
}  // namespace tessera::service
