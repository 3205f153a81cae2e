// What the agents of nodes make of bound pods, as counted for the metrics.
#include "service/pod_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::service {
namespace {

class PodWatchTest : public testing::Test {
 protected:
  PodWatchTest()
      : measures_(metrics_),
        books_({core::VendorRules{}}, clock_, std::chrono::minutes(10), metrics_),
        watch_(books_, measures_, clock_) {
    books_.on_pod_change = [this](const PodRecord& pod) { watch_.pod_changed(pod); };
    watch_.on_unassigned = [this](const PodRecord& pod) { told_.push_back(pod.fact.uid); };
  }

  PodFact pod(const std::string& phase, bool with_devices = true) {
    PodFact fact;
    fact.ns = "team";
    fact.name = fact.uid = "p";
    fact.version = ++version_;
    fact.node = "n1";
    fact.asks_devices = true;
    fact.bind_phase = phase;
    fact.bind_time = clock_.wall() - std::chrono::seconds(3);
    if (!with_devices) return fact;
    core::Allocation allocation;
    allocation.node = "n1";
    allocation.kinds = {core::PositionKind::kApp};
    allocation.grants = {{.position = 0, .vendor = {0}, .device = "c", .memory = {1}}};
    fact.allocation = allocation;
    return fact;
  }
  bool has(const std::string& line) const {
    return ("\n" + metrics_.render()).find("\n" + line + "\n") != std::string::npos;
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  Measures measures_;
  Books books_;
  PodWatch watch_;
  std::vector<std::string> told_;
  std::uint64_t version_ = 0;
};

TEST_F(PodWatchTest, APodIsPendingUntilItsAgentHasServedIt) {
  books_.apply(pod("allocating"));
  EXPECT_EQ(watch_.allocating(), (std::map<std::string, std::size_t>{{"n1", 1}}));
  books_.apply(pod("success"));
  EXPECT_TRUE(watch_.allocating().empty());
  EXPECT_TRUE(has("tessera_allocate_duration_seconds_count 1"));
  EXPECT_TRUE(has("tessera_allocate_duration_seconds_bucket{le=\"2\"} 0"));
  EXPECT_TRUE(has("tessera_allocate_duration_seconds_bucket{le=\"5\"} 1"));
  EXPECT_TRUE(has("tessera_allocate_failed_total 0"));
}

TEST_F(PodWatchTest, AFailureIsCountedOnce) {
  books_.apply(pod("allocating"));
  books_.apply(pod("failed"));
  books_.apply(pod("failed"));
  EXPECT_TRUE(has("tessera_allocate_failed_total 1"));
}

TEST_F(PodWatchTest, WhatHadEndedBeforeWeCameIsNoNews) {
  books_.apply(pod("failed"));
  EXPECT_TRUE(has("tessera_allocate_failed_total 0"));
  EXPECT_TRUE(has("tessera_allocate_duration_seconds_count 0"));
}

TEST_F(PodWatchTest, ADeletedPodIsNoLongerPending) {
  books_.apply(pod("allocating"));
  books_.remove_pod("p");
  EXPECT_TRUE(watch_.allocating().empty());
  EXPECT_TRUE(has("tessera_allocate_duration_seconds_count 0"));
}

TEST_F(PodWatchTest, AnAgentThatWritesNoPhaseIsDoneWhenThePodRuns) {
  books_.apply(pod("allocating"));
  PodFact running = pod("allocating");
  running.started = true;
  books_.apply(std::move(running));
  EXPECT_TRUE(watch_.allocating().empty());
  EXPECT_TRUE(has("tessera_allocate_duration_seconds_count 0"));
}

TEST_F(PodWatchTest, Case104APodThatPassedTheWebhookByIsFound) {
  books_.apply(pod("", false));
  EXPECT_EQ(watch_.unassigned(), 1U);
  books_.apply(pod("", false));
  EXPECT_EQ(told_, std::vector<std::string>{"p"}) << "told once";
  books_.remove_pod("p");
  EXPECT_EQ(watch_.unassigned(), 0U);
  books_.apply(pod("success"));
  EXPECT_EQ(watch_.unassigned(), 0U);
}

TEST_F(PodWatchTest, ARunningPodIsCountedWithoutATale) {
  PodFact fact = pod("", false);
  fact.started = true;
  books_.apply(std::move(fact));
  EXPECT_EQ(watch_.unassigned(), 1U);
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace tessera::service
