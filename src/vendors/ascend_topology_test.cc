// Which cards are taken together. Cards are written as "name" by the index of the list; groups and
// modules are what the tables say.
#include "vendors/ascend_topology.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::vendors {
namespace {

using core::Device;
using core::ScoreMode;
constexpr auto kOurs = ScoreMode::kCorrected;
constexpr auto kHami = ScoreMode::kHami;
constexpr std::int64_t kNone = Device::kNoGroup;

struct Card {
  char name;
  std::uint32_t index = 0;
  std::int64_t group = kNone;
};

std::vector<Device> devices_of(const std::vector<Card>& cards) {
  std::vector<Device> devices;
  for (const Card& card : cards) {
    Device device;
    device.id = std::string(1, card.name);
    device.index = card.index;
    device.group = card.group;
    devices.push_back(device);
  }
  return devices;
}

std::vector<std::uint32_t> all_of(const std::vector<Device>& devices) {
  std::vector<std::uint32_t> cards(devices.size());
  std::iota(cards.begin(), cards.end(), 0U);
  return cards;
}

std::string names(const std::vector<Device>& devices, const std::vector<std::uint32_t>& cards) {
  std::string out;
  for (const std::uint32_t card : cards) out += devices[card].id;
  return out;
}

struct GroupCase {
  std::string_view name;
  std::vector<Card> fitting;  ///< best first
  std::size_t count;
  ScoreMode mode;
  std::string_view want;
};

TEST(AscendTopology, CardsOfOneGroup) {
  const std::vector<Card> two_groups = {{'d', 3, 1}, {'c', 2, 1}, {'a', 0, 0}};
  const std::vector<Card> five_and_two = {{'a', 0, 7}, {'b', 1, 7}, {'x', 5, 9}, {'c', 2, 7},
                                          {'d', 3, 7}, {'e', 4, 7}, {'y', 6, 9}};
  const GroupCase cases[] = {
      {"A6: the group of two", two_groups, 2, kOurs, "dc"},
      {"A6 in HAMi's mode", two_groups, 2, kHami, "dc"},
      {"weak point 6: an exact group leaves the large one whole", five_and_two, 2, kOurs, "xy"},
      {"HAMi takes the large one", five_and_two, 2, kHami, "ab"},
      {"more than the small one holds", five_and_two, 3, kOurs, "abc"},
      {"as few groups as can be", five_and_two, 6, kOurs, "abcdex"},
      {"the rest comes from the smallest that holds it",
       {{'a', 0, 1}, {'b', 1, 1}, {'c', 2, 1}, {'d', 3, 2}, {'e', 4, 2}, {'f', 5, 3}},
       4,
       kOurs,
       "abcf"},
      {"HAMi goes on with the next largest",
       {{'a', 0, 1}, {'b', 1, 1}, {'c', 2, 1}, {'d', 3, 2}, {'e', 4, 2}, {'f', 5, 3}},
       4,
       kHami,
       "abcd"},
      {"equal groups: the one of the best card",
       {{'p', 0, 5}, {'q', 1, 4}, {'r', 2, 4}, {'s', 3, 5}},
       2,
       kOurs,
       "ps"},
      {"weak point 1: cards of no known group are there as well",
       {{'a', 0}, {'b', 1, 4}, {'c', 2}},
       2,
       kOurs,
       "ab"},
      {"weak point 1: never fewer than asked while there are enough",
       {{'a', 0}, {'b', 1}, {'c', 2}},
       3,
       kHami,
       "abc"},
  };
  for (const GroupCase& c : cases) {
    const auto devices = devices_of(c.fitting);
    EXPECT_EQ(names(devices, choose_by_group(devices, all_of(devices), c.count, c.mode)), c.want)
        << c.name;
  }
}

struct ModuleCase {
  std::string_view name;
  std::vector<Card> fitting;  ///< best first
  std::size_t count;
  ScoreMode mode;
  std::optional<std::string_view> want;
};

TEST(AscendTopology, ChipsOfWholeModules) {
  const ModuleCase cases[] = {
      {"A7: modules 2 and 0, module 1 is broken",
       {{'f', 5}, {'e', 4}, {'c', 2}, {'b', 1}, {'a', 0}},
       4,
       kHami,
       "feba"},
      {"A7 in our mode", {{'f', 5}, {'e', 4}, {'c', 2}, {'b', 1}, {'a', 0}}, 4, kOurs, "feba"},
      {"A7: with f gone only module 0 is whole",
       {{'e', 4}, {'c', 2}, {'b', 1}, {'a', 0}},
       4,
       kHami,
       std::nullopt},
      {"chips of a module need not be neighbours in the list",
       {{'a', 0}, {'c', 2}, {'b', 1}, {'d', 3}},
       2,
       kOurs,
       "ab"},
      {"weak point 3: an odd count takes the chip of a broken module",
       {{'a', 0}, {'b', 1}, {'c', 2}, {'d', 3}, {'f', 5}},
       3,
       kOurs,
       "abf"},
      {"weak point 3: or breaks one", {{'a', 0}, {'b', 1}, {'c', 2}, {'d', 3}}, 3, kHami, "abc"},
      {"weak point 3: but not without a chip left", {{'a', 0}, {'b', 1}}, 3, kOurs, std::nullopt},
      {"weak point 4: three chips that claim one module are no module",
       {{'a', 0}, {'b', 0}, {'c', 1}, {'d', 2}, {'e', 3}},
       2,
       kOurs,
       "de"},
      {"weak point 4: two chips of one index are two chips", {{'a', 4}, {'b', 4}}, 2, kHami, "ab"},
      {"modules of one link group go together",
       {{'a', 0, 1}, {'b', 1, 1}, {'c', 2, 2}, {'d', 3, 2}, {'e', 4, 2}, {'f', 5, 2}},
       4,
       kOurs,
       "cdef"},
      {"rather a module of one link group than one that spans two",
       {{'a', 0, 0}, {'b', 1, 1}, {'c', 2, 0}, {'d', 3, 0}, {'e', 4, 0}, {'f', 5, 0}},
       2,
       kOurs,
       "cd"},
      {"a module that spans two groups is better than none",
       {{'a', 0, 0}, {'b', 1, 1}, {'c', 2, 0}, {'d', 3, 0}},
       4,
       kOurs,
       "cdab"},
      {"HAMi does not look at groups here",
       {{'a', 0, 1}, {'b', 1, 1}, {'c', 2, 2}, {'d', 3, 2}, {'e', 4, 2}, {'f', 5, 2}},
       4,
       kHami,
       "abcd"},
  };
  for (const ModuleCase& c : cases) {
    const auto devices = devices_of(c.fitting);
    const auto got = choose_by_module(devices, all_of(devices), c.count, c.mode);
    ASSERT_EQ(got.has_value(), c.want.has_value()) << c.name;
    if (got) {
      EXPECT_EQ(names(devices, *got), *c.want) << c.name;
    }
  }
}

TEST(AscendTopology, ChipsOfWholeModulesAreCountedAsHamiDoes) {
  const auto devices = devices_of({{'e', 4}, {'c', 2}, {'b', 1}, {'a', 0}});
  EXPECT_EQ(whole_module_chips(devices, all_of(devices), 4), 2U) << "A7";
  EXPECT_EQ(whole_module_chips(devices, {}, 2), 0U);
  const auto four = devices_of({{'a', 0}, {'b', 1}, {'c', 2}, {'d', 3}});
  EXPECT_EQ(whole_module_chips(four, all_of(four), 3), 4U) << "one module too many is taken";
}

TEST(AscendTopology, ShareOfTheLargestGroup) {
  const auto devices = devices_of({{'a', 0, 1}, {'b', 1, 1}, {'c', 2, 2}, {'d', 3}, {'e', 4}});
  const auto share = [&](std::vector<std::uint32_t> cards) { return group_share(devices, cards); };
  EXPECT_EQ(share({0, 1, 2}).largest, 2) << "A6: two of three";
  EXPECT_EQ(share({0, 1, 2}).all, 3);
  EXPECT_TRUE(share({0, 1, 2}).every_card_grouped);
  EXPECT_EQ(share({3, 4}).largest, 1) << "cards without group have nothing in common";
  EXPECT_FALSE(share({0, 3}).every_card_grouped);
}

}  // namespace
}  // namespace tessera::vendors
