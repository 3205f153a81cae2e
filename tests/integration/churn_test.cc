// Pods that come and go for ever (case 180): nothing of them stays behind. The process's memory
// over many more of them is what bench/churn_bench looks at.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "harness.h"

namespace tessera {
namespace {

class Churn : public test::ClusterTest {};

/// Pods of every fate: bound and served, reserved only, seen only.
TEST_F(Churn, Case180NothingStaysOfPodsThatCameAndWent) {
  add_node("n1", 4);
  start_server();
  constexpr int kRounds = 120;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = "pod-" + std::to_string(round);
    const std::string uid = add_pod(name, {.memory = 24'576});
    settle();
    if (round % 3 != 2) {
      ASSERT_EQ(filter(name, {"n1"}).error, "") << round;
    }
    if (round % 3 == 0) {
      ASSERT_EQ(bind(name, uid, "n1"), "") << round;
      agent_serves(name, "n1");
    }
    delete_pod(name);
  }
  settle();
  EXPECT_EQ(metric("tessera_cache_objects{resource=\"pods\"}"), settle_serial_)
      << "settle() leaves a pod each time, nobody else does";
  EXPECT_EQ(metric("tessera_reservations"), 0);
  EXPECT_EQ(metric("tessera_bind_queue_length"), 0);
  EXPECT_EQ(metric("tessera_bind_active"), 0);
  EXPECT_EQ(metric("tessera_locked_nodes"), 0);
  EXPECT_EQ(server_->self_check(), "");
  // All four whole cards can be had by one pod.
  const std::string uid = add_pod("last", {.count = 4, .memory = 24'576});
  settle();
  ASSERT_EQ(filter("last", {"n1"}).error, "");
  EXPECT_EQ(bind("last", uid, "n1"), "");
}

}  // namespace
}  // namespace tessera
