#include "core/cluster_lift.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;

Cluster some_cluster() {
  Cluster cluster{VendorTable(2)};
  cluster.set_node(node("n", {card("g0"), mig_card("m")}));
  cluster.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 20'000}}, {}});
  Allocation a = held("n", {{PositionKind::kInit, {{"g0", 4000, 10}}},
                            {PositionKind::kApp, {{"g0", 3000, 20}, {"gone", 500, 0}}}});
  a.subject.ns = "team";
  cluster.confirm({"a"}, a);
  EXPECT_TRUE(cluster.reserve({"b"}, held_instances("n", {instance(0, "m", "2g.20gb", 2)}),
                              MonoTime{std::chrono::seconds(7)}));
  return cluster;
}

TEST(Lift, TakesUseOffAndLeavesTheHold) {
  Cluster cluster = some_cluster();
  Lift lift(cluster);
  const auto a = lift.know({"a"}), b = lift.know({"b"});
  ASSERT_TRUE(a && b);
  const Node& node = cluster.node({0});
  lift.off(*a);
  EXPECT_EQ(node.used[0], Usage{});
  EXPECT_TRUE(cluster.quotas().used("team").empty());
  EXPECT_EQ(node.occupied(1).size(), 1U);
  lift.off(*b);
  EXPECT_TRUE(node.occupied(1).empty());
  EXPECT_NE(cluster.hold({"a"}), nullptr);
  EXPECT_EQ(cluster.holders_on({0}).size(), 2U);
  lift.on(*a);
  EXPECT_EQ(node.used[0].memory, MiB{4000});
  EXPECT_TRUE(node.occupied(1).empty());
}

TEST(Lift, EverythingIsBackWhenItEndsAndNothingHasChanged) {
  Cluster cluster = some_cluster();
  const Cluster before = cluster.rebuild();
  const std::uint64_t version = cluster.node({0}).version, changes = cluster.change_count();
  {
    Lift lift(cluster);
    const auto a = lift.know({"a"}), b = lift.know({"b"});
    lift.off(*a);
    lift.off(*a);
    lift.off(*b);
    EXPECT_NE(cluster.differences(before), std::vector<std::string>{});
  }
  EXPECT_EQ(cluster.differences(before), std::vector<std::string>{});
  EXPECT_EQ(cluster.node({0}).version, version);
  EXPECT_EQ(cluster.change_count(), changes);
  EXPECT_EQ(cluster.expire(MonoTime{std::chrono::seconds(7)}), std::vector<PodUid>{{"b"}});
}

TEST(Lift, WhoHoldsNothingIsNotKnown) {
  Cluster cluster = some_cluster();
  cluster.confirm({"empty"}, held("n", {{PositionKind::kApp, {}}}));
  Lift lift(cluster);
  EXPECT_FALSE(lift.know({"nobody"}));
  EXPECT_FALSE(lift.know({"empty"}));
}

}  // namespace
}  // namespace tessera::core
