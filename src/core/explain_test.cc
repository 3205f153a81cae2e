// Verdicts, figures, the one sentence, and what would have fitted.
#include "core/explain.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;

Device unhealthy(Device device) {
  device.healthy = false;
  return device;
}

class ExplainTest : public ::testing::Test {
 protected:
  std::string told(const Request& request) {
    const auto nodes = all_nodes(cluster_);
    const Outcome outcome = place(cluster_, request, nodes);
    return sentence(cluster_, outcome, what_would_fit(cluster_, request, nodes, outcome));
  }
  Explanation explained(const Request& request) {
    return explain(cluster_, request, all_nodes(cluster_));
  }
  Cluster cluster_{VendorTable(2)};
};

TEST_F(ExplainTest, EveryCandidateHasVerdictAndFigures) {
  add_busy_node(cluster_, "n1", {{card("a", 16000), 1, 4000, 40}, {unhealthy(card("b", 90000))}});
  add_busy_node(cluster_, "n2", {{card("c", 8000), 10, 0, 0}});
  const Explanation e = explained(pod("p", ask(1, 10000, 10)));
  ASSERT_EQ(e.nodes.size(), 2U);
  EXPECT_TRUE(e.nodes[0].fits);
  ASSERT_TRUE(e.decision);
  EXPECT_EQ(e.decision->node, e.nodes[0].node);
  EXPECT_EQ(e.decision->key, e.nodes[0].key);
  EXPECT_EQ(e.nodes[0].cards, (std::vector<CardFigures>{{kVendor, 2, 1, {12000}, {60}, 9}}));
  EXPECT_FALSE(e.nodes[1].fits);
  EXPECT_EQ(e.nodes[1].reject.text(), "1/1 CardTimeSlicingExhausted");
  EXPECT_EQ(e.nodes[1].cards, (std::vector<CardFigures>{{kVendor, 1, 1, {8000}, {100}, 0}}));
  EXPECT_FALSE(e.hints) << "somebody fits";
}

TEST_F(ExplainTest, NothingIsReserved) {
  add_busy_node(cluster_, "n1", {{card("a")}});
  explained(pod("p", ask(1, 1000, 10)));
  EXPECT_EQ(cluster_.hold({"p"}), nullptr);
  EXPECT_EQ(cluster_.node({0}).used[0], Usage{});
}

TEST_F(ExplainTest, ThePodsOwnHoldIsFree) {
  const NodeId n1 = add_busy_node(cluster_, "n1", {{card("a", 16000)}});
  const Request request = pod("p", ask(1, 16000, 100));
  ASSERT_TRUE(cluster_.reserve({"p"}, *fit_node(cluster_, request, n1).allocation, {}));
  const Explanation e = explained(request);
  EXPECT_TRUE(e.nodes[0].fits);
  EXPECT_EQ(e.nodes[0].cards[0].free_memory, MiB{16000});
}

TEST_F(ExplainTest, UnknownNodesAreRejected) {
  const std::vector<NodeId> nobody = {NodeId{}};
  const Explanation e = explain(cluster_, pod("p", ask(1, 1, 1)), nobody);
  ASSERT_EQ(e.nodes.size(), 1U);
  EXPECT_FALSE(e.nodes[0].fits);
  EXPECT_EQ(e.nodes[0].reject.text(), "node unregistered");
  EXPECT_FALSE(e.hints);
}

TEST_F(ExplainTest, TheSentenceCountsNodesByReasonAndTellsTheMemoryThatWouldFit) {
  add_busy_node(cluster_, "n1", {{card("a", 16000), 1, 4000, 0}});
  add_busy_node(cluster_, "n2", {{card("b", 16000), 1, 9000, 0}});
  cluster_.set_node(node("n3", {}));
  EXPECT_EQ(told(pod("p", ask(1, 14000, 10))),
            "0 of 3 nodes fit: 2 with too little free memory on the cards, 1 without registered "
            "devices; would fit: 12000 MiB per card instead of 14000 (node n1)");
}

TEST_F(ExplainTest, CardsAndCoresThatWouldFit) {
  add_busy_node(cluster_, "n1", {{card("a"), 1, 0, 70}, {card("b"), 1, 0, 30}});
  EXPECT_EQ(told(pod("p", ask(2, 100, 50))),
            "0 of 1 nodes fit: 1 with too few free cores on the cards; would fit: 30 percent of "
            "the cores instead of 50 (node n1), or 1 cards instead of 2 (node n1)");
  EXPECT_EQ(told(pod("p", ask(5, 100, 10))),
            "0 of 1 nodes fit: 1 with fewer cards than asked for; would fit: 2 cards instead of 5 "
            "(node n1)");
}

TEST_F(ExplainTest, TheOtherContainersStayAsTheyAre) {
  add_busy_node(cluster_, "n1", {{card("a", 16000)}});
  const Request request = pod("p", {app({ask(1, 10000, 0)}), app({ask(1, 10000, 0)})});
  EXPECT_EQ(told(request),
            "0 of 1 nodes fit: 1 with too little free memory on the cards; would fit: 6000 MiB per "
            "card instead of 10000 (node n1)");
  const auto hints = explained(request).hints;
  ASSERT_TRUE(hints);
  EXPECT_EQ(hints->position, 1U);
}

TEST_F(ExplainTest, AShareInPercentIsAnsweredInMiB) {
  add_busy_node(cluster_, "n1", {{card("a", 16000), 1, 10000, 0}});
  EXPECT_EQ(told(pod("p", ask_percent(1, 50, 0))),
            "0 of 1 nodes fit: 1 with too little free memory on the cards; would fit: 6000 MiB per "
            "card instead of 50 % (node n1)");
}

TEST_F(ExplainTest, AQuotaIsNamedWithItsFigures) {
  add_busy_node(cluster_, "n1", {{card("a")}});
  cluster_.set_quota({"team", "gpus", {{kVendor, QuotaKind::kMemory, 3000}}, {}});
  Request request = pod("p", ask(1, 4000, 0));
  request.subject.ns = "team";
  EXPECT_EQ(told(request),
            "0 of 1 nodes fit: 1 where the quota of the namespace is used up; quota gpus allows "
            "3000 MiB of memory, 0 are used and 4000 asked for");
}

TEST_F(ExplainTest, WhatIsOfferedReallyFits) {
  for (std::uint32_t n = 0; n < 20; ++n) {
    add_busy_node(cluster_, "n" + std::to_string(n),
                  {{card("a" + std::to_string(n), 16000), 1, 5000 + 300 * n, 10},
                   {card("b" + std::to_string(n), 16000), 1, 4000 + 500 * n, 30}});
  }
  Request request = pod("p", ask(2, 15000, 40));
  const auto hints = explained(request).hints;
  ASSERT_TRUE(hints && hints->memory);
  EXPECT_EQ(hints->memory->amount, 11000);
  request.positions[0].asks[0].memory = {hints->memory->amount};
  EXPECT_TRUE(fit_node(cluster_, request, hints->memory->node).allocation);
  request.positions[0].asks[0].memory = {hints->memory->amount + 1};
  EXPECT_FALSE(place(cluster_, request, all_nodes(cluster_)).decision);
}

TEST(MainReason, EveryReasonHasWords) {
  for (std::size_t r = 0; r < static_cast<std::size_t>(CardReason::kCount); ++r) {
    Reject reject;
    reject.devices = 1;
    reject.cards[r] = 1;
    EXPECT_NE(main_reason(reject), "that do not fit")
        << card_reason_word(static_cast<CardReason>(r));
  }
  Reject mixed;
  mixed.devices = 4;
  mixed.count(CardReason::kAllocatedCardsInsufficient) = 3;
  mixed.count(CardReason::kInsufficientCore) = 1;
  EXPECT_EQ(main_reason(mixed), "with too few free cores on the cards");
}

}  // namespace
}  // namespace tessera::core
