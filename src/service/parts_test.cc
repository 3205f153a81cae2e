/// Small pieces: texts of metrics, names in paths, option checks, the gate before the
/// caches are filled.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "service/binding_writer.h"
#include "service/names.h"
#include "service/ready_gate.h"
#include "service/serve_check.h"

namespace tessera::service {
namespace {

TEST(ObjectName, OnlyWhatCannotChangeAPath) {
  for (const char* good : {"a", "node-1.example.com", "A_b", "0"})
    EXPECT_TRUE(is_object_name(good)) << good;
  for (const char* bad : {"", ".", "..", "a/b", "a?b", "a b", "a%2e", "ü", "a#b"})
    EXPECT_FALSE(is_object_name(bad)) << bad;
  EXPECT_FALSE(is_object_name(std::string(254, 'a')));
}

TEST(LabelValue, AsKubernetesAllowsIt) {
  for (const char* good : {"a", "n-1.x_y", "0"}) EXPECT_TRUE(is_label_value(good)) << good;
  for (const char* bad : {"", "-a", "a-", ".a", "a b"}) EXPECT_FALSE(is_label_value(bad)) << bad;
  EXPECT_TRUE(is_label_value(std::string(63, 'a')));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
}

TEST(CheckOptions, TheDefaultsAreInOrderWithTheBuiltInConfiguration) {
  const auto plan = check_options({});
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->defaults.node->name(), "binpack");
  ASSERT_EQ(plan->defaults.devices.size(), 1U);
  EXPECT_EQ(plan->defaults.devices[0]->name(), "spread");
}

std::string refusal(const ServeOptions& options) {
  const auto plan = check_options(options);
  return plan ? std::string() : plan.error().what;
}

TEST(CheckOptions, TheNodePolicyIsAChain) {
  ServeOptions options;
  options.node_policy = "label-priority,spread";
  options.priority_label = "example.com/rank";
  const auto plan = check_options(options);
  ASSERT_TRUE(plan) << plan.error().what;
  ASSERT_NE(plan->defaults.node_before, nullptr);
  EXPECT_EQ(plan->defaults.node_before->name(), "label-priority");
  EXPECT_EQ(plan->defaults.node->name(), "spread");
  EXPECT_EQ(plan->defaults.node_after, nullptr);
  EXPECT_EQ(plan->defaults.priority_label, "example.com/rank");
  options.score_mode = "hami";
  EXPECT_EQ(
      refusal(options),
      "--node-scheduler-policy: \"label-priority,spread\" with --score-mode=hami, which knows "
      "no chains of node policies");
  options.node_policy = "spread";
  EXPECT_EQ(refusal(options), "");
  options.priority_label = "a b";
  EXPECT_EQ(refusal(options), "--priority-label: \"a b\" is not the key of a label");
  options.node_policy = "spread,binpack";
  EXPECT_EQ(
      refusal(options),
      "--node-scheduler-policy: spread and binpack in one chain: only one can go by the load");
}

class GateTest : public testing::Test {
 protected:
  ReadyGate::Visitor visitor(std::shared_ptr<std::atomic<bool>> gone = nullptr) {
    return {.enter = [this] { ++entered_; },
            .turn_away = [this](const std::string& why) { turned_away_.push_back(why); },
            .client_gone = std::move(gone)};
  }
  TaskThread state_;
  std::atomic<int> entered_{0};
  std::vector<std::string> turned_away_;
};

TEST_F(GateTest, WaitersEnterWhenItOpensAndLaterOnesAtOnce) {
  ReadyGate gate(state_, [] { return ReadyGate::Obstacle{"x", std::chrono::hours(1)}; });
  state_.run([&] {
    gate.pass(visitor());
    gate.pass(visitor(std::make_shared<std::atomic<bool>>(true)));
    EXPECT_EQ(entered_, 0);
    gate.open();
    EXPECT_EQ(entered_, 1);
    EXPECT_EQ(turned_away_, std::vector<std::string>{"context cancelled"});
    gate.pass(visitor());
    EXPECT_EQ(entered_, 2);
  });
}

TEST_F(GateTest, AWaitThatIsTooLongEndsWithWhatIsMissing) {
  ReadyGate gate(state_, [] {
    return ReadyGate::Obstacle{"not ready: pods", std::chrono::milliseconds(5)};
  });
  state_.run([&] { gate.pass(visitor()); });
  std::size_t waiting = 1;
  while (waiting > 0) state_.run([&] { waiting = gate.waiting(); });
  EXPECT_EQ(turned_away_, std::vector<std::string>{"not ready: pods"});
  state_.stop();
}

TEST_F(GateTest, AnotherObstacleIsAnotherWait) {
  ReadyGate::Obstacle obstacle{"follower", std::chrono::milliseconds(20)};
  ReadyGate gate(state_, [&obstacle] { return obstacle; });
  state_.run([&] {
    gate.pass(visitor());
    obstacle = {"lists are missing", std::chrono::hours(1)};
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  state_.run([&] {
    EXPECT_EQ(gate.waiting(), 1U) << "it became leader while the call waited";
    obstacle = {"follower again", std::chrono::milliseconds(20)};
    gate.reconsider();
  });
  EXPECT_EQ(turned_away_, std::vector<std::string>{"follower again"});
  state_.stop();
}

TEST_F(GateTest, AClosedGateMakesWaitAgain) {
  ReadyGate gate(state_, [] { return ReadyGate::Obstacle{"", std::chrono::hours(1)}; });
  state_.run([&] {
    gate.open();
    gate.pass(visitor());
    gate.close();
    gate.pass(visitor());
    EXPECT_EQ(entered_, 1);
    gate.open();
    EXPECT_EQ(entered_, 2);
  });
  state_.stop();
}

TEST_F(GateTest, AShutGateTurnsEverybodyAway) {
  ReadyGate gate(state_, [] { return ReadyGate::Obstacle{"", std::chrono::hours(1)}; });
  state_.run([&] {
    gate.pass(visitor());
    gate.shut("over");
    gate.pass(visitor());
  });
  EXPECT_EQ(turned_away_, (std::vector<std::string>{"over", "over"}));
  EXPECT_EQ(entered_, 0);
}

}  // namespace
}  // namespace tessera::service
