#include "service/vendor_change.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "obs/metrics.h"
#include "service/books.h"

namespace tessera::service {
namespace {

vendors::Vendor row(const std::string& word) {
  vendors::Vendor vendor;
  vendor.word = word;
  vendor.section = word;
  vendor.count_resource = "example.com/" + word;
  vendor.register_key = "example.com/node-" + word;
  vendor.to_allocate_key = "example.com/" + word + "-to-allocate";
  vendor.allocated_key = "example.com/" + word + "-allocated";
  return vendor;
}

vendors::Vendors table(const std::vector<std::string>& words) {
  vendors::DeviceConfig config;
  for (const std::string& word : words) config.vendors.push_back(row(word));
  return *vendors::Vendors::make(std::move(config));
}

core::Device card(const std::string& id, std::uint16_t vendor) {
  core::Device device;
  device.id = id;
  device.slots = 4;
  device.memory = MiB{1000};
  device.cores = CorePercent{100};
  device.healthy = true;
  device.vendor = VendorId{vendor};
  return device;
}

core::Allocation allocation(const std::string& node, std::uint16_t vendor, const std::string& id) {
  core::Allocation out;
  out.node = node;
  out.kinds = {core::PositionKind::kApp};
  out.grants = {{0, VendorId{vendor}, id, MiB{300}, CorePercent{20}}};
  out.subject.ns = "default";
  return out;
}

class VendorChangeTest : public testing::Test {
 protected:
  VendorChangeTest() : cluster_(before_.rules()) {
    cluster_.set_node({.name = "n1",
                       .devices = {card("a0", 0), card("b0", 1)},
                       .offered = {true, false},
                       .cordoned = {"a0"},
                       .links = {0, 1, 1, 0},
                       .traits = {7, 9}});
    cluster_.confirm({"bound-a"}, allocation("n1", 0, "a0"));
    EXPECT_TRUE(cluster_.reserve({"reserved-b"}, allocation("n1", 1, "b0"), MonoTime::max()));
    cluster_.set_quota({.ns = "default",
                        .name = "q",
                        .limits = {{VendorId{0}, core::QuotaKind::kMemory, 10},
                                   {VendorId{1}, core::QuotaKind::kMemory, 20}},
                        .scopes = {}});
  }
  vendors::Vendors before_ = table({"alpha", "beta"});
  core::Cluster cluster_;
};

TEST_F(VendorChangeTest, RowsThatMoveTakeTheirDevicesHoldsAndLimitsAlong) {
  const vendors::Vendors after = table({"gamma", "beta", "alpha"});
  const core::Cluster moved = VendorChange(before_, after).cluster(cluster_);
  const core::Node& node = moved.node(moved.find_node("n1"));
  EXPECT_EQ(node.spec.devices[0].vendor, VendorId{2});
  EXPECT_EQ(node.spec.devices[1].vendor, VendorId{1});
  EXPECT_EQ(node.spec.offered, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(node.spec.traits, (std::vector<std::uint64_t>{0, 9, 7}));
  EXPECT_EQ(node.spec.links.size(), 4U);
  EXPECT_EQ(node.used[0].memory, MiB{300});
  EXPECT_EQ(node.used[1].memory, MiB{300});
  EXPECT_EQ(moved.hold({"bound-a"})->state, core::HoldState::kBound);
  EXPECT_EQ(moved.hold({"reserved-b"})->state, core::HoldState::kReserved);
  const auto rows = moved.quotas().rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].quota.limits[0].vendor, VendorId{2});
  EXPECT_EQ(rows[0].quota.limits[1].vendor, VendorId{1});
  EXPECT_TRUE(moved.differences(moved.rebuild()).empty());
}

TEST_F(VendorChangeTest, WhatBelongsToAVendorThatIsGoneGoes) {
  const vendors::Vendors after = table({"alpha"});
  const VendorChange change(before_, after);
  const core::Cluster left = change.cluster(cluster_);
  const core::Node& node = left.node(left.find_node("n1"));
  ASSERT_EQ(node.spec.devices.size(), 1U);
  EXPECT_TRUE(node.spec.links.empty());
  EXPECT_NE(left.hold({"bound-a"}), nullptr);
  EXPECT_EQ(left.hold({"reserved-b"}), nullptr) << "it could not be bound any more";
  EXPECT_EQ(left.quotas().rows()[0].quota.limits.size(), 1U);
  core::Request request;
  request.positions = {{.kind = core::PositionKind::kApp, .asks = {{.vendor = VendorId{1}}}}};
  EXPECT_FALSE(change.request(request));
}

TEST_F(VendorChangeTest, BooksDropFactsThatWereReadByTheTableBefore) {
  ManualClock clock(WallTime(std::chrono::seconds(1)));
  obs::Metrics metrics;
  Books books(before_.rules(), clock, std::chrono::minutes(1), metrics);
  const FactReader old_reader(std::make_shared<vendors::Vendors>(before_), {}, 1);
  const FactReader new_reader(std::make_shared<vendors::Vendors>(table({"beta", "alpha"})), {}, 2);
  const auto node = [](std::uint64_t generation, std::uint64_t version, std::uint16_t vendor) {
    NodeFact fact;
    fact.generation = generation;
    fact.name = fact.uid = "n1";
    fact.version = version;
    fact.spec.name = "n1";
    fact.spec.devices = {card("a0", vendor)};
    fact.spec.offered = {true, true};
    return fact;
  };
  books.apply(node(1, 5, 0));
  books.adopt(old_reader, new_reader);
  const auto vendor = [&] {
    return books.cluster().node(books.node("n1")->id).spec.devices[0].vendor;
  };
  EXPECT_EQ(vendor(), VendorId{1});
  books.apply(node(1, 6, 0));
  EXPECT_EQ(vendor(), VendorId{1}) << "still on its way when the table changed";
  books.apply(node(2, 5, 1));
  EXPECT_EQ(vendor(), VendorId{1});
}

}  // namespace
}  // namespace tessera::service
