#include <gtest/gtest.h>

#include "core/cluster.h"
#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
using std::chrono::seconds;

MonoTime at(int second) { return MonoTime(seconds(second)); }
using Places = std::vector<MigPlacement>;

struct MigUse {
  Places occupied;
  std::uint32_t unexplained = 0;
  friend bool operator==(const MigUse&, const MigUse&) = default;
};

class ClusterMigTest : public ::testing::Test {
 protected:
  ClusterMigTest() : cluster_(VendorTable(2)) {
    n1_ = cluster_.set_node(node("n1", {mig_card("m0"), mig_card("m1"), card("p")}));
  }
  void TearDown() override {
    EXPECT_EQ(cluster_.differences(cluster_.rebuild()), std::vector<std::string>{});
  }
  const Node& n1() const { return cluster_.node(n1_); }
  MigUse mig(std::size_t device) const {
    const auto occupied = n1().occupied(device);
    return {{occupied.begin(), occupied.end()}, n1().unexplained(device)};
  }
  Status reserve(const std::string& uid, std::vector<Grant> grants) {
    return cluster_.reserve({uid}, held_instances("n1", std::move(grants)), at(10));
  }
  Cluster cluster_;
  NodeId n1_;
};

TEST_F(ClusterMigTest, InstancesAreOccupiedUntilThePodEnds) {
  ASSERT_TRUE(reserve("p", {instance(0, "m0", "2g.20gb", 2), instance(0, "m0", "2g.20gb", 0)}));
  EXPECT_EQ(mig(0).occupied, (Places{{0, 2}, {2, 2}})) << "sorted";
  EXPECT_EQ(n1().used[0], (Usage{2, {39936}, {50}, 4})) << "nvidia example 13";
  EXPECT_EQ(mig(1), MigUse{});
  cluster_.confirm({"p"}, held_instances("n1", {instance(0, "m0", "2g.20gb", 2)}));
  EXPECT_EQ(mig(0).occupied, (Places{{2, 2}})) << "the truth replaces the reservation";
  EXPECT_TRUE(cluster_.release({"p"}));
  EXPECT_EQ(mig(0), MigUse{});
  EXPECT_EQ(n1().used[0], Usage{});
}

TEST_F(ClusterMigTest, ReserveIsRefusedWhereTheCardCannotHoldIt) {
  ASSERT_TRUE(reserve("p", {instance(0, "m0", "2g.20gb", 0), instance(0, "m0", "1g.10gb", 6)}));
  Grant crooked = instance(0, "m0", "2g.20gb", 2);
  crooked.mig->placement.start = 3;
  Grant foreign = instance(0, "m0", "2g.20gb", 2);
  foreign.mig->profile = "5g.50gb";
  Grant plain = instance(0, "m1", "2g.20gb", 2);
  plain.mig.reset();
  Allocation twice = held_instances("n1", {instance(0, "m0", "2g.20gb", 2)});
  twice.stray_mig = {{kVendor, "m0", {2, 1}}};
  struct Row {
    std::string name;
    Allocation allocation;
  };
  for (const Row& row : std::vector<Row>{
           {"overlaps another pod's", held_instances("n1", {instance(0, "m0", "1g.10gb", 1)})},
           {"overlaps its own", held_instances("n1", {instance(0, "m0", "2g.20gb", 2),
                                                      instance(1, "m0", "1g.10gb", 3)})},
           {"a larger one over a smaller", held_instances("n1", {instance(0, "m0", "3g.40gb", 4)})},
           {"not a legal place", held_instances("n1", {crooked})},
           {"no such profile", held_instances("n1", {foreign})},
           {"no instance on a partitioned card", held_instances("n1", {plain})},
           {"an instance on a plain card", held_instances("n1", {instance(0, "p", "1g.10gb", 0)})},
           {"a reservation beside the grants overlaps", twice}}) {
    SCOPED_TRACE(row.name);
    const Status status = cluster_.reserve({"q"}, row.allocation, at(10));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kConflict);
    EXPECT_EQ(status.error().what, "the slices of pod q do not fit on node n1 any more");
    EXPECT_EQ(mig(0).occupied, (Places{{0, 2}, {6, 1}}));
  }
  EXPECT_TRUE(reserve("q", {instance(0, "m0", "2g.20gb", 2), instance(0, "m0", "2g.20gb", 4)}));
}

TEST_F(ClusterMigTest, APodsOwnPlacesAreFreeForItsNextReservation) {
  ASSERT_TRUE(reserve("p", {instance(0, "m0", "7g.80gb", 0)}));
  EXPECT_FALSE(reserve("q", {instance(0, "m0", "1g.10gb", 6)}));
  ASSERT_TRUE(reserve("p", {instance(0, "m0", "1g.10gb", 6)}));
  EXPECT_EQ(mig(0).occupied, (Places{{6, 1}}));
  ASSERT_TRUE(reserve("p", {instance(0, "m1", "1g.10gb", 6)}));
  EXPECT_EQ(mig(0), MigUse{});
  EXPECT_EQ(cluster_.expire(at(10)), (std::vector<PodUid>{{"p"}}));
  EXPECT_EQ(mig(1), MigUse{});
}

TEST_F(ClusterMigTest, RoundedCoresDoNotRefuseTheLastInstance) {  // nvidia example 16, N-10
  MigProfiles profiles = seven_slice_profiles();
  profiles[0].cores = {15};
  cluster_.set_node(node("n1", {mig_card("m0", profiles)}));
  for (std::uint32_t start = 0; start < 7; ++start) {
    Grant grant = instance(0, "m0", "1g.10gb", start);
    grant.cores = {15};
    EXPECT_TRUE(reserve("p" + std::to_string(start), {grant})) << start;
  }
  EXPECT_EQ(n1().used[0].cores, CorePercent{105});
}

TEST_F(ClusterMigTest, Case127PlacesOfEndedPodsMayBeShapedAnew) {
  cluster_.confirm({"old1"}, held_instances("n1", {instance(0, "m0", "1g.10gb", 0)}));
  cluster_.confirm({"old2"}, held_instances("n1", {instance(0, "m0", "1g.10gb", 5)}));
  EXPECT_FALSE(reserve("new", {instance(0, "m0", "3g.40gb", 4)})) << "old2 runs there";
  cluster_.release({"old2"});
  EXPECT_TRUE(reserve("new", {instance(0, "m0", "3g.40gb", 4)}));
  EXPECT_FALSE(reserve("late", {instance(0, "m0", "3g.40gb", 0)})) << "old1 still runs";
}

TEST_F(ClusterMigTest, FinishedInitContainersKeepTheirInstances) {  // N-3
  Allocation allocation =
      held_instances("n1", {instance(0, "m0", "3g.40gb", 4), instance(1, "m0", "2g.20gb", 0)});
  allocation.kinds[0] = PositionKind::kInit;
  cluster_.confirm({"p"}, allocation);
  const Usage both{2, {40448 + 19968}, {71}, 6};
  EXPECT_EQ(n1().used[0], both) << "no peak: both stay";
  ASSERT_TRUE(cluster_.finish_init({"p"}));
  EXPECT_EQ(n1().used[0], both);
  EXPECT_EQ(mig(0).occupied, (Places{{0, 2}, {4, 4}}));
}

TEST_F(ClusterMigTest, AUserWithoutAnInstanceClosesTheCard) {
  cluster_.confirm({"p"}, held("n1", {{PositionKind::kApp, {{"m0", 8000, 0}}}}));
  EXPECT_EQ(mig(0).unexplained, 1U);
  EXPECT_EQ(mig(1).unexplained, 0U);
  EXPECT_FALSE(reserve("q", {instance(0, "m0", "1g.10gb", 6)}));
  EXPECT_TRUE(reserve("q", {instance(0, "m1", "1g.10gb", 6)}));
  cluster_.release({"p"});
  EXPECT_TRUE(reserve("q", {instance(0, "m0", "1g.10gb", 6)}));
}

TEST_F(ClusterMigTest, AnInstanceOnAPlainCardClosesIt) {
  cluster_.confirm({"p"}, held_instances("n1", {instance(0, "p", "1g.10gb", 0)}));
  EXPECT_EQ(mig(2).unexplained, 1U);
  EXPECT_EQ(mig(2).occupied, Places{});
  EXPECT_FALSE(cluster_.reserve({"q"}, held("n1", {{PositionKind::kApp, {{"p", 1, 0}}}}), at(1)));
  cluster_.release({"p"});
  EXPECT_TRUE(cluster_.reserve({"q"}, held("n1", {{PositionKind::kApp, {{"p", 1, 0}}}}), at(1)));
}

TEST_F(ClusterMigTest, AnInstanceOnAnAbsentCardClosesAllPartitionedOnes) {
  cluster_.confirm({"p"}, held_instances("n1", {instance(0, "gone", "1g.10gb", 0)}));
  EXPECT_EQ(n1().lost_instances, 1U);
  EXPECT_FALSE(reserve("q", {instance(0, "m1", "1g.10gb", 6)}));
  EXPECT_TRUE(cluster_.reserve({"q"}, held("n1", {{PositionKind::kApp, {{"p", 1, 0}}}}), at(1)))
      << "plain cards are not concerned";
  cluster_.release({"p"});
  EXPECT_EQ(n1().lost_instances, 0U);
  EXPECT_TRUE(reserve("r", {instance(0, "m1", "1g.10gb", 6)}));
}

TEST_F(ClusterMigTest, ReservationsWithoutAGrantKeepTheirPlace) {
  Allocation allocation = held_instances("n1", {instance(0, "m0", "1g.10gb", 6)});
  allocation.stray_mig = {
      {kVendor, "m0", {0, 2}}, {kVendor, "p", {0, 1}}, {kVendor, "gone", {0, 1}}};
  cluster_.confirm({"p"}, allocation);
  EXPECT_EQ(mig(0).occupied, (Places{{0, 2}, {6, 1}}));
  EXPECT_EQ(n1().used[0].slots, 1) << "the grant alone";
  EXPECT_EQ(mig(2).unexplained, 1U);
  EXPECT_EQ(n1().lost_instances, 1U);
  cluster_.set_node(node("n1", {card("p")}));
  EXPECT_EQ(n1().lost_instances, 4U - 1U) << "m0's two and gone's one";
  cluster_.set_node(node("n1", {mig_card("gone"), card("p"), mig_card("m0")}));
  EXPECT_EQ(n1().lost_instances, 0U);
  EXPECT_EQ(mig(0).occupied, (Places{{0, 1}}));
  EXPECT_EQ(mig(2).occupied, (Places{{0, 2}, {6, 1}}));
  cluster_.release({"p"});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(mig(i), MigUse{});
  EXPECT_TRUE(n1().instances.empty());
}

TEST_F(ClusterMigTest, ACardThatVanishesTakesItsPlacesAlongAndReturnsWithThem) {
  cluster_.confirm({"p"}, held_instances("n1", {instance(0, "m0", "2g.20gb", 4)}));
  cluster_.set_node(node("n1", {mig_card("m1")}));
  EXPECT_EQ(n1().lost_instances, 1U);
  EXPECT_FALSE(reserve("q", {instance(0, "m1", "1g.10gb", 6)}));
  cluster_.confirm({"late"}, held_instances("n1", {instance(0, "m0", "1g.10gb", 0)}));
  EXPECT_EQ(n1().lost_instances, 2U);
  cluster_.set_node(node("n1", {mig_card("m1"), mig_card("m0")}));
  EXPECT_EQ(mig(1).occupied, (Places{{0, 1}, {4, 2}}));
  EXPECT_EQ(n1().lost_instances, 0U);
  cluster_.remove_node("n1");
  EXPECT_EQ(n1().lost_instances, 2U);
  cluster_.release({"p"});
  cluster_.set_node(node("n1", {mig_card("m0")}));
  EXPECT_EQ(mig(0).occupied, (Places{{0, 1}}));
}

TEST_F(ClusterMigTest, AnAgentMaySwitchPartitioningUnderRunningPods) {
  cluster_.confirm({"split"}, held_instances("n1", {instance(0, "m0", "2g.20gb", 0)}));
  cluster_.confirm({"whole"}, held("n1", {{PositionKind::kApp, {{"p", 4000, 0}}}}));
  Device was_plain = mig_card("p");
  cluster_.set_node(node("n1", {card("m0"), mig_card("m1"), was_plain}));
  EXPECT_EQ(mig(0).unexplained, 1U);
  EXPECT_EQ(mig(2).unexplained, 1U);
  EXPECT_EQ(mig(2).occupied, Places{});
  cluster_.set_node(node("n1", {mig_card("m0"), mig_card("m1"), card("p")}));
  EXPECT_EQ(mig(0).occupied, (Places{{0, 2}}));
  EXPECT_EQ(mig(0).unexplained + mig(2).unexplained, 0U);
}

TEST_F(ClusterMigTest, ConfirmedOverlapsAreKeptAndGivenBackOneByOne) {
  cluster_.confirm({"a"}, held_instances("n1", {instance(0, "m0", "2g.20gb", 0)}));
  cluster_.confirm({"b"}, held_instances("n1", {instance(0, "m0", "2g.20gb", 0)}));
  EXPECT_EQ(mig(0).occupied, (Places{{0, 2}, {0, 2}}));
  cluster_.release({"a"});
  EXPECT_EQ(mig(0).occupied, (Places{{0, 2}}));
  EXPECT_FALSE(reserve("c", {instance(0, "m0", "2g.20gb", 0)}));
}

TEST_F(ClusterMigTest, SlicesStandForMemoryInTheLoadOfACard) {  // D3
  ASSERT_TRUE(reserve("p", {instance(0, "m0", "3g.40gb", 4)}));
  // 1 of 10 slots, 46 of 100 cores, 4 of 8 slices.
  EXPECT_EQ(n1().load[0], (100'000 + 460'000 + 500'000) / 3);
  EXPECT_EQ(n1().sum_of(kVendor).load_ppm, n1().load[0]);
}

TEST_F(ClusterMigTest, DifferencesNamePlaces) {
  Cluster other = cluster_.rebuild();
  other.confirm({"p"}, held_instances("n1", {instance(0, "m0", "2g.20gb", 4)}));
  const std::vector<std::string> found = cluster_.differences(other);
  EXPECT_NE(std::find(found.begin(), found.end(),
                      "node n1 device m0: instances none and 0 users without against 4+2 and 0"),
            found.end());
}

TEST_F(ClusterMigTest, LinksAndTraitsArePartOfANode) {
  std::uint64_t last = n1().version;
  const auto changed = [&] { return std::exchange(last, n1().version) != last; };
  NodeSpec spec = n1().spec;
  spec.links = {0, 50, 10, 50, 0, 10, 10, 10, 0};
  cluster_.set_node(spec);
  EXPECT_TRUE(changed());
  EXPECT_EQ(n1().spec.links, spec.links);
  spec.traits = {4};
  cluster_.set_node(spec);
  EXPECT_TRUE(changed());
  cluster_.set_node(spec);
  EXPECT_FALSE(changed());
  cluster_.remove_node("n1");
  EXPECT_TRUE(n1().spec.links.empty());
  EXPECT_TRUE(n1().spec.traits.empty());
}

}  // namespace
}  // namespace tessera::core
