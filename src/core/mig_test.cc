#include "core/mig.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
constexpr auto kHami = ScoreMode::kHami;
constexpr auto kCorrected = ScoreMode::kCorrected;

Demand mib(std::int64_t memory, std::int64_t cores = 0) {
  Demand demand;
  demand.count = 1;
  demand.memory = {memory};
  demand.cores = {cores};
  return demand;
}
Demand percent(std::int64_t share, std::int64_t cores = 0) {
  Demand demand = mib(0, cores);
  demand.percent = share;
  return demand;
}

std::string text(const Device& card, const std::optional<MigChoice>& choice) {
  if (!choice) return "none";
  return (*card.mig)[choice->profile].name + "@" + std::to_string(choice->placement.start);
}

/// Every demand takes what is chosen for it.
std::string sequence(const Device& card, const std::vector<Demand>& demands, ScoreMode mode,
                     std::vector<MigPlacement> occupied = {}) {
  std::string told;
  for (const Demand& demand : demands) {
    const auto choice = choose_mig(card, demand, occupied, mode);
    told += (told.empty() ? "" : " ") + text(card, choice);
    if (!choice) continue;
    occupied.push_back(choice->placement);
    std::sort(occupied.begin(), occupied.end());
  }
  return told;
}

/// The 7-slice card of 80 GB of public case 121: profiles register their nominal size.
Device nominal_card() {
  MigProfiles profiles = seven_slice_profiles();
  profiles[0].memory = {10240};
  profiles[1].memory = {20480};
  profiles[2].memory = {40960};
  profiles[3].memory = {81920};
  return mig_card("n", profiles);
}

Device reporting(std::int64_t smallest_memory) {
  MigProfiles profiles = seven_slice_profiles();
  profiles[0].memory = {smallest_memory};
  return mig_card("r", profiles);
}

/// A card with four slices: the largest profile reaches all of them.
Device four_slice_card() {
  return mig_card("f", {{"1g.6gb", {5952}, {25}, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}},
                        {"2g.12gb", {12032}, {50}, 2, {{0, 2}, {2, 2}}},
                        {"4g.24gb", {24192}, {100}, 4, {{0, 4}}}});
}

TEST(ChooseMig, SequencesOnOneCard) {
  struct Row {
    std::string name;
    Device card;
    std::vector<Demand> demands;
    std::string hami, corrected;
  };
  const std::vector<Demand> example_12 = {mib(8000),  mib(15000), mib(15000), mib(8000),
                                          mib(30000), mib(8000),  mib(8000)};
  const std::vector<Row> rows = {
      {"nvidia example 12", mig_card("m"), example_12,
       "1g.10gb@6 2g.20gb@0 2g.20gb@2 1g.10gb@5 none 1g.10gb@4 none",
       "1g.10gb@6 2g.20gb@4 2g.20gb@0 1g.10gb@3 none 1g.10gb@2 none"},
      {"case 121: sizes mixed on one card; D4 keeps the place of the largest",
       nominal_card(),
       {mib(20000), mib(10000), mib(40000)},
       "2g.20gb@0 1g.10gb@6 none",
       "2g.20gb@0 1g.10gb@3 3g.40gb@4"},
      {"nvidia example 20: the model decides the profile, small card",
       mig_card(
           "s",
           {{"1g.5gb", {4864}, {15}, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}},
            {"2g.10gb", {9984}, {29}, 2, {{0, 2}, {2, 2}, {4, 2}}}}),
       {mib(8000), mib(8000)},
       "2g.10gb@0 2g.10gb@2",
       "2g.10gb@0 2g.10gb@2"},
      {"nvidia example 20: large card",
       mig_card("l"),
       {mib(8000), mib(8000)},
       "1g.10gb@6 1g.10gb@5",
       "1g.10gb@6 1g.10gb@5"},
      {"seven of the smallest, no eighth",
       mig_card("m"),
       {mib(8000), mib(8000), mib(8000), mib(8000), mib(8000), mib(8000), mib(8000), mib(8000)},
       "1g.10gb@6 1g.10gb@5 1g.10gb@4 1g.10gb@3 1g.10gb@2 1g.10gb@1 1g.10gb@0 none",
       "1g.10gb@6 1g.10gb@5 1g.10gb@4 1g.10gb@3 1g.10gb@2 1g.10gb@1 1g.10gb@0 none"},
      {"a larger profile is used when no small one has a place",
       four_slice_card(),
       {mib(12000), mib(12000), mib(5000)},
       "2g.12gb@0 2g.12gb@2 none",
       "2g.12gb@0 2g.12gb@2 none"},
      {"case 130: a profile holds what it registers, not what its name says",
       reporting(9728),
       {mib(10240), mib(10000), mib(9728), mib(9729)},
       "2g.20gb@0 2g.20gb@2 1g.10gb@6 2g.20gb@4",
       "2g.20gb@0 2g.20gb@2 1g.10gb@6 2g.20gb@4"},
      {"two 3g fill the card",
       mig_card("m"),
       {mib(30000), mib(30000), mib(1)},
       "3g.40gb@4 3g.40gb@0 none",
       "3g.40gb@4 3g.40gb@0 none"},
      {"nothing asked in MiB: the smallest", mig_card("m"), {mib(0)}, "1g.10gb@6", "1g.10gb@6"},
      {"cores asked with MiB play no part",
       mig_card("m"),
       {mib(8000, 100)},
       "1g.10gb@6",
       "1g.10gb@6"},
      {"no profile at all", mig_card("e", {}), {mib(1), percent(100)}, "none none", "none none"},
      {"a card that is not partitioned", card("c"), {mib(1)}, "none", "none"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(sequence(row.card, row.demands, kHami), row.hami);
    EXPECT_EQ(sequence(row.card, row.demands, kCorrected), row.corrected);
  }
}

TEST(ChooseMig, SharesOfACard) {
  struct Row {
    std::string name;
    Demand demand;
    std::string hami, corrected;
  };
  const Device seven = mig_card("m");
  for (const Row& row : std::vector<Row>{
           {"nvidia example 14: 49 %", percent(49), "3g.40gb@4", "3g.40gb@4"},
           {"nvidia example 14: half (N-2)", percent(50), "7g.80gb@0", "3g.40gb@4"},
           {"a little more than half", percent(51), "7g.80gb@0", "7g.80gb@0"},
           {"nvidia example 14: the whole card (N-2)", percent(100), "none", "7g.80gb@0"},
           {"case 123: 30 %", percent(30), "3g.40gb@4", "3g.40gb@4"},
           {"an eighth", percent(12), "1g.10gb@6", "1g.10gb@6"},
           {"more than an eighth", percent(13), "2g.20gb@0", "2g.20gb@0"},
           {"cores within the profile", percent(25, 25), "3g.40gb@4", "2g.20gb@0"},
           {"more cores than the profile has", percent(25, 26), "3g.40gb@4", "3g.40gb@4"},
           {"whole card and all cores", percent(100, 100), "none", "7g.80gb@0"}}) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(text(seven, choose_mig(seven, row.demand, {}, kHami)), row.hami);
    EXPECT_EQ(text(seven, choose_mig(seven, row.demand, {}, kCorrected)), row.corrected);
  }
  const Device four = four_slice_card();
  EXPECT_EQ(text(four, choose_mig(four, percent(50), {}, kCorrected)), "2g.12gb@0");
  EXPECT_EQ(text(four, choose_mig(four, percent(100), {}, kCorrected)), "4g.24gb@0");
}

TEST(ChooseMig, TheLargestRemainingProfileIsKept) {
  struct Row {
    std::string name;
    std::vector<MigPlacement> occupied;
    Demand demand;
    std::string hami, corrected;
  };
  const Device seven = mig_card("m");
  for (const Row& row : std::vector<Row>{
           {"low half begun: stay there", {{0, 1}}, mib(8000), "1g.10gb@6", "1g.10gb@1"},
           {"high half begun: stay there", {{6, 1}}, mib(15000), "2g.20gb@0", "2g.20gb@4"},
           {"both halves begun: least places lost",
            {{0, 1}, {6, 1}},
            mib(8000),
            "1g.10gb@5",
            "1g.10gb@1"},
           {"only one place left", {{0, 4}, {4, 2}}, mib(8000), "1g.10gb@6", "1g.10gb@6"},
           {"nothing left", {{0, 8}}, mib(1), "none", "none"}}) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(text(seven, choose_mig(seven, row.demand, row.occupied, kHami)), row.hami);
    EXPECT_EQ(text(seven, choose_mig(seven, row.demand, row.occupied, kCorrected)), row.corrected);
  }
}

TEST(ChooseMig, EqualProfilesShareTheirPlaces) {
  // Two kinds of the same size, one with an extra place; the second may be chosen for its place.
  const Device twins = mig_card("t", {{"1g.10gb", {10000}, {14}, 1, {{0, 1}}},
                                      {"1g.10gb+me", {10000}, {14}, 1, {{3, 1}}},
                                      {"2g.20gb", {20000}, {28}, 2, {{0, 2}}}});
  EXPECT_EQ(text(twins, choose_mig(twins, mib(9000), {}, kHami)), "1g.10gb@0");
  EXPECT_EQ(text(twins, choose_mig(twins, mib(9000), {}, kCorrected)), "1g.10gb+me@3");
  // A name that occurs twice: the places are those of the first entry (section 14.3).
  const Device same = mig_card(
      "s", {{"2g.20gb", {20000}, {28}, 2, {{4, 2}}}, {"2g.20gb", {10000}, {28}, 2, {{0, 2}}}});
  EXPECT_EQ(text(same, choose_mig(same, mib(9000), {}, kHami)), "2g.20gb@4");
}

TEST(ChooseMig, HostilePlacementsEndInNoChoiceAndNoOverflow) {
  const Device odd = mig_card("o", {{"1g.10gb", {10000}, {14}, 1, {{5, 0}}},
                                    {"2g.20gb", {20000}, {28}, 2, {{4294967295U, 4294967295U}}}});
  EXPECT_EQ(text(odd, choose_mig(odd, mib(15000), {}, kHami)), "2g.20gb@4294967295");
  const std::vector<MigPlacement> taken = {{4294967295U, 4294967295U}};
  EXPECT_EQ(text(odd, choose_mig(odd, mib(1), taken, kHami)), "none") << "size 0 is no place";
  EXPECT_EQ(text(odd, choose_mig(odd, mib(1), taken, kCorrected)), "none");
  EXPECT_EQ(text(odd, choose_mig(odd, percent(100, 100), {}, kCorrected)), "2g.20gb@4294967295");
}

}  // namespace
}  // namespace tessera::core
