// Choice by wings: the examples 1 to 16 and 24 of the page, its weak points 1, 2, 4 and 9.
#include "vendors/kunlun_topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::vendors {
namespace {

using core::ScoreMode;
using Numbers = std::vector<std::uint32_t>;
constexpr auto kOurs = ScoreMode::kCorrected;
constexpr auto kHami = ScoreMode::kHami;

/// Cards in the order of the list; device i has number i.
std::vector<WingCard> cards_of(const Numbers& list, const Numbers& used) {
  std::vector<WingCard> cards;
  for (const std::uint32_t number : list) {
    cards.push_back({number, number, std::find(used.begin(), used.end(), number) == used.end()});
  }
  return cards;
}

Numbers first(std::uint32_t count) {
  Numbers numbers;
  for (std::uint32_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

struct ChoiceCase {
  std::string_view name;
  std::size_t count;
  Numbers used;
  std::optional<Numbers> want;
};

const ChoiceCase kExamples[] = {
    {"example 1: one card of an idle node", 1, {}, Numbers{0}},
    {"example 2: the wing with three", 1, {0}, Numbers{1}},
    {"example 3: the lonely card", 1, {0, 1, 2}, Numbers{3}},
    {"example 4: the lonely card of the right wing", 1, {0, 1, 2, 3, 5, 6, 7}, Numbers{4}},
    {"example 5: two of a wing with three", 2, {0, 4}, Numbers{1, 2}},
    {"example 6: the wing with just two", 2, {0, 1, 2, 4, 5}, Numbers{6, 7}},
    {"example 7: a linked pair across", 2, {0, 1, 2, 4, 5, 6}, Numbers{3, 7}},
    {"example 8: 3 and 4 are not linked", 2, {0, 1, 2, 5, 6, 7}, std::nullopt},
    {"example 9: a whole wing", 4, {2}, Numbers{4, 5, 6, 7}},
    {"example 10: the only quad of five", 4, {0, 1, 4}, Numbers{2, 3, 6, 7}},
    {"example 11: the only quad of six, the rest is unlinked", 4, {0, 5}, Numbers{2, 3, 6, 7}},
    {"example 12: a quad of six that leaves a linked pair", 4, {0, 4}, Numbers{2, 3, 6, 7}},
    {"a quad of six whose rest is a pair of one wing", 4, {2, 7}, Numbers{0, 1, 4, 5}},
    {"example 13: three cards", 3, {}, std::nullopt},
    {"example 13: six cards", 6, {}, std::nullopt},
    {"example 14: eight cards, one used", 8, {3}, std::nullopt},
    {"eight cards", 8, {}, first(8)},
    {"nothing is free", 1, first(8), std::nullopt},
};

TEST(KunlunChoice, InIndexOrderBothModesAreThePage) {
  for (const ChoiceCase& c : kExamples) {
    for (const ScoreMode mode : {kOurs, kHami}) {
      EXPECT_EQ(choose_wing_cards(cards_of(first(8), c.used), c.count, mode), c.want)
          << c.name << (mode == kHami ? ", HAMi's mode" : "");
    }
  }
}

TEST(KunlunChoice, Example24WingsByPositionOrByNumber) {  // weak point 1
  const auto cards = cards_of({4, 5, 0, 1, 2, 3, 6, 7}, {4, 5});
  EXPECT_EQ(choose_wing_cards(cards, 4, kHami), (Numbers{2, 3, 6, 7}));
  EXPECT_EQ(choose_wing_cards(cards, 4, kOurs), (Numbers{0, 1, 2, 3}));
}

TEST(KunlunChoice, PositionsGiveUnlinkedCardsWhereNumbersDoNot) {  // weak point 1
  const auto cards = cards_of({3, 4, 0, 1, 2, 5, 6, 7}, {0, 1, 2, 5, 6, 7});
  EXPECT_EQ(choose_wing_cards(cards, 2, kHami), (Numbers{3, 4}));
  EXPECT_EQ(choose_wing_cards(cards, 2, kOurs), std::nullopt);
}

struct SizeCase {
  std::string_view name;
  std::uint32_t cards;
  std::size_t count;
  Numbers used;
  std::optional<Numbers> want;
};

TEST(KunlunChoice, NodesOfOtherSizes) {
  const SizeCase cases[] = {
      {"case 221: one of four", 4, 1, {}, Numbers{0}},
      {"case 221: two of four", 4, 2, {}, Numbers{0, 1}},
      {"case 221: four of four", 4, 4, {}, Numbers{0, 1, 2, 3}},
      {"case 221: two of four, two used", 4, 2, {0, 2}, Numbers{1, 3}},
      {"case 221: four of four, one used", 4, 4, {0}, std::nullopt},
      {"one of one", 1, 1, {}, Numbers{0}},
      {"weak point 2: eight of sixteen", 16, 8, {}, first(8)},
      {"weak point 2: a whole board first", 16, 8, {0}, Numbers{8, 9, 10, 11, 12, 13, 14, 15}},
      {"weak point 2: eight that are free are eight",
       16,
       8,
       {0, 1, 2, 3, 8, 9, 10, 11},
       Numbers{4, 5, 6, 7, 12, 13, 14, 15}},
      {"weak point 2: seven are not", 16, 8, {0, 1, 2, 3, 4, 8, 9, 10, 11}, std::nullopt},
      {"the lonely card of the second board", 16, 1, {8, 9, 10}, Numbers{11}},
      {"a pair across wings of the second board",
       16,
       2,
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14},
       Numbers{11, 15}},
      {"no pair across boards", 12, 2, {0, 1, 2, 4, 5, 6, 7, 8, 9, 10}, std::nullopt},
  };
  for (const SizeCase& c : cases) {
    for (const ScoreMode mode : {kOurs, kHami}) {
      EXPECT_EQ(choose_wing_cards(cards_of(first(c.cards), c.used), c.count, mode), c.want)
          << c.name;
    }
  }
}

TEST(KunlunChoice, CardsWithoutIndexAreNumberedByOrder) {
  std::vector<WingCard> cards;
  for (std::uint32_t i = 0; i < 8; ++i) cards.push_back({i, 0, i >= 3});
  EXPECT_EQ(choose_wing_cards(cards, 1, kOurs), Numbers{3});
  EXPECT_EQ(choose_wing_cards(cards, 4, kOurs), (Numbers{4, 5, 6, 7}));
}

struct BubbleCase {
  Numbers used;
  std::int64_t want;
};

TEST(KunlunBubble, Example15AndItsNeighbours) {
  const BubbleCase cases[] = {
      {{}, 1},     {{0}, 3}, {{0, 1}, 2},    {{0, 1, 2, 3}, 1}, {first(8), 0},        {{0, 4}, 4},
      {{1, 2}, 2}, {{7}, 3}, {{4, 5, 6}, 2}, {{0, 1, 4, 5}, 2}, {{0, 1, 2, 3, 4}, 2},
  };
  for (const BubbleCase& c : cases) EXPECT_EQ(wing_bubble(c.used), c.want) << c.used.size();
}

}  // namespace
}  // namespace tessera::vendors
