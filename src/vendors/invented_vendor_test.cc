// A vendor that does not exist, whole: section, rows, codec, handshake, unit, hook. It is written
// with what every vendor uses and is the subject of docs/adding-a-vendor.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "vendors/vendor_table.h"
#include "vendors/vendors_test_builders.h"
#include "vendors/yaml_reader.h"

namespace tessera::vendors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// ---- the vendor (step 2 to 4 of the guide)

/// Two chips of an Example card share a fan: a pod that asks two gets both chips of one card.
class ExampleHooks final : public core::VendorHooks {
 public:
  bool chooses(const core::ChoiceView& view) const override { return view.demand.count == 2; }

  std::optional<std::vector<std::uint32_t>> choose(const core::ChoiceView& view) const override {
    for (const std::uint32_t a : view.fitting) {
      for (const std::uint32_t b : view.fitting) {
        const auto& devices = view.node.devices;
        if (a != b && devices[a].index / 2 == devices[b].index / 2) return std::vector{a, b};
      }
    }
    return std::nullopt;
  }
};

Vendor example_vendor(std::string count, std::string memory) {
  Vendor v;
  v.word = "Example";
  v.count_resource = std::move(count);
  v.memory_resource = std::move(memory);
  v.memory_factor = 1024;  // the resource counts GiB
  v.register_key = "example.test/node-chips";
  v.handshake_key = "example.test/node-handshake";
  v.to_allocate_key = "example.test/chips-to-allocate";
  v.allocated_key = "example.test/chips-allocated";
  v.id_keys = {{"example.test/use-chips", "example.test/no-use-chips"}};
  v.hooks = std::make_shared<ExampleHooks>();
  v.rules.hooks = v.hooks.get();
  return v;
}

void read_example_section(const SectionInput& input, std::vector<Vendor>& rows) {
  std::string count, memory;
  input.reader.members(input.node, input.path,
                       [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
                         const std::string here = yaml_path(input.path, key);
                         if (key == "resourceCountName")
                           return input.reader.string(value, here, count);
                         if (key == "resourceMemoryName")
                           return input.reader.string(value, here, memory);
                         input.reader.note(at, here, "unknown key, ignored");
                       });
  if (!count.empty()) rows.push_back(example_vendor(count, memory));
}

// ---- the table with one more line (step 5 of the guide)

std::vector<VendorSection> sections_with_example() {
  std::vector<VendorSection> table(vendor_sections().begin(), vendor_sections().end());
  table.push_back({"example", read_example_section});
  return table;
}

constexpr auto kConfig =
    "example:\n  resourceCountName: example.test/chip\n  resourceMemoryName: "
    "example.test/chip-gib\n";

constexpr auto kFourChips =
    R"([{"id":"e0","count":2,"devmem":16384,"devcore":100,"type":"E1","health":true},)"
    R"({"id":"e1","index":1,"count":2,"devmem":16384,"devcore":100,"type":"E1","health":true},)"
    R"({"id":"e2","index":2,"count":2,"devmem":16384,"devcore":100,"type":"E1","health":true},)"
    R"({"id":"e3","index":3,"count":2,"devmem":16384,"devcore":100,"type":"E1","health":true}])";

class InventedVendor : public testing::Test {
 protected:
  InventedVendor()
      : scene_(*Vendors::make(parse_device_config(kConfig, {}, sections_with_example()).config)) {}

  void add_node() {
    EXPECT_THAT(scene_.add_node("n", {{"example.test/node-chips", kFourChips}},
                                {{"example.test/chip", "8"}}),
                IsEmpty());
  }

  SceneOfVendors scene_;
};

TEST_F(InventedVendor, ItsSectionIsReadLikeAnyOther) {
  const auto got = parse_device_config("example: {resourceCountName: [], colour: red}", {},
                                       sections_with_example());
  ASSERT_FALSE(got.faults.empty());
  EXPECT_THAT(got.faults.front().text(), HasSubstr("example.resourceCountName"));
  EXPECT_THAT(got.notes.front().text(), HasSubstr("example.colour"));
  EXPECT_THAT(parse_device_config(kConfig).notes.front().text(), HasSubstr("unknown section"))
      << "without the line in the table nobody knows it";
}

TEST_F(InventedVendor, APodIsPlacedWrittenAndReadBack) {
  add_node();
  const k8s::StringMap limits = {{"example.test/chip", "1"}, {"example.test/chip-gib", "4"}};
  const Placed placed = scene_.place(pod_asking(limits));
  EXPECT_EQ(placed.node, "n");
  EXPECT_THAT(placed.written,
              ElementsAre(Pair("example.test/chips-to-allocate", "e0,Example,4096,0:;"),
                          Pair("example.test/chips-allocated", "e0,Example,4096,0:;")));
  k8s::Pod running = pod_asking(limits, placed.written);
  running.node_name = "n";
  const auto read = scene_.vendors().decode(running);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->grants.size(), 1U);
  EXPECT_EQ(read->grants[0].device, "e0");
  EXPECT_EQ(read->grants[0].memory.v, 4096);
}

TEST_F(InventedVendor, ItsHookChoosesBothChipsOfACard) {
  add_node();
  const k8s::StringMap one = {{"example.test/chip", "1"}};
  ASSERT_TRUE(scene_.add_running(
      "u1", "n", pod_asking(one, {{"example.test/chips-allocated", "e0,Example,16384,0:;"}})));
  const Placed two = scene_.place(pod_asking({{"example.test/chip", "2"}}));
  EXPECT_EQ(two.text("example.test/chips-allocated"), "e2,Example,16384,0:e3,Example,16384,0:;");
  ASSERT_TRUE(scene_.add_running(
      "u2", "n", pod_asking(one, {{"example.test/chips-allocated", "e3,Example,16384,0:;"}})));
  const Placed none = scene_.place(pod_asking({{"example.test/chip", "2"}}));
  EXPECT_EQ(none.node, "");
  EXPECT_THAT(none.refusal,
              HasSubstr("2/4 AllocatedCardsInsufficientRequest, 2/4 CardInsufficientMemory"));
}

TEST_F(InventedVendor, TheSharedRulesHoldForIt) {
  add_node();
  const Placed named =
      scene_.place(pod_asking({{"example.test/chip", "1"}}, {{"example.test/use-chips", "e2"}}));
  EXPECT_EQ(named.text("example.test/chips-allocated"), "e2,Example,16384,0:;");
  EXPECT_FALSE(scene_.vendors().mutate(pod_asking({{"example.test/chip", "-1"}})));
  const Placed large =
      scene_.place(pod_asking({{"example.test/chip", "1"}, {"example.test/chip-gib", "17"}}));
  EXPECT_EQ(large.refusal, "4/4 CardInsufficientMemory");
}

}  // namespace
}  // namespace tessera::vendors
