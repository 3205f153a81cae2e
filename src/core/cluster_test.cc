#include "core/cluster.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
using std::chrono::seconds;
constexpr auto kApp = PositionKind::kApp;
constexpr auto kInit = PositionKind::kInit;

MonoTime at(int second) { return MonoTime(seconds(second)); }
Allocation slice(const std::string& on, const std::string& id, std::int64_t memory,
                 std::int64_t cores = 0) {
  return held(on, {{kApp, {{id, memory, cores}}}});
}

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : cluster_(VendorTable(2)) {
    n1_ = cluster_.set_node(node("n1", {card("a", 10000, 2), card("b", 10000, 2)}));
  }
  void TearDown() override {
    EXPECT_EQ(cluster_.differences(cluster_.rebuild()), std::vector<std::string>{});
  }
  Usage used(std::size_t device) const { return cluster_.node(n1_).used[device]; }
  Cluster cluster_;
  NodeId n1_;
};

TEST_F(ClusterTest, ReserveTakesAndReleaseGivesBack) {
  ASSERT_TRUE(cluster_.reserve({"p"}, slice("n1", "a", 4000, 30), at(10)));
  EXPECT_EQ(used(0), (Usage{1, {4000}, {30}}));
  EXPECT_EQ(cluster_.hold({"p"})->state, HoldState::kReserved);
  EXPECT_EQ(cluster_.hold({"p"})->deadline, at(10));
  EXPECT_TRUE(cluster_.release({"p"}));
  EXPECT_EQ(used(0), Usage{});
  EXPECT_FALSE(cluster_.release({"p"}));
  EXPECT_EQ(cluster_.hold({"p"}), nullptr);
}

TEST_F(ClusterTest, ReserveIsRefusedWhenSomethingDoesNotFit) {
  ASSERT_TRUE(cluster_.reserve({"p"}, slice("n1", "a", 9000, 90), at(10)));
  struct Row {
    std::string name;
    Allocation allocation;
    std::string want;
  };
  Allocation twice = held("n1", {{kApp, {{"a", 1, 0}}}, {kApp, {{"a", 1, 0}}}});
  Allocation stranger = slice("n1", "a", 1);
  stranger.grants[0].vendor = kOtherVendor;
  const std::string gone = "the slices of pod q do not fit on node n1 any more";
  for (const Row& row : std::vector<Row>{
           {"memory", slice("n1", "a", 1001, 0), gone},
           {"cores", slice("n1", "a", 1000, 11), gone},
           {"slots", twice, gone},
           {"unknown device", slice("n1", "zz", 1), gone},
           {"device of another vendor", stranger, gone},
           {"one of two cards", held("n1", {{kApp, {{"b", 1, 0}, {"a", 1001, 0}}}}), gone},
           {"unknown node", slice("n9", "a", 1), "node n9 is not registered"}}) {
    SCOPED_TRACE(row.name);
    const std::uint64_t version = cluster_.node(n1_).version;
    const Status status = cluster_.reserve({"q"}, row.allocation, at(10));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kConflict);
    EXPECT_EQ(status.error().what, row.want);
    EXPECT_EQ(cluster_.hold({"q"}), nullptr);
    EXPECT_EQ(cluster_.node(n1_).version, version) << "nothing changed";
  }
  EXPECT_TRUE(cluster_.reserve({"q"}, slice("n1", "a", 1000, 10), at(10))) << "exactly full";
  EXPECT_FALSE(cluster_.find_node("n9").valid());
}

TEST_F(ClusterTest, ReserveOnARemovedNodeIsRefused) {
  cluster_.remove_node("n1");
  const Status status = cluster_.reserve({"q"}, slice("n1", "a", 1), at(1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what, "node n1 is not registered");
}

TEST_F(ClusterTest, ANewReservationReplacesTheOldInOneStep) {
  const NodeId n2 = cluster_.set_node(node("n2", {card("c", 10000)}));
  ASSERT_TRUE(cluster_.reserve({"p"}, slice("n1", "a", 9000), at(10)));
  ASSERT_TRUE(cluster_.reserve({"p"}, slice("n1", "a", 9500), at(20))) << "its own share is free";
  EXPECT_EQ(used(0), (Usage{1, {9500}, {0}}));
  EXPECT_EQ(cluster_.hold({"p"})->deadline, at(20));
  EXPECT_FALSE(cluster_.reserve({"p"}, slice("n2", "c", 10001), at(30)));
  EXPECT_EQ(used(0), (Usage{1, {9500}, {0}})) << "refused: the old one stays";
  ASSERT_TRUE(cluster_.reserve({"p"}, slice("n2", "c", 10000), at(30)));
  EXPECT_EQ(used(0), Usage{});
  EXPECT_EQ(cluster_.node(n2).used[0].memory, MiB{10000});
  EXPECT_EQ(cluster_.holders_on(n1_), std::vector<PodUid>{});
  EXPECT_EQ(cluster_.holders_on(n2), (std::vector<PodUid>{{"p"}}));
}

TEST_F(ClusterTest, ABoundPodIsNotReservedAgain) {
  cluster_.confirm({"p"}, slice("n1", "a", 1000));
  const Status status = cluster_.reserve({"p"}, slice("n1", "b", 1000), at(1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kConflict);
  EXPECT_EQ(status.error().what, "pod p is bound to node n1");
  EXPECT_EQ(used(1), Usage{});
}

TEST_F(ClusterTest, ConfirmReplacesWhateverIsHeldAndIsNeverRefused) {
  ASSERT_TRUE(cluster_.reserve({"p"}, slice("n1", "a", 4000), at(10)));
  cluster_.confirm({"p"}, slice("n1", "b", 99999, 300));
  EXPECT_EQ(used(0), Usage{});
  EXPECT_EQ(used(1), (Usage{1, {99999}, {300}})) << "the truth may exceed a device";
  EXPECT_EQ(cluster_.hold({"p"})->state, HoldState::kBound);
  EXPECT_TRUE(cluster_.expire(at(1000)).empty());
  EXPECT_FALSE(cluster_.reserve({"q"}, slice("n1", "b", 0, 0), at(1))) << "no room below zero";
}

TEST_F(ClusterTest, PodsOnAnUnknownNodeWaitForIt) {
  cluster_.confirm({"p"}, slice("n7", "x", 4000, 20));
  const NodeId n7 = cluster_.find_node("n7");
  ASSERT_TRUE(n7.valid());
  EXPECT_FALSE(cluster_.node(n7).present);
  EXPECT_EQ(cluster_.present_nodes(), (std::vector<NodeId>{n1_}));
  EXPECT_EQ(cluster_.set_node(node("n7", {card("x", 10000)})), n7);
  EXPECT_TRUE(cluster_.node(n7).present);
  EXPECT_EQ(cluster_.node(n7).used[0], (Usage{1, {4000}, {20}}));
}

TEST_F(ClusterTest, Case26ADeviceThatVanishesAndReturnsKeepsItsCharges) {
  cluster_.confirm({"p"}, slice("n1", "a", 4000, 20));
  cluster_.confirm({"old"}, slice("n1", "gone-long-ago", 9999, 0));
  cluster_.set_node(node("n1", {card("b", 10000, 2)}));
  EXPECT_EQ(used(0), Usage{}) << "the stale reference is charged to nobody";
  cluster_.confirm({"q"}, slice("n1", "a", 1000, 5));
  cluster_.release({"p"});
  cluster_.set_node(node("n1", {card("b", 10000, 2), card("a", 10000, 2)}));
  EXPECT_EQ(used(0), Usage{});
  EXPECT_EQ(used(1), (Usage{1, {1000}, {5}}));
}

TEST_F(ClusterTest, ANodeThatIsRemovedAndReturnsKeepsItsCharges) {
  cluster_.confirm({"p"}, slice("n1", "a", 4000, 20));
  cluster_.remove_node("n1");
  EXPECT_FALSE(cluster_.node(n1_).present);
  EXPECT_TRUE(cluster_.present_nodes().empty());
  cluster_.confirm({"q"}, slice("n1", "b", 500));
  EXPECT_EQ(cluster_.set_node(node("n1", {card("b", 10000), card("a", 10000)})), n1_);
  EXPECT_EQ(used(0), (Usage{1, {500}, {0}}));
  EXPECT_EQ(used(1), (Usage{1, {4000}, {20}}));
  cluster_.remove_node("never seen");
}

TEST_F(ClusterTest, InitContainersThatHaveFinishedCountNoMore) {
  cluster_.confirm(
      {"p"}, held("n1", {{kInit, {{"a", 9000, 60}, {"b", 100, 1}}}, {kApp, {{"a", 3000, 70}}}}));
  EXPECT_EQ(used(0), (Usage{1, {9000}, {70}}));
  ASSERT_TRUE(cluster_.finish_init({"p"}));
  EXPECT_EQ(used(0), (Usage{1, {3000}, {70}}));
  EXPECT_EQ(used(1), Usage{});
  EXPECT_TRUE(cluster_.finish_init({"p"})) << "again changes nothing";
  EXPECT_EQ(used(0), (Usage{1, {3000}, {70}}));
  EXPECT_FALSE(cluster_.finish_init({"nobody"}));
  EXPECT_TRUE(cluster_.release({"p"}));
  EXPECT_EQ(used(0), Usage{});
}

TEST_F(ClusterTest, ReservationsExpireInOrder) {
  ASSERT_TRUE(cluster_.reserve({"late"}, slice("n1", "a", 1), at(30)));
  ASSERT_TRUE(cluster_.reserve({"z"}, slice("n1", "a", 1), at(10)));
  ASSERT_TRUE(cluster_.reserve({"b"}, slice("n1", "b", 1), at(11)));
  EXPECT_TRUE(cluster_.expire(at(9)).empty());
  EXPECT_TRUE(cluster_.extend({"z"}, at(12)));
  EXPECT_EQ(cluster_.expire(at(12)), (std::vector<PodUid>{{"b"}, {"z"}}))
      << "not after now; uid order";
  EXPECT_EQ(cluster_.holders(), (std::vector<PodUid>{{"late"}}));
  EXPECT_EQ(cluster_.hold_count(), 1U);
  EXPECT_FALSE(cluster_.extend({"z"}, at(99)));
  cluster_.confirm({"late"}, slice("n1", "a", 1));
  EXPECT_FALSE(cluster_.extend({"late"}, at(99))) << "a bound pod has no deadline";
  EXPECT_TRUE(cluster_.expire(at(1000)).empty());
}

TEST_F(ClusterTest, VersionsChangeExactlyWhenSomethingChanges) {
  const auto version = [&] { return cluster_.node(n1_).version; };
  std::uint64_t last = version();
  const auto changed = [&] { return std::exchange(last, version()) != last; };
  NodeSpec spec = cluster_.node(n1_).spec;
  cluster_.set_node(spec);
  EXPECT_FALSE(changed()) << "the same again";
  spec.cordoned = {"a"};
  cluster_.set_node(spec);
  EXPECT_TRUE(changed());
  cluster_.set_locked(n1_, true);
  EXPECT_TRUE(changed());
  cluster_.set_locked(n1_, true);
  EXPECT_FALSE(changed());
  cluster_.confirm({"p"}, slice("n1", "a", 1));
  EXPECT_TRUE(changed());
  cluster_.confirm({"q"}, slice("n2", "a", 1));
  EXPECT_FALSE(changed()) << "another node";
  cluster_.release({"p"});
  EXPECT_TRUE(changed());
  cluster_.remove_node("n1");
  EXPECT_TRUE(changed());
}

TEST_F(ClusterTest, NodesAreListedByNameAndKeepTheirNumbers) {
  const NodeId n10 = cluster_.set_node(node("n10", {}));
  const NodeId a = cluster_.set_node(node("a", {}));
  EXPECT_EQ(cluster_.present_nodes(), (std::vector<NodeId>{a, n1_, n10}));
  EXPECT_EQ(cluster_.rank(a), 0U);
  EXPECT_EQ(cluster_.rank(n10), 2U);
  EXPECT_EQ(cluster_.node_count(), 3U);
  EXPECT_EQ(cluster_.find_node("n10"), n10);
}

TEST_F(ClusterTest, DifferencesAreNamed) {
  Cluster other = cluster_.rebuild();
  other.confirm({"p"}, slice("n1", "a", 4000, 20));
  const std::vector<std::string> found = cluster_.differences(other);
  EXPECT_EQ(found, (std::vector<std::string>{
                       "node n1 device a: 0 slots, 0 MiB, 0 % cores against 1 slots, 4000 MiB, "
                       "20 % cores",
                       "node n1 device a: load 0 against 366666",
                       "node n1 device a: instances none and 0 users without against none and 1",
                       "node n1 has different sums by vendor", "node n1 has different holders",
                       "namespaces outside any quota are used differently",
                       "pod p is held on one side only"}));
}

}  // namespace
}  // namespace tessera::core
