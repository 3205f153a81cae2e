// What is kept of a node for pages of metrics, and pages made of it piece by piece.
#include "service/scrape_pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/scrape_text.h"
#include "vendors/config.h"

namespace tessera::service {
namespace {

const vendors::Vendors& table() {
  static const vendors::Vendors kTable = *vendors::Vendors::make(
      vendors::parse_device_config(vendors::default_device_config(), {}).config);
  return kTable;
}

core::Device card(std::string id, std::string model = "Some card with a long name") {
  core::Device device;
  device.id = std::move(id);
  device.slots = 10;
  device.memory = {80'000};
  device.cores = {100};
  device.model = std::move(model);
  device.healthy = true;
  device.vendor = {0};
  return device;
}

std::string card_id(int node, int place) {
  const std::string digits = std::to_string(100'000 + node * 10 + place);
  return "GPU-01234567-89ab-cdef-0123-456789" + digits;
}

ScrapePod pod_on(std::string name, std::string node, const std::string& card_name) {
  ScrapePod pod{
      .ns = "team", .name = std::move(name), .node = std::move(node), .containers = {"app"}};
  pod.charges = {{.vendor = {0}, .device = card_name, .usage = {1, {4000}, {30}}}};
  pod.grants = {
      {.position = 0, .vendor = {0}, .device = card_name, .memory = {4000}, .cores = {30}}};
  return pod;
}

/// Eight cards, four pods.
ScrapeNode full_node(int n) {
  ScrapeNode node{.name = "node-" + std::to_string(n), .present = true};
  for (int i = 0; i < 8; ++i) node.devices.push_back(card(card_id(n, i)));
  node.used.assign(8, {1, {4000}, {30}});
  node.offered = {true};
  for (int i = 0; i < 4; ++i) {
    node.pods.push_back(
        pod_on("pod-" + std::to_string(n) + "-" + std::to_string(i), node.name, card_id(n, i)));
  }
  return node;
}

ScrapePicture picture_of(int nodes) {
  ScrapePicture picture;
  for (int n = 0; n < nodes; ++n) picture.nodes.push_back(pack(full_node(n)));
  return picture;
}

NodeRows rows_of(const PackedNode& node) {
  NodeRows rows;
  unpack(node, rows);
  return rows;
}

TEST(ScrapePack, DevicesComeBackAsTheyWere) {
  ScrapeNode node{.name = "n\"1", .present = true};
  node.devices = {card("a", ""), card("b", "X"), card("c\n", "X"), card("", "Y")};
  node.devices[1].healthy = false;
  node.devices[1].index = std::numeric_limits<std::uint32_t>::max();
  node.devices[1].memory = {std::numeric_limits<std::int64_t>::max()};
  node.devices[1].cores = {std::numeric_limits<std::int64_t>::min()};
  node.devices[2].memory = {-1};
  node.devices[2].vendor = {};
  node.used = {{1, {2}, {3}}, {4, {5}, {6}}, {7, {8}, {9}}, {}};
  const auto packed = pack(node);
  const NodeRows rows = rows_of(*packed);
  ASSERT_EQ(rows.devices.size(), 4U);
  const std::vector<std::string_view> ids = {"a", "b", "c\\n", ""}, types = {"", "X", "X", "Y"};
  for (std::size_t i = 0; i < 4; ++i) {
    const DeviceRow& row = rows.devices[i];
    EXPECT_EQ(row.node, "n\\\"1");
    EXPECT_EQ(row.uuid, ids[i]);
    EXPECT_EQ(row.type, types[i]);
    EXPECT_EQ(row.index, node.devices[i].index);
    EXPECT_EQ(row.vendor, node.devices[i].vendor.v);
    EXPECT_EQ(row.healthy, node.devices[i].healthy);
    EXPECT_EQ(row.memory, node.devices[i].memory);
    EXPECT_EQ(row.cores, node.devices[i].cores);
    EXPECT_EQ(row.used, node.used[i]);
  }
}

TEST(ScrapePack, PodsNameCardsAndNodesThatTheirNodeDoesNotKnow) {
  ScrapeNode node{.name = "n1", .present = true, .devices = {card("known")}, .used = {{}}};
  node.pods = {pod_on("p1", "n1", "known"), pod_on("p2", "elsewhere", "unknown")};
  node.pods[0].charges.push_back({.vendor = {0}, .device = "", .usage = {1, {1}, {1}}});
  node.pods[1].grants[0].position = 3;  // no watch told its name
  for (const bool present : {true, false}) {
    node.present = present;
    const auto packed = pack(node);
    const NodeRows rows = rows_of(*packed);
    EXPECT_EQ(rows.devices.size(), present ? 1U : 0U);
    ASSERT_EQ(rows.pods.size(), 2U) << "a charge without a card is none";
    EXPECT_EQ(rows.pods[0].uuid, "known");
    EXPECT_EQ(rows.pods[0].node, "n1");
    EXPECT_EQ(rows.pods[1].uuid, "unknown");
    EXPECT_EQ(rows.pods[1].node, "elsewhere");
    EXPECT_EQ(rows.pods[1].memory, MiB{4000});
    ASSERT_EQ(rows.containers.size(), 2U);
    EXPECT_EQ(rows.containers[0].container, "app");
    EXPECT_EQ(rows.containers[1].container, "");
    EXPECT_EQ(rows.containers[1].index, 3U);
    EXPECT_EQ(rows.containers[1].pod, "p2");
    EXPECT_EQ(rows.containers[1].cores, 30);
  }
}

TEST(ScrapePack, VendorsThatANodeOffersOrHas) {
  ScrapeNode node{.name = "n1", .present = true, .devices = {card("a")}, .used = {{}}};
  node.offered = {false, false, true};
  const auto packed = pack(node);
  const NodeRows rows = rows_of(*packed);
  ASSERT_EQ(rows.vendors.size(), 2U);
  EXPECT_TRUE(rows.vendors[0].vendor == 0 && rows.vendors[0].registered &&
              !rows.vendors[0].offered);
  EXPECT_TRUE(rows.vendors[1].vendor == 2 && !rows.vendors[1].registered &&
              rows.vendors[1].offered);
}

TEST(ScrapePack, RowsAreReplacedNotAdded) {
  NodeRows rows;
  unpack(*pack(full_node(1)), rows);
  const auto second = pack(full_node(2));
  unpack(*second, rows);
  EXPECT_EQ(rows.devices.size(), 8U);
  EXPECT_EQ(rows.pods.size(), 4U);
  EXPECT_EQ(rows.containers.size(), 4U);
  EXPECT_EQ(rows.vendors.size(), 1U);
  EXPECT_EQ(rows.devices[0].node, "node-2");
}

TEST(ScrapePack, ANodeWithItsPodsTakesAboutAThousandBytes) {
  const auto packed = pack(full_node(4711));
  EXPECT_LT(packed->bytes.capacity() + packed->used.capacity() * sizeof(core::Usage), 1100U);
}

// ---- pages in pieces

struct Joined {
  std::string text;
  std::size_t pieces = 0, longest = 0;
};

Joined joined(PicturePage& page) {
  Joined out;
  for (http::Piece step = http::Piece::kMore; step == http::Piece::kMore;) {
    std::string piece;
    step = page.next(piece);
    EXPECT_TRUE(piece.empty() || piece.ends_with('\n')) << "whole lines";
    out.longest = std::max(out.longest, piece.size());
    ++out.pieces;
    out.text += piece;
  }
  return out;
}

PicturePage page_of(ScrapePicture picture, bool legacy, std::string more = {}) {
  return PicturePage(std::move(picture), {std::shared_ptr<void>(), &table()}, "1.2.3", legacy,
                     [more = std::move(more)] { return more; });
}

std::size_t rows_named(std::string_view text, const std::string& name) {
  std::size_t count = 0;
  const std::string mark = "\n" + name + "{";
  for (auto at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    ++count;
  }
  return count;
}

TEST(PicturePage, PiecesJoinedAreThePage) {
  constexpr std::size_t kSlack = 16 * 1024;
  for (const int nodes : {0, 1, 1000}) {
    for (const bool legacy : {false, true}) {
      const ScrapePicture picture = picture_of(nodes);
      PicturePage page = page_of(picture, legacy, "the_rest 1\n");
      const Joined made = joined(page);
      EXPECT_TRUE(made.text ==
                  picture_page(picture, table(), "1.2.3", legacy).text + "the_rest 1\n");
      EXPECT_LE(made.longest, http::kPieceSize + kSlack);
      EXPECT_EQ(made.pieces > 1, nodes > 100);
      const auto count = static_cast<std::size_t>(nodes);
      for (const char* name : {"hami_gpu_memory_limit_bytes", "hami_node_gpu_overview",
                               "hami_node_gpu_memory_allocated_ratio", "tessera_device_healthy"}) {
        EXPECT_EQ(rows_named(made.text, name), count * 8) << name;
      }
      for (const char* name : {"hami_vgpu_memory_allocated_bytes", "hami_vgpu_core_allocated_ratio",
                               "tessera_container_memory_allocated_bytes"}) {
        EXPECT_EQ(rows_named(made.text, name), count * 4) << name;
      }
      EXPECT_EQ(rows_named(made.text, "GPUDeviceSharedNum"), legacy ? count * 8 : 0);
    }
  }
}

TEST(PicturePage, EqualRowsAreLeftOutOfEveryFamily) {
  ScrapePicture picture = picture_of(3);
  ScrapeNode again = full_node(1);  // eight cards, its vendor, four pods, four containers
  again.devices.push_back(card("another"));
  again.used.emplace_back();
  picture.nodes.push_back(pack(again));
  PicturePage page = page_of(picture, true);
  EXPECT_EQ(page.duplicates(), 8U + 1 + 4 + 4);
  const std::string text = joined(page).text;
  for (const char* name : {"hami_gpu_memory_limit_bytes", "hami_gpu_core_allocated_ratio",
                           "GPUDeviceSharedNum", "tessera_device_healthy"}) {
    EXPECT_EQ(rows_named(text, name), 25U) << name;
  }
  EXPECT_EQ(rows_named(text, "vGPUMemoryAllocated"), 12U);
  EXPECT_EQ(rows_named(text, "tessera_container_core_allocated_ratio"), 12U);
  EXPECT_EQ(rows_named(text, "tessera_node_registered"), 3U);
}

TEST(PicturePage, OneUnderWayIsNotChangedByWhatComesLater) {
  ScrapePicture picture = picture_of(1000);
  const std::string whole = picture_page(picture, table(), "1.2.3", false).text;
  PicturePage first = page_of(picture, false);
  std::string text;
  EXPECT_EQ(first.next(text), http::Piece::kMore);
  for (auto& node : picture.nodes) node = pack(full_node(7));
  picture.nodes.resize(1);
  PicturePage second = page_of(picture, false);
  EXPECT_EQ(joined(second).pieces, 1U);
  text += joined(first).text;
  EXPECT_TRUE(text == whole);
}

}  // namespace
}  // namespace tessera::service
