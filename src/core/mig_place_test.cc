// Pods on partitioned cards, from request to books.
#include <gtest/gtest.h>

#include "core/core_test_builders.h"
#include "core/place.h"

namespace tessera::core {
namespace {

using namespace testing;
using std::chrono::hours;
constexpr auto kHami = ScoreMode::kHami;
constexpr auto kCorrected = ScoreMode::kCorrected;

/// "m0 2g.20gb@0, m0 2g.20gb@2; m1 ...": a piece per position that has some.
std::string places_text(const Allocation& allocation) {
  std::string text;
  for (std::size_t i = 0; i < allocation.grants.size(); ++i) {
    const Grant& grant = allocation.grants[i];
    if (i > 0) text += allocation.grants[i - 1].position == grant.position ? ", " : "; ";
    text += grant.device;
    if (grant.mig) {
      text += " " + grant.mig->profile + "@" + std::to_string(grant.mig->placement.start);
    }
  }
  return text;
}

class MigPlaceTest : public ::testing::TestWithParam<ScoreMode> {
 protected:
  MigPlaceTest() : cluster_(VendorTable(2)) { add({mig_card("m0")}); }
  void TearDown() override {
    EXPECT_EQ(cluster_.differences(cluster_.rebuild()), std::vector<std::string>{});
  }
  void add(std::vector<Device> cards) { n1_ = cluster_.set_node(node("n1", std::move(cards))); }
  bool hami() const { return GetParam() == kHami; }

  /// What is granted, or why not; granted slices stay reserved.
  std::string place_one(const std::string& uid, std::vector<Position> positions) {
    Request request = pod(uid, std::move(positions));
    request.mode = GetParam();
    const std::vector<NodeId> nodes = {n1_};
    const Outcome outcome = place(cluster_, request, nodes);
    if (!outcome.decision) return outcome.rejected.at(0).reject.text();
    const Allocation& allocation = outcome.decision->allocation;
    const Status status = cluster_.reserve(request.uid, allocation, MonoTime(hours(1)));
    EXPECT_TRUE(status) << "what fits can be reserved: " << status.error().what;
    return places_text(allocation);
  }
  std::string place_one(const std::string& uid, DeviceAsk asked) {
    return place_one(uid, std::vector<Position>{app({asked})});
  }
  Cluster cluster_;
  NodeId n1_;
};

TEST_P(MigPlaceTest, TwoInstancesBehindADeviceLessInitContainer) {  // nvidia example 13
  EXPECT_EQ(place_one("p", {init({}), app({ask(2, 15000, 0)})}), "m0 2g.20gb@0, m0 2g.20gb@2");
  EXPECT_EQ(cluster_.hold({"p"})->allocation.grants[0].position, 1U);
  EXPECT_EQ(cluster_.node(n1_).used[0], (Usage{2, {39936}, {50}, 4}));
  EXPECT_EQ(place_one("two more", ask(2, 30000, 0)),
            "1/1 AllocatedCardsInsufficientRequest, 1/1 CardMigTopologyInfeasible");
  EXPECT_EQ(place_one("one more", ask(1, 30000, 0)), "m0 3g.40gb@4");
}

TEST_P(MigPlaceTest, Case122TwoInstancesOfOneCardForOneContainer) {
  EXPECT_EQ(place_one("p", ask(2, 10000, 0)), "m0 2g.20gb@0, m0 2g.20gb@2");
}

TEST_P(MigPlaceTest, CountsAreNotComparedWithCards) {  // nvidia example 15
  EXPECT_EQ(place_one("eight", ask(8, 8000, 0)),
            "1/1 CardMigTopologyInfeasible, 7/1 AllocatedCardsInsufficientRequest");
  EXPECT_EQ(place_one("seven", ask(7, 8000, 0)),
            "m0 1g.10gb@6, m0 1g.10gb@5, m0 1g.10gb@4, m0 1g.10gb@3, m0 1g.10gb@2, m0 1g.10gb@1, "
            "m0 1g.10gb@0");
}

TEST_P(MigPlaceTest, TwoCardsTwoInstancesEach) {  // nvidia example 15
  add({mig_card("m0"), mig_card("m1")});
  const std::string placed = place_one("p", ask(4, 30000, 0));
  if (hami()) {
    EXPECT_EQ(placed, "m1 3g.40gb@4, m1 3g.40gb@0, m0 3g.40gb@4, m0 3g.40gb@0");
  }
  for (const std::size_t card : {0, 1}) {
    const auto occupied = cluster_.node(n1_).occupied(card);
    EXPECT_EQ(std::vector<MigPlacement>(occupied.begin(), occupied.end()),
              (std::vector<MigPlacement>{{0, 4}, {4, 4}}));
  }
}

TEST_P(MigPlaceTest, RoundedCoresOfTheLastInstance) {  // nvidia example 16, N-10
  add({mig_card(
      "m0",
      {{"1g.5gb", {4864}, {15}, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}}})});
  ASSERT_EQ(place_one("six", ask(6, 4000, 0)).substr(0, 11), "m0 1g.5gb@6");
  EXPECT_EQ(place_one("11 cores", ask(1, 4000, 11)),
            hami() ? "1/1 CardInsufficientCore" : "m0 1g.5gb@0");
  cluster_.release({"11 cores"});
  EXPECT_EQ(place_one("10 cores", ask(1, 4000, 10)), "m0 1g.5gb@0");
}

TEST_P(MigPlaceTest, WholeCard) {  // nvidia example 14, N-2
  EXPECT_EQ(place_one("p", ask_percent(1, 100, 0)),
            hami() ? "1/1 CardMigTopologyInfeasible" : "m0 7g.80gb@0");
}

TEST_P(MigPlaceTest, InitAndAppContainersDoNotOverlap) {  // N-3
  EXPECT_EQ(place_one("p", {init({ask(1, 30000, 0)}), app({ask(1, 30000, 0)})}),
            "m0 3g.40gb@4; m0 3g.40gb@0");
  EXPECT_EQ(place_one("q", ask(1, 1, 0)), "1/1 CardMigTopologyInfeasible");
}

TEST_P(MigPlaceTest, AnUnexplainedUserClosesTheCard) {
  cluster_.confirm({"old"}, held("n1", {{PositionKind::kApp, {{"m0", 100, 0}}}}));
  EXPECT_EQ(place_one("p", ask(1, 8000, 0)), "1/1 CardNotHealth");
}

TEST_P(MigPlaceTest, APodPlacedAgainMayUseItsOwnPlaces) {
  EXPECT_EQ(place_one("p", ask(2, 30000, 0)), "m0 3g.40gb@4, m0 3g.40gb@0");
  EXPECT_EQ(place_one("p", ask(2, 30000, 0)), "m0 3g.40gb@4, m0 3g.40gb@0");
}

INSTANTIATE_TEST_SUITE_P(Modes, MigPlaceTest, ::testing::Values(kCorrected, kHami),
                         [](const auto& row) { return row.param == kHami ? "Hami" : "Corrected"; });

}  // namespace
}  // namespace tessera::core
