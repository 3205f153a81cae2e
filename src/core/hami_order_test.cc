// HAMi's own scores, orders and choices (ScoreMode::kHami). Numbers are those of the worked
// examples E1 to E12 of spec/scheduler.md.
#include "core/hami_order.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"
#include "core/vendor_hooks.h"

namespace tessera::core {
namespace {

using namespace testing;

constexpr auto kWord = "Word";

VendorTable rules_with_word() {
  VendorTable rules(2);
  rules[0].word = kWord;
  return rules;
}

Device numa_card(std::string id, std::int64_t numa, std::int64_t memory = 10000) {
  Device device = card(std::move(id), memory);
  device.numa = numa;
  return device;
}
Device own_model(Device device) {
  device.model = kWord;
  return device;
}

Request hami_pod(std::vector<Position> positions, std::string device_policy = "spread",
                 std::string node_policy = "binpack") {
  Request request = pod("p", std::move(positions));
  request.mode = ScoreMode::kHami;
  request.hami = {std::move(device_policy), std::move(node_policy)};
  request.mutex = request.hami.device == "mutex";
  return request;
}

struct ScoreCase {
  std::string name;
  Device device;
  Usage used;
  Position container;
  ScoreWeights weights;
  float want = 0;
};
void PrintTo(const ScoreCase& row, std::ostream* out) { *out << row.name; }
class HamiScore : public ::testing::TestWithParam<ScoreCase> {};

TEST_P(HamiScore, Row) {
  const ScoreCase& row = GetParam();
  EXPECT_EQ(hami_device_score(row.device, row.used, row.container, rules_with_word(), row.weights),
            row.want);
}

const Device kE1 = own_model(card("a", 16000));
const Usage kE1Used{3, {4000}, {40}};
const Device kP = own_model(card("p", 24576, 8)), kQ = own_model(card("q", 16384, 8));
const Usage kPUsed{2, {6144}, {30}}, kQUsed{1, {4096}, {50}};

INSTANTIATE_TEST_SUITE_P(
    Examples, HamiScore,
    ::testing::Values(
        ScoreCase{"E1 the request counts where the model is the word of its vendor",
                  kE1,
                  kE1Used,
                  app({ask(1, 2000, 20)}),
                  {},
                  13.75F},
        ScoreCase{"E2 another model: it does not",
                  card("a", 16000),
                  kE1Used,
                  app({ask(1, 2000, 20)}),
                  {},
                  9.5F},
        ScoreCase{"E3 weights memory=5, slot=0, core=2",
                  kE1,
                  kE1Used,
                  app({ask(1, 2000, 20)}),
                  {0, 2, 5},
                  30.75F},
        ScoreCase{"a number of cards counts as one request",
                  kE1,
                  kE1Used,
                  app({ask(4, 2000, 20)}),
                  {},
                  13.75F},
        ScoreCase{"E4 percent, p", kP, kPUsed, app({ask_percent(1, 25, 10)}), {}, 12.75F},
        ScoreCase{"E4 percent, q", kQ, kQUsed, app({ask_percent(1, 25, 10)}), {}, 13.5F},
        ScoreCase{"E4 MiB, p", kP, kPUsed, app({ask(1, 2048, 10)}), {}, 11.083334F},
        ScoreCase{"E4 MiB, q", kQ, kQUsed, app({ask(1, 2048, 10)}), {}, 12.25F},
        ScoreCase{"E4 slot=5, q", kQ, kQUsed, app({ask(1, 2048, 10)}), {5, 1, 1}, 22.25F},
        ScoreCase{"E4 slot=5, p", kP, kPUsed, app({ask(1, 2048, 10)}), {5, 1, 1}, 26.083334F},
        ScoreCase{"percent wins over MiB here",
                  kE1,
                  kE1Used,
                  app({{kVendor, 1, {9000}, 50, {0}}}),
                  {},
                  10.0F * (0.4F + 0.4F + 0.75F)},
        ScoreCase{"no memory registered: 0", own_model(card("z", 0)), kE1Used, app({}), {}, 0.0F},
        ScoreCase{"E10 x for the init container",
                  own_model(card("x", 12000)),
                  {3, {9000}, {30}},
                  init({ask(1, 2000, 10)}),
                  {},
                  17.1666679F}));

TEST(HamiNodeScore, E5AllDevicesTogetherBeforeThePod) {
  const NodeSpec a = node("A", {card("a1", 16000), card("a2", 16000)});
  EXPECT_EQ(hami_node_score(a, std::vector<Usage>{{2, {4000}, {25}}, {}}), 3.5F);
  EXPECT_EQ(hami_node_score(node("B", {card("b1", 16000)}), std::vector<Usage>{{4, {8000}, {50}}}),
            14.0F);
}

TEST(HamiNodeScore, NumbersKeepTheOrderOfTheScores) {
  const std::vector<float> rising = {-599996.5F, -1.0F, -0.5F, 0.0F, 0.328125F, 3.5F, 600003.5F};
  for (std::size_t i = 1; i < rising.size(); ++i)
    EXPECT_LT(ordered(rising[i - 1]), ordered(rising[i]));
  EXPECT_EQ(ordered(-0.0F), ordered(0.0F));
}

class HamiPlaceTest : public ::testing::Test {
 protected:
  std::string choice(const Request& request) {
    const Outcome outcome = place(cluster_, request, all_nodes(cluster_));
    if (!outcome.decision) return outcome.rejected.at(0).reject.text();
    score_ = outcome.decision->score;
    return cluster_.node(outcome.decision->node).spec.name + ": " +
           grants_text(outcome.decision->allocation);
  }
  Cluster cluster_{rules_with_word()};
  double score_ = 0;
};

TEST_F(HamiPlaceTest, E4PercentAndWeightsDecideBetweenCards) {
  add_busy_node(cluster_, "n", {{kP, 2, 6144, 30}, {kQ, 1, 4096, 50}});
  const auto card_of = [&](DeviceAsk asked, const char* policy, ScoreWeights weights) {
    Request request = hami_pod({app({asked})}, policy);
    request.weights = weights;
    return choice(request).substr(3, 1);
  };
  EXPECT_EQ(card_of(ask_percent(1, 25, 10), "binpack", {}), "q");
  EXPECT_EQ(card_of(ask_percent(1, 25, 10), "spread", {}), "p");
  EXPECT_EQ(card_of(ask(1, 2048, 10), "binpack", {}), "q");
  EXPECT_EQ(card_of(ask(1, 2048, 10), "spread", {}), "p");
  EXPECT_EQ(card_of(ask(1, 2048, 10), "binpack", {5, 1, 1}), "p");
  EXPECT_EQ(card_of(ask(1, 2048, 10), "spread", {5, 1, 1}), "q");
}

TEST_F(HamiPlaceTest, E5NodePolicies) {
  add_busy_node(cluster_, "A", {{card("a1", 16000), 2, 4000, 25}, {card("a2", 16000)}});
  add_busy_node(cluster_, "B", {{card("b1", 16000), 4, 8000, 50}});
  EXPECT_EQ(choice(hami_pod({app({ask(1, 2000, 10)})})).substr(0, 1), "B");
  EXPECT_EQ(score_, 14.0);
  EXPECT_EQ(choice(hami_pod({app({ask(1, 2000, 10)})}, "spread", "spread")).substr(0, 1), "A");
  EXPECT_EQ(score_, 3.5);
  EXPECT_EQ(choice(hami_pod({app({ask(1, 2000, 10)})}, "spread", "spread ")).substr(0, 1), "B")
      << "any other word is binpack";
}

TEST_F(HamiPlaceTest, E6TheNodeOfTheHighestLoadBeforeThePod) {
  add_busy_node(cluster_, "S", {{card("s", 8000)}});
  std::vector<Busy> large = {{card("l0", 16000), 1, 1000, 10}};
  for (int i = 1; i < 8; ++i) large.push_back({card("l" + std::to_string(i), 16000)});
  add_busy_node(cluster_, "L", large);
  EXPECT_EQ(choice(hami_pod({app({ask(1, 6000, 50)})})).substr(0, 1), "L");
  EXPECT_EQ(score_, 0.328125);
}

TEST_F(HamiPlaceTest, E7TiesGoToTheHigherNumaNodeThenToTheLaterCard) {
  cluster_.set_node(node("n", {numa_card("g0", 0), numa_card("g1", 0), numa_card("g2", 1)}));
  for (const char* policy : {"spread", "binpack"}) {
    EXPECT_EQ(choice(hami_pod({app({ask(2, 4000, 0)})}, policy)), "n: g2 4000/0, g1 4000/0");
  }
}

struct PolicyCase {
  std::string policy;
  bool numa_bind = false;
  std::string want;
};
void PrintTo(const PolicyCase& row, std::ostream* out) { *out << '"' << row.policy << '"'; }
class HamiPolicies8 : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(HamiPolicies8, E8) {
  Cluster cluster{rules_with_word()};
  add_busy_node(cluster, "n",
                {{numa_card("a0", 0), 1, 1000, 10},
                 {numa_card("b0", 0)},
                 {numa_card("a1", 1), 4, 4000, 40},
                 {numa_card("b1", 1), 2, 2000, 20}});
  Request request = hami_pod({app({ask(2, 1000, 10)})}, GetParam().policy);
  request.constraints.push_back({.vendor = kVendor, .numa_bind = GetParam().numa_bind});
  const Fit fit = fit_node(cluster, request, {0});
  EXPECT_EQ(fit.allocation ? grants_text(*fit.allocation) : fit.reject.text(), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Table, HamiPolicies8,
    ::testing::Values(PolicyCase{"spread", false, "b0 1000/10, a0 1000/10"},
                      PolicyCase{"binpack", false, "a1 1000/10, b1 1000/10"},
                      PolicyCase{"spread", true, "b1 1000/10, a1 1000/10"},
                      PolicyCase{"binpack", true, "a0 1000/10, b0 1000/10"},
                      PolicyCase{"numa", false, "b1 1000/10, a1 1000/10"},
                      PolicyCase{"numa,binpack", false, "a1 1000/10, b1 1000/10"},
                      PolicyCase{"spread,numa", true, "b1 1000/10, a1 1000/10"},
                      PolicyCase{" binpack", false, "b0 1000/10, a0 1000/10"},
                      PolicyCase{"fastest", false, "b0 1000/10, a0 1000/10"},
                      PolicyCase{"", false, "b0 1000/10, a0 1000/10"},
                      PolicyCase{"mutex", false,
                                 "1/4 AllocatedCardsInsufficientRequest, 3/4 "
                                 "ExclusiveDeviceAllocateConflict"}));

TEST_F(HamiPlaceTest, E9TwoAppContainers) {
  cluster_.set_node(node("n", {card("u", 12000), card("v", 12000)}));
  const std::vector<Position> both = {app({ask(1, 11000, 0)}), app({ask(1, 2000, 0)})};
  EXPECT_EQ(choice(hami_pod(both)), "n: v 11000/0; u 2000/0");
  EXPECT_EQ(choice(hami_pod(both, "binpack")), "n: v 11000/0; u 2000/0");
}

TEST_F(HamiPlaceTest, E10InitAndAppOnDifferentCards) {
  add_busy_node(cluster_, "n",
                {{own_model(card("x", 12000)), 3, 9000, 30}, {own_model(card("y", 12000))}});
  EXPECT_EQ(choice(hami_pod({init({ask(1, 2000, 10)}), app({ask(1, 4000, 10)})}, "binpack")),
            "n: x 2000/10; y 4000/10");
  EXPECT_EQ(score_, 6.75);
}

TEST_F(HamiPlaceTest, E17AVendorsOwnScoreIsAdded) {
  class Marked final : public VendorHooks {
   public:
    float hami_score(const TopologyView& view) const override {
      return view.picks.size() == 1 ? 600000.0F : 0.0F;
    }
  };
  const Marked marked;
  VendorTable rules(2);
  rules[0].hooks = &marked;
  Cluster cluster{rules};
  add_busy_node(cluster, "A", {{card("a1", 16000), 2, 4000, 25}, {card("a2", 16000)}});
  const Fit fit = fit_node(cluster, hami_pod({app({ask(1, 1000, 0)})}), {0});
  EXPECT_EQ(fit.score, 600003.5);
  EXPECT_EQ(fit.key.topology, 0) << "it is part of the one score";
}

TEST_F(HamiPlaceTest, NumaBindWalksNumaNodesInTheOrderOfTheList) {  // devices page, example 7
  std::vector<Busy> cards = {{numa_card("a0", 1, 16384)},
                             {numa_card("a1", 1, 16384)},
                             {numa_card("a2", 0, 16384)},
                             {numa_card("a3", 0, 16384), 1, 16000, 0}};
  Request request = hami_pod({app({ask(2, 2000, 10)})});
  request.constraints.push_back({.vendor = kVendor, .numa_bind = true});
  add_busy_node(cluster_, "n", cards);
  EXPECT_EQ(choice(request), "n: a1 2000/10, a0 2000/10");
  cards.erase(cards.begin());
  add_busy_node(cluster_, "n", cards);
  EXPECT_EQ(choice(request),
            "1/3 AllocatedCardsInsufficientRequest, 1/3 CardInsufficientMemory, 1/3 NumaNotFit");
}

}  // namespace
}  // namespace tessera::core
