#include "core/ledger.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
constexpr auto kInit = PositionKind::kInit;
constexpr auto kSidecar = PositionKind::kSidecar;
constexpr auto kApp = PositionKind::kApp;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() : cluster_(VendorTable(1)) {
    id_ = add_busy_node(cluster_, "n1", {{card("a"), 1, 1000, 10}, {card("b")}});
    ledger_.open(cluster_.node(id_));
  }
  Ledger::Slice slice(std::uint32_t position, PositionKind kind, std::int64_t memory) {
    return {position, kind, {1, {memory}, {5}}};
  }
  Cluster cluster_;
  NodeId id_;
  Ledger ledger_;
};

TEST_F(LedgerTest, RollbackRestoresEverythingAfterTheMark) {
  ledger_.take(0, slice(0, kApp, 100));
  const Ledger::Mark mark = ledger_.mark();
  const Usage before = ledger_.total(0);
  ledger_.take(0, slice(1, kApp, 200));
  ledger_.take(1, slice(2, kInit, 300));
  ledger_.rollback(mark);
  EXPECT_EQ(ledger_.total(0), before);
  EXPECT_EQ(ledger_.total(1), Usage{});
  EXPECT_FALSE(ledger_.touched(1));
  EXPECT_EQ(ledger_.entries().size(), 1U);
  ledger_.rollback(0);
  EXPECT_EQ(ledger_.total(0), (Usage{1, {1000}, {10}}));
}

TEST_F(LedgerTest, TotalIsSidecarsPlusTheLargerOfInitAndApps) {
  ledger_.take(0, slice(0, kSidecar, 100));
  ledger_.take(0, slice(1, kInit, 5000));
  ledger_.take(0, slice(2, kInit, 4000));
  ledger_.take(0, slice(3, kApp, 2000));
  ledger_.take(0, slice(4, kApp, 1500));
  EXPECT_EQ(ledger_.total(0), (Usage{1 + 1 + 2, {1000 + 100 + 5000}, {10 + 5 + 10}}));
}

TEST_F(LedgerTest, WhatAContainerFindsInUse) {
  ledger_.take(0, slice(0, kSidecar, 100));
  ledger_.take(0, slice(1, kInit, 5000));
  EXPECT_EQ(ledger_.seen(0, kInit, 2).memory, MiB{1100}) << "the init container before has ended";
  EXPECT_EQ(ledger_.seen(0, kInit, 1).memory, MiB{6100}) << "its own other card entry has not";
  EXPECT_EQ(ledger_.seen(0, kSidecar, 2).memory, MiB{6100}) << "its charge stays beside the peak";
  EXPECT_EQ(ledger_.seen(0, kApp, 3).memory, MiB{1100});
  ledger_.take(0, slice(3, kApp, 2000));
  EXPECT_EQ(ledger_.seen(0, kApp, 4).memory, MiB{3100});
  EXPECT_EQ(ledger_.seen(1, kApp, 4), Usage{}) << "another card";
}

TEST_F(LedgerTest, TotalWithIsTotalAfterTake) {
  ledger_.take(0, slice(0, kInit, 700));
  const Usage foretold = ledger_.total_with(0, slice(1, kApp, 900));
  const Usage untouched = ledger_.total_with(1, slice(1, kApp, 900));
  ledger_.take(0, slice(1, kApp, 900));
  ledger_.take(1, slice(1, kApp, 900));
  EXPECT_EQ(ledger_.total(0), foretold);
  EXPECT_EQ(ledger_.total(1), untouched);
}

TEST_F(LedgerTest, OwnUseCountsAsFreeAndOpenStartsAfresh) {
  ledger_.take(0, slice(0, kApp, 100));
  const std::vector<Ledger::OwnUse> own = {{0, {1, {600}, {10}}}};
  ledger_.open(cluster_.node(id_), own);
  EXPECT_EQ(ledger_.total(0), (Usage{0, {400}, {0}}));
  EXPECT_TRUE(ledger_.entries().empty());
  ledger_.open(cluster_.node(id_));
  EXPECT_EQ(ledger_.base(0).memory, MiB{1000});
}

class LedgerMigTest : public ::testing::Test {
 protected:
  LedgerMigTest() : cluster_(VendorTable(1)) {
    id_ = cluster_.set_node(node("n1", {mig_card("m"), card("p")}));
    cluster_.confirm({"other"}, held_instances("n1", {instance(0, "m", "1g.10gb", 3)}));
  }
  static Ledger::Slice two_slices(PositionKind kind, std::uint32_t start) {
    return {0, kind, {1, {19968}, {25}}, MigPlacement{start, 2}};
  }
  std::vector<MigPlacement> occupied(std::uint32_t device = 0) const {
    const auto places = ledger_.occupied(device);
    return {places.begin(), places.end()};
  }
  void open_for(const std::string& uid) {
    const Node& n1 = cluster_.node(id_);
    const auto charges = effective_charges(cluster_.hold({uid})->allocation);
    ledger_.open(n1, Ledger::own_uses(n1, charges));
  }
  Cluster cluster_;
  NodeId id_;
  Ledger ledger_;
};
using Places = std::vector<MigPlacement>;

TEST_F(LedgerMigTest, PlacesAreTakenAndRolledBack) {
  ledger_.open(cluster_.node(id_));
  EXPECT_EQ(occupied(), (Places{{3, 1}}));
  EXPECT_EQ(occupied(1), Places{});
  const Ledger::Mark start = ledger_.mark();
  ledger_.take(0, two_slices(kApp, 0));
  ledger_.take(0, two_slices(kApp, 4));
  EXPECT_EQ(occupied(), (Places{{0, 2}, {3, 1}, {4, 2}})) << "sorted";
  EXPECT_EQ(ledger_.total(0), (Usage{3, {9856 + 2 * 19968}, {63}, 5}));
  ledger_.rollback(start);
  EXPECT_EQ(occupied(), (Places{{3, 1}}));
  EXPECT_EQ(ledger_.total(0).slices, 1);
  ledger_.take(0, two_slices(kApp, 0));
  ledger_.open(cluster_.node(id_));
  EXPECT_EQ(occupied(), (Places{{3, 1}})) << "open starts afresh";
  const auto occupied = cluster_.node(id_).occupied(0);
  EXPECT_EQ(Places(occupied.begin(), occupied.end()), (Places{{3, 1}}))
      << "the node is never touched";
}

TEST_F(LedgerMigTest, InstancesOfInitContainersStay) {  // N-3
  ledger_.open(cluster_.node(id_));
  const Usage foretold = ledger_.total_with(0, two_slices(kInit, 0));
  ledger_.take(0, two_slices(kInit, 0));
  EXPECT_EQ(ledger_.total(0), foretold);
  EXPECT_EQ(ledger_.seen(0, kApp, 1).slots, 2) << "an app finds it in use";
  const Usage both = ledger_.total_with(0, two_slices(kApp, 4));
  ledger_.take(0, two_slices(kApp, 4));
  EXPECT_EQ(ledger_.total(0), both);
  EXPECT_EQ(ledger_.total(0).memory, MiB{9856 + 2 * 19968}) << "added, not maximised";
}

TEST_F(LedgerMigTest, OwnPlacesAreFree) {
  cluster_.confirm({"own"}, held_instances("n1", {instance(0, "m", "2g.20gb", 0)}));
  open_for("own");
  EXPECT_EQ(occupied(), (Places{{3, 1}}));
  EXPECT_EQ(ledger_.base(0), (Usage{1, {9856}, {13}, 1}));
  open_for("other");
  EXPECT_EQ(occupied(), (Places{{0, 2}}));
}

TEST_F(LedgerMigTest, CardsWithUnexplainedUsersAreClosedExceptForThemselves) {
  cluster_.confirm({"plain"}, held("n1", {{kApp, {{"m", 100, 0}}}}));
  cluster_.confirm({"odd"}, held_instances("n1", {instance(0, "p", "1g.10gb", 0)}));
  ledger_.open(cluster_.node(id_));
  EXPECT_FALSE(ledger_.explained(0));
  EXPECT_FALSE(ledger_.explained(1));
  EXPECT_FALSE(ledger_.same_state(0, 1));
  open_for("plain");
  EXPECT_TRUE(ledger_.explained(0));
  EXPECT_FALSE(ledger_.explained(1));
  open_for("odd");
  EXPECT_FALSE(ledger_.explained(0));
  EXPECT_TRUE(ledger_.explained(1));
}

TEST_F(LedgerMigTest, LostInstancesClosePartitionedCards) {
  cluster_.confirm({"lost"}, held_instances("n1", {instance(0, "gone", "1g.10gb", 0)}));
  ledger_.open(cluster_.node(id_));
  EXPECT_FALSE(ledger_.explained(0));
  EXPECT_TRUE(ledger_.explained(1));
  open_for("lost");
  EXPECT_TRUE(ledger_.explained(0)) << "the pod that asks is itself the one";
}

}  // namespace
}  // namespace tessera::core
