#include "core/extender_score.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::core {
namespace {

using Scores = std::vector<std::int64_t>;

std::vector<NodeKey> loads(const Scores& values) {
  std::vector<NodeKey> keys;
  for (const std::int64_t value : values) keys.push_back({.load = value});
  return keys;
}

TEST(ExtenderScores, TheBestGetsTenTheWorstNothing) {
  struct Row {
    const char* name;
    Scores loads, scores;
  };
  const std::vector<Row> table = {
      {"nobody", {}, {}},
      {"one", {7}, {10}},
      {"all equal", {-5, -5, -5}, {10, 10, 10}},
      {"two", {3, 4}, {0, 10}},
      {"in between", {0, 50, 100}, {0, 5, 10}},
      {"rounded to the nearest", {0, 4, 5, 14, 15, 100}, {0, 0, 1, 1, 2, 10}},
      {"negative keys: spread", {-900'000, -300'000, 0}, {0, 7, 10}},
      {"the ends of the range", {INT64_MIN, 0, INT64_MAX}, {0, 5, 10}},
  };
  for (const Row& row : table) {
    EXPECT_EQ(extender_scores(loads(row.loads)), row.scores) << row.name;
  }
}

TEST(ExtenderScores, TheFirstMemberThatDiffersDecides) {
  EXPECT_EQ(extender_scores(std::vector<NodeKey>{{.topology = 1, .load = 0},
                                                 {.topology = 0, .load = 900'000},
                                                 {.topology = 0, .load = 0}}),
            (Scores{10, 10, 0}))
      << "merged, not swapped: the load counts as a fraction of one unit of topology";
  EXPECT_EQ(extender_scores(std::vector<NodeKey>{{.before = 20}, {.before = 10, .load = 900'000}}),
            (Scores{10, 0}));
  EXPECT_EQ(extender_scores(std::vector<NodeKey>{{.load = 3, .after = 1}, {.load = 3, .after = 2}}),
            (Scores{0, 10}));
}

TEST(ExtenderScores, NeverReverseTheOrder) {
  EXPECT_TRUE(rc::check("scores keep the order of the keys", [] {
    const auto member = [](bool wide) {
      return wide ? *rc::gen::arbitrary<std::int64_t>() : *rc::gen::inRange<std::int64_t>(-3, 4);
    };
    const bool wide = *rc::gen::arbitrary<bool>();
    std::vector<NodeKey> keys(*rc::gen::inRange<std::size_t>(1, 12));
    for (NodeKey& key : keys) key = {member(wide), member(wide), member(wide), member(wide)};
    const Scores scores = extender_scores(keys);
    RC_ASSERT(scores.size() == keys.size());
    const std::size_t best =
        static_cast<std::size_t>(std::max_element(keys.begin(), keys.end()) - keys.begin());
    RC_ASSERT(scores[best] == kMostExtenderScore);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      RC_ASSERT(scores[i] >= 0 && scores[i] <= kMostExtenderScore);
      for (std::size_t j = 0; j < keys.size(); ++j)
        if (keys[i] < keys[j]) RC_ASSERT(scores[i] <= scores[j]);
    }
  }));
}

}  // namespace
}  // namespace tessera::core
