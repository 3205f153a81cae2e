// What a change of a hold asks of the heap: the record that is kept, and nothing else.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "core/core_test_builders.h"
#include "core/heap_test_counter.h"

namespace tessera::core::testing {
namespace {

std::string card_name(int n) { return "a-card-with-a-long-name-" + std::to_string(n); }
PodUid uid(int n) { return {"5a1c7e90-0000-4000-8000-00000000" + std::to_string(1000 + n)}; }

/// One grant to each of an init container, a sidecar and two others, over two cards.
Allocation four_containers() {
  Allocation a;
  a.node = "a-node-with-a-long-name";
  a.kinds = {PositionKind::kInit, PositionKind::kSidecar, PositionKind::kApp, PositionKind::kApp};
  for (std::uint32_t p = 0; p < 4; ++p)
    a.grants.push_back({p, kVendor, card_name(p % 2 == 0 ? 0 : 1), MiB{100}, CorePercent{1}});
  a.subject.ns = "a-namespace-of-a-team";
  return a;
}

Allocation one_container() {
  Allocation a = four_containers();
  a.kinds = {PositionKind::kApp};
  a.grants.resize(1);
  return a;
}

/// An instance, and another that the reservation names without a grant.
Allocation instances() {
  Allocation a = one_container();
  a.grants[0].device = card_name(2);
  a.grants[0].mig = MigSlice{"1g.10gb", {0, 1}, {}};
  a.stray_mig = {{kVendor, card_name(2), {1, 1}}};
  return a;
}

struct Pod {
  const char* name;
  Allocation (*allocation)();
};

class ClusterMemory : public ::testing::TestWithParam<Pod> {
 protected:
  ClusterMemory() : cluster_(VendorTable(1)) {
    std::vector<Device> cards{card(card_name(0)), card(card_name(1)), mig_card(card_name(2))};
    for (Device& device : cards) device.slots = 1000;
    cards[0].memory = cards[1].memory = {1'000'000};
    cluster_.set_node(node("a-node-with-a-long-name", std::move(cards)));
    cluster_.set_quota({"a-namespace-of-a-team",
                        "quota",
                        {{kVendor, QuotaKind::kMemory, 1'000'000}},
                        {{QuotaScope::Word::kNotTerminating, QuotaScope::Match::kExists, {}}}});
    // Some that stay, so that nothing of namespace, node and card is at its beginning; then all
    // memory grows to its size.
    cluster_.confirm({"a-pod-that-stays"}, one_container());
    Allocation elsewhere = instances();
    elsewhere.grants[0].mig->placement = {5, 1};
    elsewhere.stray_mig.clear();
    cluster_.confirm({"an-instance-that-stays"}, elsewhere);
    for (int round = 0; round < 2; ++round) {
      for (int n = 0; n < 100; ++n) cluster_.confirm(uid(n), GetParam().allocation());
      for (int n = 0; n < 100; ++n) cluster_.release(uid(n));
    }
    for (int n = 0; n < 2; ++n) {
      EXPECT_TRUE(cluster_.reserve(uid(0), GetParam().allocation(), MonoTime::max()));
    }
    cluster_.release(uid(0));
  }
  ~ClusterMemory() override { EXPECT_TRUE(cluster_.differences(cluster_.rebuild()).empty()); }

  std::uint64_t reserve(int n, Allocation allocation) {
    PodUid pod = uid(n);
    bool done = false;
    const auto asked = allocations_of([&] {
      done = cluster_.reserve(std::move(pod), std::move(allocation), MonoTime::max()).has_value();
    });
    EXPECT_TRUE(done);
    return asked;
  }

  static constexpr std::uint64_t kRecord = 1;  ///< with the uid that was handed over
  Cluster cluster_;
};

TEST_P(ClusterMemory, AReservationAsksForItsRecord) {
  EXPECT_EQ(reserve(1, GetParam().allocation()), kRecord);
  const PodUid pod = uid(1);
  EXPECT_EQ(allocations_of([&] { cluster_.extend(pod, MonoTime{}); }), 0U);
  EXPECT_EQ(allocations_of([&] { cluster_.finish_init(pod); }), 0U);
  EXPECT_EQ(allocations_of([&] { cluster_.release(pod); }), 0U);
}

TEST_P(ClusterMemory, WhatTakesThePlaceOfAHoldAsksForNoRecord) {
  const auto asked_for = [&](auto change) {
    PodUid pod = uid(1);
    Allocation allocation = GetParam().allocation();
    return allocations_of([&] { change(std::move(pod), std::move(allocation)); });
  };
  const auto reserve = [&](PodUid pod, Allocation allocation) {
    EXPECT_TRUE(cluster_.reserve(std::move(pod), std::move(allocation), MonoTime::max()));
  };
  const auto confirm = [&](PodUid pod, Allocation allocation) {
    cluster_.confirm(std::move(pod), std::move(allocation));
  };
  reserve(uid(1), GetParam().allocation());
  EXPECT_LE(asked_for(reserve), 6U) << "what it has is free for it";
  EXPECT_EQ(asked_for(confirm), 0U);
}

TEST_P(ClusterMemory, ABindingAsksForItsRecord) {
  Allocation allocation = GetParam().allocation();
  PodUid pod = uid(1);
  EXPECT_EQ(allocations_of([&] { cluster_.confirm(std::move(pod), std::move(allocation)); }),
            kRecord);
}

TEST_P(ClusterMemory, ARefusalAsksForItsWordsOnly) {
  Allocation allocation = GetParam().allocation();
  allocation.grants.push_back(allocation.grants[0]);
  allocation.grants.back().device = card_name(0);
  allocation.grants.back().memory = {2'000'000};
  allocation.grants.back().mig.reset();
  const PodUid pod = uid(1);
  const auto refuse = [&](Allocation too_much) {
    EXPECT_FALSE(cluster_.reserve(pod, std::move(too_much), MonoTime::max()));
  };
  refuse(allocation);
  EXPECT_LE(allocations_of([&] { refuse(std::move(allocation)); }), 4U) << "uid and words";
}

INSTANTIATE_TEST_SUITE_P(Pods, ClusterMemory,
                         ::testing::Values(Pod{"OneContainer", one_container},
                                           Pod{"FourContainers", four_containers},
                                           Pod{"Instances", instances}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace tessera::core::testing
