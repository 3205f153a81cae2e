#include "core/place.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;

std::string winner(const Cluster& cluster, const Request& request,
                   const PlaceOptions& options = {}) {
  const Outcome outcome = place(cluster, request, all_nodes(cluster), options);
  const Outcome oracle = place_oracle(cluster, request, all_nodes(cluster), options);
  EXPECT_EQ(outcome.fitting, oracle.fitting);
  EXPECT_EQ(outcome.decision.has_value(), oracle.decision.has_value());
  if (!outcome.decision) return "none";
  if (oracle.decision) {
    EXPECT_EQ(outcome.decision->allocation, oracle.decision->allocation);
  }
  return outcome.decision->allocation.node;
}

TEST(Place, E13NothingFits) {
  Cluster cluster{VendorTable(1)};
  cluster.set_node(node("n1", {card("a", 16000), card("b", 16000)}));
  cluster.set_node(node("n3", {card("c", 40000)}));
  const std::vector<NodeId> candidates = {cluster.find_node("n1"), cluster.find_node("n2"),
                                          cluster.find_node("n3")};
  const Outcome outcome = place(cluster, pod("p", ask(2, 20000, 0)), candidates);
  EXPECT_FALSE(outcome.decision);
  EXPECT_TRUE(outcome.fitting.empty());
  ASSERT_EQ(outcome.rejected.size(), 3U);
  const std::vector<std::string> texts = {"2/2 CardInsufficientMemory", "node unregistered",
                                          "NodeInsufficientDevice"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome.rejected[i].candidate, i);
    EXPECT_EQ(outcome.rejected[i].reject.text(), texts[i]);
  }
}

TEST(Place, E5NodePolicies) {
  Cluster cluster{VendorTable(1)};
  add_busy_node(cluster, "A", {{card("a1", 16000), 2, 4000, 25}, {card("a2", 16000)}});
  add_busy_node(cluster, "B", {{card("b1", 16000), 4, 8000, 50}});
  cluster.set_node(node("C", {}));
  Request request = pod("p", ask(1, 2000, 10));
  EXPECT_EQ(winner(cluster, request), "B");
  request.node_policy = &kEmptiestNode;
  EXPECT_EQ(winner(cluster, request), "A");
  const Outcome outcome = place(cluster, request, all_nodes(cluster));
  EXPECT_EQ(outcome.fitting, (std::vector<std::uint32_t>{0, 1}));
  ASSERT_EQ(outcome.rejected.size(), 1U);
  EXPECT_EQ(outcome.rejected[0].candidate, 2U);
}

TEST(Place, E6BinpackIsFullestAfterPlacement) {
  Cluster cluster{VendorTable(1)};
  add_busy_node(cluster, "L",
                {{card("l0", 16000), 1, 1000, 10},
                 {card("l1", 16000)},
                 {card("l2", 16000)},
                 {card("l3", 16000)},
                 {card("l4", 16000)},
                 {card("l5", 16000)},
                 {card("l6", 16000)},
                 {card("l7", 16000)}});
  add_busy_node(cluster, "S", {{card("s", 8000)}});
  EXPECT_EQ(winner(cluster, pod("p", ask(1, 6000, 50))), "S") << "HAMi takes L (S-23)";
}

TEST(Place, TiesGoToUnlockedThenToTheLowerName) {
  Cluster cluster{VendorTable(1)};
  for (const char* name : {"n10", "n2", "n1"}) cluster.set_node(node(name, {card("g")}));
  const Request request = pod("p", ask(1, 100, 0));
  EXPECT_EQ(winner(cluster, request), "n1") << "byte order, whatever the order of arrival";
  cluster.set_locked(cluster.find_node("n1"), true);
  EXPECT_EQ(winner(cluster, request), "n10");
  EXPECT_EQ(winner(cluster, request, {.prefer_unlocked = false}), "n1");
  cluster.confirm({"x"}, held("n1", {{PositionKind::kApp, {{"g", 100, 0}}}}));
  EXPECT_EQ(winner(cluster, request), "n1") << "a better key wins over a lock";
  for (const char* name : {"n10", "n2"}) cluster.set_locked(cluster.find_node(name), true);
  cluster.release({"x"});
  EXPECT_EQ(winner(cluster, request), "n1");
}

TEST(Place, OnlyCandidatesAreLookedAt) {
  Cluster cluster{VendorTable(1)};
  const NodeId n1 = cluster.set_node(node("n1", {card("g")}));
  const NodeId n2 = cluster.set_node(node("n2", {card("g")}));
  const std::vector<NodeId> only = {n2};
  const Outcome outcome = place(cluster, pod("p", ask(1, 100, 0)), only);
  ASSERT_TRUE(outcome.decision);
  EXPECT_EQ(outcome.decision->node, n2);
  const Outcome none = place(cluster, pod("p", ask(1, 100, 0)), {});
  EXPECT_FALSE(none.decision);
  EXPECT_TRUE(none.rejected.empty());
  EXPECT_NE(n1, n2);
}

TEST(Place, TheLoadOfOtherVendorsOnTheNodeDoesNotCount) {
  Cluster cluster{VendorTable(2)};
  Device other = card("o");
  other.vendor = kOtherVendor;
  cluster.set_node(node("n1", {card("g"), other}));
  add_busy_node(cluster, "n2", {{card("g"), 1, 500, 0}});
  Allocation busy = held("n1", {{PositionKind::kApp, {{"o", 16000, 90}}}});
  busy.grants[0].vendor = kOtherVendor;
  cluster.confirm({"x"}, busy);
  EXPECT_EQ(winner(cluster, pod("p", ask(1, 100, 0))), "n2") << "per requested vendor (S-23)";
}

TEST(Place, Case63NodePoliciesOnTwoNodes) {
  Cluster cluster{VendorTable(1)};
  add_busy_node(cluster, "n1", {{card("a"), 1, 3000, 0}});
  add_busy_node(cluster, "n2", {{card("b")}});
  Request request = pod("p", ask(1, 1000, 0));
  EXPECT_EQ(winner(cluster, request), "n1");
  request.node_policy = &kEmptiestNode;
  EXPECT_EQ(winner(cluster, request), "n2");
}

TEST(Place, Case24ARepeatedFilterSeesItsOwnSlicesAsFree) {
  Cluster cluster{VendorTable(1)};
  cluster.set_node(node("n1", {card("a", 24576)}));
  cluster.set_node(node("n2", {card("b", 24576)}));
  const Request whole = pod("p", ask_percent(1, 100, 100));
  const Outcome first = place(cluster, whole, all_nodes(cluster));
  ASSERT_TRUE(first.decision);
  ASSERT_TRUE(cluster.reserve(whole.uid, first.decision->allocation, MonoTime{}));
  const std::vector<NodeId> n1 = {cluster.find_node("n1")}, n2 = {cluster.find_node("n2")};
  EXPECT_TRUE(place(cluster, whole, n1).decision) << "its own reservation";
  const Outcome moved = place(cluster, whole, n2);
  ASSERT_TRUE(cluster.reserve(whole.uid, moved.decision->allocation, MonoTime{}));
  EXPECT_EQ(cluster.node(n1[0]).used[0], Usage{}) << "n1 is free at once";
  EXPECT_TRUE(place(cluster, pod("q", ask_percent(1, 100, 100)), n1).decision);
  EXPECT_FALSE(place(cluster, pod("q", ask_percent(1, 100, 100)), n2).decision);
}

TEST(Place, OwnHoldDoesNotRaiseTheNodesKey) {
  Cluster cluster{VendorTable(1)};
  cluster.set_node(node("n1", {card("g")}));
  cluster.set_node(node("n2", {card("g")}));
  const Request request = pod("p", ask(1, 8000, 10));
  ASSERT_TRUE(
      cluster.reserve(request.uid, held("n2", {{PositionKind::kApp, {{"g", 8000, 10}}}}), {}));
  EXPECT_EQ(winner(cluster, request), "n1") << "both are empty for this pod";
}

TEST(Place, E12PodTakesSlotsPerContainer) {
  Cluster cluster{VendorTable(1)};
  const NodeId id = cluster.set_node(node("n1", {card("g", 16384, 4)}));
  const std::vector<NodeId> only = {id};
  const Position one = app({ask(1, 100, 0)});
  const Request p = pod("p", {one, one, one});
  ASSERT_TRUE(cluster.reserve(p.uid, place(cluster, p, only).decision->allocation, {}));
  EXPECT_EQ(cluster.node(id).used[0].slots, 3);
  const Outcome q = place(cluster, pod("q", {one, one}), only);
  ASSERT_EQ(q.rejected.size(), 1U);
  EXPECT_EQ(q.rejected[0].reject.text(), "1/1 CardTimeSlicingExhausted");
  EXPECT_TRUE(place(cluster, pod("q", {one}), only).decision);
}

TEST(Place, E11InitShareIsFreeAfterTheInitContainers) {
  Cluster cluster{VendorTable(1)};
  const NodeId id = cluster.set_node(node("n1", {card("g", 24000)}));
  const std::vector<NodeId> only = {id};
  const Request p = pod("p", {init({ask(1, 20000, 0)}), app({ask(1, 10000, 0)})});
  ASSERT_TRUE(cluster.reserve(p.uid, place(cluster, p, only).decision->allocation, {}));
  EXPECT_EQ(cluster.node(id).used[0], (Usage{1, {20000}, {0}}));
  const Request second = pod("q", ask(1, 12000, 0));
  EXPECT_EQ(place(cluster, second, only).rejected[0].reject.text(), "1/1 CardInsufficientMemory");
  ASSERT_TRUE(cluster.finish_init(p.uid));
  EXPECT_TRUE(place(cluster, second, only).decision) << "14000 are free";
}

TEST(Place, SameInputSameAnswer) {
  Cluster cluster{VendorTable(1)};
  for (int i = 0; i < 20; ++i) {
    add_busy_node(cluster, "n" + std::to_string(i),
                  {{card("a"), i % 3, 100 * i, i}, {card("b"), i % 2, 700, 0}});
  }
  const Request request = pod("p", ask(1, 5000, 10));
  const Outcome first = place(cluster, request, all_nodes(cluster));
  const Outcome again = place(cluster, request, all_nodes(cluster));
  ASSERT_TRUE(first.decision);
  EXPECT_EQ(first.decision->allocation, again.decision->allocation);
  EXPECT_EQ(first.decision->key, again.decision->key);
}

}  // namespace
}  // namespace tessera::core
