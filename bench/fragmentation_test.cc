#include "fragmentation.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::bench {
namespace {

// The worked examples of spec/placement-quality.md section 7.
const TargetWorkload kFour({{.cpu = 4000, .cards = 1, .share = 500, .popularity = 0.4},
                            {.cpu = 8000, .cards = 1, .share = 1000, .popularity = 0.3},
                            {.cpu = 16000, .cards = 2, .share = 1000, .popularity = 0.1},
                            {.cpu = 8000, .popularity = 0.2}});
const TargetWorkload kTwo(
    {{.cpu = 4000, .cards = 1, .share = 500, .popularity = 0.5},
     {.cpu = 4000, .cards = 1, .share = 1000, .models = "V100M16", .popularity = 0.5}});

struct Example {
  const char* what;
  const TargetWorkload* workload;
  NodeState node;
  double fragment;
};

TEST(Fragmentation, WorkedExamples) {
  const Example examples[] = {
      {"1: a node in use", &kFour, {"T4", 16000, {1000, 500, 300, 0}}, 900},
      {"2: after the third card", &kFour, {"T4", 12000, {1000, 500, 0, 0}}, 600},
      {"2: after the second card", &kFour, {"T4", 12000, {1000, 200, 300, 0}}, 800},
      {"2: after the first card", &kFour, {"T4", 12000, {700, 500, 300, 0}}, 1020},
      {"3: stranded by CPU", &kFour, {"T4", 2000, {1000, 1000}}, 2000},
      {"4: before a pod without cards", &kFour, {"T4", 16000, {1000, 1000}}, 400},
      {"4: after it", &kFour, {"T4", 6000, {1000, 1000}}, 1200},
      {"4: no idle card", &kFour, {"T4", 12000, {0, 0}}, 0},
      {"5: another model", &kTwo, {"T4", 16000, {1000, 400}}, 900},
      {"5: another model, after", &kTwo, {"T4", 12000, {500, 400}}, 650},
      {"5: the wanted model", &kTwo, {"V100M16", 16000, {1000, 400}}, 400},
      {"5: the wanted model, after", &kTwo, {"V100M16", 12000, {500, 400}}, 650},
      {"6: two cards, before", &kFour, {"T4", 32000, {1000, 1000, 600, 1000}}, 960},
      {"6: two cards, after", &kFour, {"T4", 16000, {0, 0, 600, 1000}}, 660},
  };
  for (const Example& e : examples)
    EXPECT_NEAR(e.workload->fragment(e.node), e.fragment, 1e-9) << e.what;
}

sim::TracePod pod(std::int64_t cpu, std::int64_t cards, std::int64_t share) {
  sim::TracePod pod;
  pod.cpu_milli = cpu;
  pod.cards = cards;
  pod.card_milli = share;
  return pod;
}

TEST(TargetWorkload, TakesTheMostFrequentUntilNearlyAllAreCovered) {
  std::vector<sim::TracePod> list(60, pod(4000, 1, 500));
  list.insert(list.end(), 35, pod(8000, 0, 0));
  list.insert(list.end(), 3, pod(9000, 8, 1000));
  list.insert(list.end(), 2, pod(1000, 1, 100));
  const TargetWorkload typical = TargetWorkload::of(list);
  ASSERT_EQ(typical.classes().size(), 2U);
  EXPECT_EQ(typical.classes()[0].share, 500);
  EXPECT_NEAR(typical.classes()[0].popularity, 60.0 / 95, 1e-12);
  EXPECT_EQ(typical.classes()[1].cards, 0);
  EXPECT_NEAR(typical.classes()[1].popularity, 35.0 / 95, 1e-12);
}

TEST(AcceptsModel, WholeWordsOnly) {
  EXPECT_TRUE(accepts_model("", "T4"));
  EXPECT_TRUE(accepts_model("V100M16|V100M32", "V100M32"));
  EXPECT_FALSE(accepts_model("V100M16|V100M32", "V100"));
}

}  // namespace
}  // namespace tessera::bench
