// Sets of cards by their link scores. Numbers are those of the vendor page's example 11 and of the
// collection of public reports.
#include "core/topology.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
constexpr auto kHami = ScoreMode::kHami;
constexpr auto kCorrected = ScoreMode::kCorrected;

void link(NodeSpec& spec, std::size_t a, std::size_t b, std::int32_t score) {
  spec.links[a * spec.devices.size() + b] = score;
  spec.links[b * spec.devices.size() + a] = score;
}

/// Cards g0 … ; all pairs score `others`.
NodeSpec linked_node(std::size_t cards, std::int32_t others) {
  std::vector<Device> devices;
  for (std::size_t i = 0; i < cards; ++i) devices.push_back(card("g" + std::to_string(i)));
  NodeSpec spec = node("n", std::move(devices));
  spec.links.assign(cards * cards, 0);
  for (std::size_t a = 0; a < cards; ++a) {
    for (std::size_t b = a + 1; b < cards; ++b) link(spec, a, b, others);
  }
  return spec;
}

/// g0-g1 450, g2-g3 250, cross pairs 10.
NodeSpec example_11() {
  NodeSpec spec = linked_node(4, 10);
  link(spec, 0, 1, 450);
  link(spec, 2, 3, 250);
  return spec;
}

Request topology_pod(std::int64_t count, ScoreMode mode) {
  Request request = pod("p", ask(count, 1000, 0));
  request.topology = true;
  request.mode = mode;
  request.hami = {"topology-aware", "binpack"};
  return request;
}

struct LinkCase {
  std::string name;
  std::int64_t count = 1;
  std::vector<std::uint32_t> full;  // cards without free slots
  bool scores = true;
  std::string hami, corrected;
};
void PrintTo(const LinkCase& row, std::ostream* out) { *out << row.name; }
class Example11 : public ::testing::TestWithParam<LinkCase> {};

std::string chosen(const LinkCase& row, ScoreMode mode) {
  Cluster cluster{VendorTable(2)};
  NodeSpec spec = example_11();
  if (!row.scores) spec.links.clear();
  const NodeId id = cluster.set_node(spec);
  Allocation others = held("n", {});
  for (const std::uint32_t device : row.full) {
    for (int slot = 0; slot < 10; ++slot) {
      others.kinds.push_back(PositionKind::kApp);
      others.grants.push_back({static_cast<std::uint32_t>(others.kinds.size() - 1),
                               kVendor,
                               spec.devices[device].id,
                               {0},
                               {0},
                               std::nullopt});
    }
  }
  if (!row.full.empty()) cluster.confirm({"others"}, others);
  const Fit fit = fit_node(cluster, topology_pod(row.count, mode), id);
  if (!fit.allocation) return fit.reject.text();
  std::string ids;
  for (const Grant& grant : fit.allocation->grants) ids += grant.device + " ";
  return ids;
}

TEST_P(Example11, Row) {
  EXPECT_EQ(chosen(GetParam(), kHami), GetParam().hami);
  EXPECT_EQ(chosen(GetParam(), kCorrected), GetParam().corrected);
}
INSTANTIATE_TEST_SUITE_P(
    Rows, Example11,
    ::testing::Values(
        LinkCase{"one card: the least linked", 1, {}, true, "g3 ", "g2 "},
        LinkCase{"two cards: the best pair", 2, {}, true, "g1 g0 ", "g0 g1 "},
        LinkCase{"three cards: the first of equal sets", 3, {}, true, "g3 g1 g0 ", "g0 g1 g2 "},
        LinkCase{"four cards: no choice", 4, {}, true, "g3 g2 g1 g0 ", "g0 g1 g2 g3 "},
        LinkCase{"g0 full: the other pair", 2, {0}, true, "g3 g2 ", "g2 g3 "},
        LinkCase{"case 133: no scores, the plain order", 2, {}, false, "g3 g2 ", "g0 g1 "},
        LinkCase{"two full, three asked",
                 3,
                 {0, 1},
                 true,
                 "2/4 AllocatedCardsInsufficientRequest, 2/4 CardTimeSlicingExhausted",
                 "2/4 AllocatedCardsInsufficientRequest, 2/4 CardTimeSlicingExhausted"}));

TEST(Topology, Case133AllScoresZero) {
  Cluster cluster{VendorTable(2)};
  const NodeId id = cluster.set_node(linked_node(8, 0));
  const Fit fit = fit_node(cluster, topology_pod(2, kCorrected), id);
  ASSERT_TRUE(fit.allocation);
  EXPECT_EQ(grants_text(*fit.allocation), "g0 1000/0, g1 1000/0");
}

TEST(Topology, Case134AScoreInOneDirectionOnly) {
  NodeSpec spec = linked_node(3, 0);
  spec.links[0 * 3 + 1] = 100;  // g0 -> g1, but not back
  const std::vector<std::uint32_t> there = {0, 1}, back = {1, 0};
  EXPECT_EQ(linked_value(spec, there, there, kHami), 100);
  EXPECT_EQ(linked_value(spec, back, back, kHami), 0);
  EXPECT_EQ(linked_value(spec, there, there, kCorrected), 100);
  EXPECT_EQ(linked_value(spec, back, back, kCorrected), 100) << "the order does not matter";
}

TEST(Topology, Case135BestPairAndTheLonelyCard) {
  Cluster cluster{VendorTable(2)};
  NodeSpec spec = linked_node(4, 10);
  link(spec, 0, 1, 100);
  link(spec, 2, 3, 100);
  const NodeId id = cluster.set_node(spec);
  cluster.confirm({"full"}, held("n", {{PositionKind::kApp, {{"g0", 16384, 0}}}}));
  const Fit two = fit_node(cluster, topology_pod(2, kCorrected), id);
  EXPECT_EQ(grants_text(*two.allocation), "g2 1000/0, g3 1000/0");
  const Fit one = fit_node(cluster, topology_pod(1, kCorrected), id);
  EXPECT_EQ(grants_text(*one.allocation), "g1 1000/0") << "its partner is taken already";
}

TEST(Topology, Case138TheBetterLinkedNodeWinsUnderEveryPolicy) {
  Cluster cluster{VendorTable(2)};
  NodeSpec good = linked_node(4, 100), bad = linked_node(4, 10);
  good.name = "n2-good";
  bad.name = "n1-bad";
  cluster.set_node(bad);
  const NodeId best = cluster.set_node(good);
  // The good node is in use: spread would take the other one.
  cluster.confirm({"busy"}, held("n2-good", {{PositionKind::kApp, {{"g0", 4000, 10}}}}));
  for (const NodePolicy* policy : {static_cast<const NodePolicy*>(&kEmptiestNode),
                                   static_cast<const NodePolicy*>(&kFullestNode)}) {
    Request request = topology_pod(2, kCorrected);
    request.node_policy = policy;
    const Outcome outcome = place(cluster, request, all_nodes(cluster));
    ASSERT_TRUE(outcome.decision);
    EXPECT_EQ(outcome.decision->node, best) << policy->name();
    EXPECT_EQ(outcome.decision->key.topology, 200);
  }
}

TEST(Topology, WithNumaBindEveryNumaNodeIsLookedAt) {  // N-6
  Cluster cluster{VendorTable(2)};
  NodeSpec spec = linked_node(5, 10);
  for (std::size_t i : {3U, 4U}) spec.devices[i].numa = 1;
  link(spec, 1, 2, 300);
  const NodeId id = cluster.set_node(spec);
  for (const ScoreMode mode : {kCorrected, kHami}) {
    Request request = topology_pod(3, mode);
    request.constraints.push_back({.vendor = kVendor, .numa_bind = true});
    EXPECT_TRUE(fit_node(cluster, request, id).allocation) << "three cards on NUMA node 0";
  }
  Request request = topology_pod(2, kCorrected);
  request.constraints.push_back({.vendor = kVendor, .numa_bind = true});
  EXPECT_EQ(grants_text(*fit_node(cluster, request, id).allocation), "g1 1000/0, g2 1000/0");
}

TEST(Topology, TheQuotaCountsTheSetNotTheCandidates) {  // N-6
  Cluster cluster{VendorTable(2)};
  const NodeId id = cluster.set_node(example_11());
  cluster.set_quota({"", "q", {{kVendor, QuotaKind::kMemory, 2000}}, {}});
  for (const ScoreMode mode : {kCorrected, kHami}) {
    const Fit fit = fit_node(cluster, topology_pod(2, mode), id);
    ASSERT_TRUE(fit.allocation);
    EXPECT_EQ(grants_text(*fit.allocation),
              mode == kHami ? "g1 1000/0, g0 1000/0" : "g0 1000/0, g1 1000/0");
    EXPECT_FALSE(fit_node(cluster, topology_pod(3, mode), id).allocation);
  }
}

/// The best set by trying all of them, the first of equals.
std::vector<std::uint32_t> by_trying_all(const NodeSpec& spec,
                                         const std::vector<std::uint32_t>& candidates,
                                         std::size_t count, ScoreMode mode) {
  std::vector<std::uint32_t> best;
  std::int64_t best_value = 0;
  std::vector<bool> in(candidates.size(), false);
  std::fill(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count), true);
  do {
    std::vector<std::uint32_t> places, set;
    for (std::uint32_t i = 0; i < in.size(); ++i) {
      if (!in[i]) continue;
      places.push_back(i);
      set.push_back(candidates[i]);
    }
    const std::int64_t value = linked_value(spec, set, candidates, mode);
    if (best.empty() || value > best_value) {
      best = places;
      best_value = value;
    }
  } while (std::prev_permutation(in.begin(), in.end()));
  return best;
}

TEST(Topology, TheExactSetIsTheOneFoundByTryingAll) {
  std::mt19937 dice(7);
  const auto below = [&](int n) { return static_cast<int>(dice() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const auto cards = static_cast<std::size_t>(1 + below(10));
    NodeSpec spec = linked_node(cards, 0);
    for (std::int32_t& score : spec.links) score = below(3) == 0 ? below(900) - 100 : 10;
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t i = 0; i < cards; ++i) {
      if (below(5) > 0) candidates.insert(candidates.begin(), i);
    }
    if (candidates.empty()) continue;
    const auto count = static_cast<std::size_t>(1 + below(static_cast<int>(candidates.size())));
    for (const ScoreMode mode : {kCorrected, kHami}) {
      EXPECT_EQ(best_linked(spec, candidates, count, mode),
                by_trying_all(spec, candidates, count, mode))
          << "round " << round;
    }
  }
}

TEST(Topology, BoundedTimeWithAnyScores) {  // N-7
  std::mt19937 dice(11);
  for (const std::size_t cards : {16U, 64U}) {
    NodeSpec spec = linked_node(cards, 0);
    for (std::int32_t& score : spec.links) score = static_cast<std::int32_t>(dice() % 1000);
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < cards; ++i) all.push_back(i);
    const auto start = std::chrono::steady_clock::now();
    const auto set = best_linked(spec, all, cards / 2, kCorrected);
    EXPECT_EQ(set.size(), cards / 2);
    EXPECT_TRUE(std::is_sorted(set.begin(), set.end()));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

}  // namespace
}  // namespace tessera::core
