#include "service/self_check.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tessera::service {
namespace {

class SelfCheckTest : public testing::Test {
 protected:
  SelfCheckTest() {
    for (const char* name : {"n1", "n2", "n3"}) {
      core::Device device;
      device.id = std::string(name) + "-card0";
      device.slots = 4;
      device.memory = MiB{1000};
      device.cores = CorePercent{100};
      device.healthy = true;
      device.vendor = VendorId{0};
      NodeFact node;
      node.name = name;
      node.uid = name;
      node.version = 1;
      node.spec.name = name;
      node.spec.devices = {device};
      node.spec.offered = {true};
      books_.apply(std::move(node));
    }
    for (const char* name : {"n1", "n2"}) {
      PodFact pod;
      pod.ns = "default";
      pod.name = pod.uid = std::string("pod-") + name;
      pod.version = 1;
      pod.asks_devices = true;
      pod.node = name;
      core::Allocation allocation;
      allocation.node = name;
      allocation.kinds = {core::PositionKind::kApp};
      allocation.grants = {
          {0, VendorId{0}, std::string(name) + "-card0", MiB{300}, CorePercent{20}}};
      allocation.subject.ns = "default";
      pod.allocation = std::move(allocation);
      books_.apply(std::move(pod));
    }
    books_.cluster().set_quota({.ns = "default",
                                .name = "q",
                                .limits = {{VendorId{0}, core::QuotaKind::kMemory, 5000}},
                                .scopes = {}});
  }

  /// The counters behind the back of the books.
  core::Node& node(const std::string& name) {
    const core::Cluster& cluster = books_.cluster();
    return const_cast<core::Node&>(cluster.node(cluster.find_node(name)));
  }
  void pass(std::size_t nodes_per_step = 1) {
    TaskThread state;
    SelfCheck check(state, books_, metrics_,
                    {.interval = std::chrono::hours(1),
                     .step_pause = std::chrono::milliseconds(0),
                     .nodes_per_step = nodes_per_step});
    const double before = runs_.value();
    state.post([&check] { check.start(); });
    for (int i = 0; i < 2000 && runs_.value() == before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    state.stop();
    ASSERT_EQ(runs_.value(), before + 1);
  }
  bool exact() { return books_.cluster().differences(books_.cluster().rebuild()).empty(); }

  ManualClock clock_{WallTime(std::chrono::seconds(1'000'000))};
  obs::Metrics metrics_;
  Books books_{{core::VendorRules{}}, clock_, std::chrono::minutes(10), metrics_};
  obs::Counter runs_ = metrics_.counter("tessera_self_check_runs_total", "");
  obs::Counter found_ = metrics_.counter("tessera_self_check_differences_total", "");
};

TEST_F(SelfCheckTest, RightBooksAreLeftAlone) {
  pass();
  pass(100);
  EXPECT_EQ(found_.value(), 0);
  EXPECT_TRUE(exact());
}

TEST_F(SelfCheckTest, WrongCountersAreFoundCountedAndRepaired) {
  node("n2").used[0].memory = MiB{5};
  ASSERT_FALSE(exact());
  pass();
  EXPECT_EQ(found_.value(), 1);
  EXPECT_TRUE(exact());
  EXPECT_EQ(node("n2").used[0].memory, MiB{300});
  pass();
  EXPECT_EQ(found_.value(), 1) << "nothing is found twice";
}

TEST_F(SelfCheckTest, EveryKindOfCounterIsCompared) {
  const NodeId n1 = books_.cluster().find_node("n1");
  const auto check = [&](auto spoil, const char* part) {
    spoil(node("n1"));
    const auto found = node_differences(books_.cluster(), n1);
    ASSERT_EQ(found.size(), 1U) << part;
    EXPECT_NE(found[0].find(part), std::string::npos) << found[0];
    books_.repair();
    EXPECT_TRUE(node_differences(books_.cluster(), n1).empty()) << part;
  };
  check([](core::Node& n) { ++n.used[0].slots; }, "slots");
  check([](core::Node& n) { ++n.load[0]; }, "load");
  check([](core::Node& n) { ++n.plain[0]; }, "users without");
  check([](core::Node& n) { ++n.lost_instances; }, "lost");
  check([](core::Node& n) { ++n.vendors[0].load_ppm; }, "sums by vendor");
}

TEST_F(SelfCheckTest, UseOfQuotasIsCompared) {
  auto& quotas = const_cast<core::QuotaBook&>(books_.cluster().quotas());
  quotas.charge({.ns = "default"}, {{VendorId{0}, 1, 77, 0}});
  EXPECT_EQ(quota_differences(books_.cluster()).size(), 1U);
  pass();
  EXPECT_EQ(found_.value(), 1);
  EXPECT_TRUE(quota_differences(books_.cluster()).empty());
}

TEST_F(SelfCheckTest, AHoldThatNoPodStandsBehindIsReleased) {
  core::Allocation allocation;
  allocation.node = "n3";
  allocation.kinds = {core::PositionKind::kApp};
  allocation.grants = {{0, VendorId{0}, "n3-card0", MiB{100}, CorePercent{0}}};
  books_.cluster().confirm({"ghost"}, std::move(allocation));
  pass();
  EXPECT_EQ(found_.value(), 1);
  EXPECT_EQ(books_.cluster().hold({"ghost"}), nullptr);
  EXPECT_EQ(node("n3").used[0].memory, MiB{0});
}

}  // namespace
}  // namespace tessera::service
