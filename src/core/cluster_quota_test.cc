#include <gtest/gtest.h>

#include "core/cluster.h"
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
  Allocation allocation = held(on, {{kApp, {{id, memory, cores}}}});
  allocation.subject.ns = "team";
  return allocation;
}

class ClusterQuotaTest : public ::testing::Test {
 protected:
  ClusterQuotaTest() : cluster_(VendorTable(2)) {
    cluster_.set_node(node("n1", {card("a", 100000), card("b", 100000)}));
    cluster_.set_node(node("n2", {card("c", 100000)}));
    cluster_.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 10000}}, {}});
  }
  void TearDown() override {
    EXPECT_EQ(cluster_.differences(cluster_.rebuild()), std::vector<std::string>{});
  }
  std::string reserve(const std::string& uid, Allocation allocation) {
    const Status status = cluster_.reserve({uid}, std::move(allocation), at(10));
    if (status) return "ok";
    EXPECT_EQ(status.error().code, Code::kConflict);
    return status.error().what;
  }
  QuotaNeeds used() const { return cluster_.quotas().used("team"); }
  Cluster cluster_;
};

TEST_F(ClusterQuotaTest, TenPodsTogetherCannotPass) {  // S-11
  int passed = 0;
  for (int i = 0; i < 10; ++i) {
    if (reserve("p" + std::to_string(i), slice("n1", i % 2 == 0 ? "a" : "b", 3000)) == "ok") {
      ++passed;
    }
  }
  EXPECT_EQ(passed, 3);
  EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 3, 9000, 0}}));
  EXPECT_EQ(reserve("late", slice("n2", "c", 1001)),
            "pod late would exceed quota q of memory: limit 10000, 9000 used, 1001 asked");
  EXPECT_EQ(cluster_.hold({"late"}), nullptr);
  EXPECT_EQ(reserve("late", slice("n2", "c", 1000)), "ok");
  Allocation elsewhere = slice("n2", "c", 50000);
  elsewhere.subject.ns = "others";
  EXPECT_EQ(reserve("free", elsewhere), "ok");
}

TEST_F(ClusterQuotaTest, WhatThePodHeldCountsAsFreeOnWhateverNode) {
  EXPECT_EQ(reserve("p", slice("n1", "a", 9000)), "ok");
  EXPECT_EQ(reserve("p", slice("n2", "c", 10000)), "ok");
  EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 1, 10000, 0}}));
  EXPECT_EQ(reserve("p", slice("n2", "c", 10001)),
            "pod p would exceed quota q of memory: limit 10000, 0 used, 10001 asked");
  EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 1, 10000, 0}})) << "refused: the old one stays";
}

TEST_F(ClusterQuotaTest, Case117UsageReturnsToExactlyNothing) {
  for (int i = 0; i < 20; ++i) {
    const std::string uid = "p" + std::to_string(i);
    ASSERT_EQ(reserve(uid, slice("n1", "a", 6000)), "ok") << i;
    ASSERT_EQ(reserve(uid, slice("n1", "b", 6000)), "ok") << "filtered again";
    switch (i % 4) {
      case 0:  // bound, then gone
        cluster_.confirm({uid}, slice("n1", "b", 6000));
        cluster_.confirm({uid}, slice("n1", "b", 6000));
        EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 1, 6000, 0}})) << "counted once";
        EXPECT_TRUE(cluster_.release({uid}));
        break;
      case 1:  // the bind failed for good
        EXPECT_TRUE(cluster_.release({uid}));
        break;
      case 2:  // nobody bound it
        EXPECT_EQ(cluster_.expire(at(10)).size(), 1U);
        break;
      default:  // bound elsewhere with something else
        cluster_.confirm({uid}, slice("n2", "c", 7000));
        EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 1, 7000, 0}}));
        EXPECT_TRUE(cluster_.release({uid}));
    }
    ASSERT_EQ(used(), QuotaNeeds{}) << i;
  }
}

TEST_F(ClusterQuotaTest, ABoundPodIsChargedBeyondTheLimitAndBlocksOthers) {
  cluster_.confirm({"p"}, slice("n1", "a", 25000));
  EXPECT_EQ(reserve("q", slice("n1", "b", 1)),
            "pod q would exceed quota q of memory: limit 10000, 25000 used, 1 asked");
  EXPECT_EQ(reserve("zero", slice("n1", "b", 0)), "ok") << "an amount of 0 passes";
}

TEST_F(ClusterQuotaTest, InitContainersThatHaveFinishedAreGivenBack) {  // S-8, case 118
  Allocation allocation = held("n1", {{kInit, {{"a", 8000, 0}}}, {kApp, {{"b", 8000, 0}}}});
  allocation.subject.ns = "team";
  EXPECT_EQ(reserve("p", allocation), "ok") << "max(8000, 8000)";
  EXPECT_TRUE(cluster_.release({"p"}));
  allocation = held("n1", {{kInit, {{"a", 9000, 0}}}, {kApp, {{"b", 1000, 0}}}});
  allocation.subject.ns = "team";
  cluster_.confirm({"p"}, allocation);
  EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 1, 9000, 0}}));
  ASSERT_TRUE(cluster_.finish_init({"p"}));
  EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 1, 1000, 0}}));
  allocation.init_finished = true;  // as a restart reads it
  cluster_.confirm({"p"}, allocation);
  EXPECT_EQ(used(), (QuotaNeeds{{kVendor, 1, 1000, 0}}));
}

TEST_F(ClusterQuotaTest, ExamplesOfTheSchedulerPage) {
  // E14 at the reservation: 3000 used, two cards of 4000 each against 9000.
  cluster_.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 9000}}, {}});
  ASSERT_EQ(reserve("used", slice("n1", "a", 3000)), "ok");
  Allocation two = held("n1", {{kApp, {{"a", 4000, 0}, {"b", 4000, 0}}}});
  two.subject.ns = "team";
  EXPECT_EQ(reserve("two", two),
            "pod two would exceed quota q of memory: limit 9000, 3000 used, 8000 asked");
  EXPECT_EQ(reserve("one", slice("n1", "b", 4000)), "ok");
  // S-10: one init container without a device before two apps.
  cluster_.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 24000 + 7000}}, {}});
  Allocation apps = held("n1", {{kInit, {}}, {kApp, {{"a", 16000, 0}}}, {kApp, {{"a", 16000, 0}}}});
  apps.subject.ns = "team";
  EXPECT_EQ(reserve("apps", apps),
            "pod apps would exceed quota q of memory: limit 31000, 7000 used, 32000 asked");
}

TEST_F(ClusterQuotaTest, AnInstancePaysForItsProfile) {  // N-11
  cluster_.set_node(node("n3", {mig_card("m")}));
  Allocation allocation = held_instances("n3", {instance(0, "m", "2g.20gb", 0)});
  allocation.subject.ns = "team";
  EXPECT_EQ(reserve("p", allocation),
            "pod p would exceed quota q of memory: limit 10000, 0 used, 19968 asked");
  allocation.grants = {instance(0, "m", "1g.10gb", 0)};
  EXPECT_EQ(reserve("p", allocation), "ok");
}

TEST_F(ClusterQuotaTest, ScopesDecideWhoPays) {
  cluster_.set_quota({"team",
                      "q",
                      {{kVendor, QuotaKind::kMemory, 5000}},
                      {{QuotaScope::Word::kPriorityClass, QuotaScope::Match::kIn, {"high"}}}});
  Allocation high = slice("n1", "a", 5001);
  high.subject.priority_class = "high";
  EXPECT_EQ(reserve("low", slice("n1", "a", 20000)), "ok");
  EXPECT_EQ(reserve("high", high),
            "pod high would exceed quota q of memory: limit 5000, 0 used, 5001 asked");
}

TEST_F(ClusterQuotaTest, QuotasCanBeRemovedAndAreToldInDifferences) {
  Cluster other = cluster_.rebuild();
  other.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 9}}, {}});
  EXPECT_EQ(cluster_.differences(other),
            (std::vector<std::string>{"quota team/q has different limits"}));
  other.remove_quota("team", "q");
  EXPECT_EQ(cluster_.differences(other), (std::vector<std::string>{"1 quotas against 0"}));
  cluster_.remove_quota("team", "q");
  cluster_.remove_quota("team", "never");
  EXPECT_EQ(reserve("p", slice("n1", "a", 90000)), "ok");
  EXPECT_TRUE(cluster_.quotas().rows().empty());
}

}  // namespace
}  // namespace tessera::core
