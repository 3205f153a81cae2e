#include "core/place_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/candidates.h"
#include "core/core_test_builders.h"
#include "core/place_index_test_witness.h"

namespace tessera::core::testing {
namespace {

constexpr std::uint32_t kMany = 300;

std::string name_of(std::uint32_t n) { return "node-" + std::to_string(1000 + n); }

NodeSpec node_of(std::uint32_t n, std::int64_t memory) {
  return node(name_of(n), {card("card-" + std::to_string(n), memory)});
}

Request ask_of(std::uint32_t number, std::int64_t memory) {
  return pod("pod-" + std::to_string(number), ask(1, memory, 1));
}

class Index : public ::testing::Test {
 protected:
  Index() : cluster_(VendorTable(1)) {
    for (std::uint32_t n = 0; n < kMany; ++n) cluster_.set_node(node_of(n, 1000 + n));
    for (std::uint32_t n = 0; n < kMany; ++n) names_.push_back(name_of(n));
  }

  const CandidateSet& candidates() {
    const std::vector<std::string_view> views(names_.begin(), names_.end());
    reader_.read(cluster_, views, candidates_);
    return candidates_;
  }

  /// The answer, after it was found to be the plain one.
  PlaceIndex::Choice choose(const Request& request) {
    PlaceIndex::Choice choice = index_.choose(cluster_, request, candidates());
    const Outcome plain = place(cluster_, request, candidates_.ids());
    EXPECT_EQ(choice.fitting, plain.fitting.size());
    EXPECT_EQ(choice.rejected, plain.rejected.size());
    EXPECT_EQ(choice.decision.has_value(), plain.decision.has_value());
    if (choice.decision && plain.decision) {
      EXPECT_EQ(choice.decision->node, plain.decision->node);
      EXPECT_EQ(choice.decision->allocation, plain.decision->allocation);
    }
    for (std::size_t i = 0; i < choice.named_count; ++i)
      EXPECT_EQ(choice.scores[i],
                fit_node(cluster_, request, candidates_.ids()[choice.named[i]]).score);
    return choice;
  }

  void reserve(const Request& request, const PlaceIndex::Choice& choice) {
    ASSERT_TRUE(choice.decision.has_value());
    ASSERT_TRUE(
        cluster_.reserve(request.uid, choice.decision->allocation, MonoTime::max()).has_value());
  }

  Cluster cluster_;
  PlaceIndex index_{{.classes = 4}};
  CandidateReader reader_;
  CandidateSet candidates_;
  std::vector<std::string> names_;
};

TEST_F(Index, LooksAtEveryNodeOnceThenOnlyAtThoseThatChanged) {
  for (std::uint32_t i = 0; i < 50; ++i) {
    const Request request = ask_of(i, 100);
    reserve(request, choose(request));
    EXPECT_EQ(index_.figures().rows_made, kMany + i);
  }
  EXPECT_EQ(index_.figures().classes, 1U);
  EXPECT_EQ(index_.figures().plain, 0U);
}

TEST_F(Index, ALongSilenceIsCaughtUpWith) {
  choose(ask_of(0, 100));
  for (std::uint32_t i = 0; i < 30'000; ++i) cluster_.set_locked({i % 7}, i % 2 == 0);
  choose(ask_of(1, 100));
  EXPECT_EQ(index_.figures().rows_made, kMany + 7) << "by their versions";
}

TEST_F(Index, ANodeThatComesLaterHasItsRank) {
  choose(ask_of(0, 100));
  NodeSpec first = node_of(0, 1000);
  first.name = "a-node";
  first.devices[0].id = "another";
  cluster_.set_node(first);
  names_.insert(names_.begin() + 100, first.name);
  const auto choice = choose(ask_of(1, 1000));
  EXPECT_EQ(cluster_.node(choice.decision->node).spec.name, "a-node") << "as full as node-1000";
}

TEST_F(Index, TheClassAskedLongestAgoGoes) {
  for (std::uint32_t i = 0; i < 6; ++i) choose(ask_of(i, 100 + i));
  EXPECT_EQ(index_.figures().classes, 4U);
  EXPECT_EQ(index_.figures().classes_made, 6U);
  choose(ask_of(9, 105));
  EXPECT_EQ(index_.figures().classes_made, 6U) << "still there";
  choose(ask_of(9, 100));
  EXPECT_EQ(index_.figures().classes_made, 7U);
}

TEST_F(Index, ClassesHaveSoMuchMemoryAndNoMore) {
  PlaceIndex small({.memory = 200'000});
  for (std::uint32_t i = 0; i < 60; ++i) {
    EXPECT_TRUE(small.choose(cluster_, ask_of(i, 100 + i), candidates()).decision);
    EXPECT_TRUE(small.choose(cluster_, ask_of(i, 100 + i), candidates()).decision);
  }
  EXPECT_EQ(small.figures().classes_made, 60U) << "the one just asked for stays";
  EXPECT_GT(small.figures().classes, 2U);
  EXPECT_LT(small.figures().classes, 20U) << "300 nodes, all different: 20 kB and more each";
}

TEST_F(Index, KeysWithoutNumberFallIntoFewBuckets) {
  class ByLabel final : public NodePolicy {
   public:
    std::string_view name() const override { return "label"; }
    std::int64_t key(const NodeView& view) const override { return view.label_priority; }
  };
  const ByLabel policy;
  Dice dice(7);
  for (std::uint32_t n = 0; n < kMany; ++n) {
    NodeSpec spec = node_of(n, 1000);
    spec.label_priority = static_cast<std::int64_t>(dice.below(1U << 30)) * 1'000'000'007 - 5;
    if (n == 17) spec.label_priority = INT64_MAX / 3;
    cluster_.set_node(spec);
  }
  Request request = ask_of(0, 100);
  request.node_policy_before = &policy;
  EXPECT_EQ(cluster_.node(choose(request).decision->node).spec.name, name_of(17));
  for (std::uint32_t n = 0; n < kMany; n += 3) {
    names_.erase(std::find(names_.begin(), names_.end(), name_of(n)));
    choose(request);
  }
}

TEST_F(Index, AQuotaThatMayBindIsAskedPlainly) {
  cluster_.set_quota({"lab", "q", {{{0}, QuotaKind::kMemory, 250}}, {}});
  for (std::uint32_t i = 0; i < 3; ++i) {
    Request request = ask_of(i, 100);
    request.subject.ns = "lab";
    const auto choice = choose(request);
    EXPECT_EQ(choice.decision.has_value(), i < 2) << i;
    EXPECT_EQ(index_.figures().plain, i < 2 ? 0U : 1U);
    if (choice.decision) reserve(request, choice);
  }
}

TEST_F(Index, NobodyFitsAndEveryRefusalIsTold) {
  const Request request = ask_of(0, 5000);
  EXPECT_FALSE(choose(request).decision);
  const Outcome mine = index_.place(cluster_, request, candidates());
  const Outcome plain = place(cluster_, request, candidates_.ids());
  ASSERT_EQ(mine.rejected.size(), plain.rejected.size());
  for (std::size_t i = 0; i < mine.rejected.size(); ++i)
    EXPECT_EQ(mine.rejected[i].reject.text(), plain.rejected[i].reject.text());
}

TEST(CandidateReader, FindsNamesInAnyOrder) {
  Cluster cluster{VendorTable(1)};
  for (std::uint32_t n = 0; n < 8; ++n) cluster.set_node(node_of(n, 1000));
  CandidateReader reader;
  CandidateSet set;
  const std::vector<std::vector<std::uint32_t>> orders = {
      {0, 1, 2, 3}, {4, 5, 6, 7, 0, 1}, {7, 3, 5}, {}, {1}, {2, 9, 3}, {2, 9, 3}, {3, 3}};
  for (const auto& order : orders) {
    std::vector<std::string> names;
    for (const std::uint32_t n : order) names.push_back(name_of(n));
    const std::vector<std::string_view> views(names.begin(), names.end());
    reader.read(cluster, views, set);
    ASSERT_EQ(set.ids().size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ(set.ids()[i], cluster.find_node(names[i])) << names[i];
  }
  EXPECT_TRUE(set.repeated());
}

}  // namespace
}  // namespace tessera::core::testing
