// Random histories of a cluster in which most nodes look like others: a few makes of nodes, and
// pods of a few kinds. What is concluded from one node to another must be what each node says
// itself. TESSERA_PROPERTY_STEPS sets how many steps are driven in all (a twelfth of it).
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidates.h"
#include "core/place_index.h"
#include "core/place_property_world.h"

namespace tessera::core::testing {
namespace {

constexpr std::uint32_t kAlike = 36, kMakes = 3;

long wanted_steps() {
  const char* text = std::getenv("TESSERA_PROPERTY_STEPS");
  return (text == nullptr ? 60'000 : std::strtol(text, nullptr, 10)) / 12;
}

std::string alike_name(std::uint32_t n) { return "alike-" + std::to_string(n); }

/// The makes differ in one thing each that a verdict depends on.
NodeSpec make_of(std::uint32_t n, std::uint32_t make) {
  NodeSpec spec;
  spec.name = alike_name(n);
  spec.offered = {true, true};
  for (std::uint32_t c = 0; c < kCards; ++c) {
    Device device = card("c" + std::to_string(c) + "-of-" + std::to_string(n), 8000, 4, 100);
    device.index = make == 1 ? kCards - c : c;
    device.numa = c / 2;
    if (c == 3) device.vendor = kOtherVendor;
    if (make == 2 && c == 0) device.memory = {16'000};
    spec.devices.push_back(std::move(device));
  }
  return spec;
}

class Alike : public ::testing::TestWithParam<unsigned> {
 protected:
  Alike() : cluster_(random_rules()), index_({.threads = GetParam(), .nodes_per_thread = 1}) {
    for (std::uint32_t n = 0; n < kAlike; ++n) {
      cluster_.set_node(make_of(n, n % kMakes));
      names_.push_back(alike_name(n));
    }
  }

  /// One that fits, reserved for one of many pods; or what somebody else did to a node.
  void act(Dice& dice) {
    const NodeId node{dice.below(kAlike)};
    NodeSpec spec = cluster_.node(node).spec;
    if (!cluster_.node(node).present) spec = make_of(node.v, dice.below(kMakes));
    Device& device = spec.devices[dice.below(kCards)];
    switch (dice.below(12)) {
      case 0:
        return cluster_.set_locked(node, dice.one_in(2));
      case 1:
        device.healthy = dice.one_in(2);
        break;
      case 2:
        spec.cordoned.clear();
        if (dice.one_in(2)) spec.cordoned = {device.id};
        break;
      case 3:
        spec.offered = {!dice.one_in(3), true};
        break;
      case 4:
        spec.label_priority = dice.of({0, 0, 7});
        break;
      case 5:
        spec.links.clear();
        if (dice.one_in(12)) spec.links.assign(kCards * kCards, 10);
        break;
      case 6:
        device.mig = nullptr;
        if (dice.one_in(12))
          device.mig = std::make_shared<const MigProfiles>(small_profiles(dice.one_in(2)));
        break;
      case 7:
        if (dice.one_in(4)) cluster_.remove_node(spec.name);
        return;
      case 8:
        spec = make_of(node.v, dice.below(kMakes));
        break;
      default:
        return reserve(dice);
    }
    cluster_.set_node(spec);
  }

  void reserve(Dice& dice) {
    const PodUid uid{"held-" + std::to_string(dice.below(2 * kAlike))};
    cluster_.release(uid);
    Request request = pod(uid.v, ask(1 + dice.below(2), dice.of({500, 1000, 4000}), 10));
    const NodeId node{dice.below(kAlike)};
    const Fit fit = fit_node(cluster_, request, node);
    if (!fit.allocation) return;
    ASSERT_TRUE(cluster_.reserve(uid, *fit.allocation, MonoTime::max()).has_value());
  }

  void compare(const Request& request, std::uint64_t seed) {
    const std::vector<std::string_view> views(names_.begin(), names_.end());
    reader_.read(cluster_, views, candidates_);
    const PlaceOptions options{.keep_keys = true};
    const Outcome plain = place(cluster_, request, candidates_.ids(), options);
    const Outcome mine = index_.place(cluster_, request, candidates_, options);
    ASSERT_EQ(mine.fitting, plain.fitting) << seed << "\n" << request_text(request);
    ASSERT_TRUE(mine.keys == plain.keys) << seed << "\n" << request_text(request);
    for (std::size_t i = 0; i < plain.rejected.size(); ++i)
      ASSERT_EQ(mine.rejected[i].reject.text(), plain.rejected[i].reject.text()) << seed;
    const auto choice = index_.choose(cluster_, request, candidates_);
    ASSERT_EQ(choice.decision.has_value(), plain.decision.has_value()) << seed;
    if (!plain.decision) return;
    ASSERT_EQ(choice.decision->node, plain.decision->node) << seed;
    ASSERT_EQ(choice.decision->allocation, plain.decision->allocation) << seed;
  }

  Cluster cluster_;
  PlaceIndex index_;
  CandidateReader reader_;
  CandidateSet candidates_;
  std::vector<std::string> names_;
};

TEST_P(Alike, WhatIsConcludedFromOneNodeHoldsForTheOther) {
  for (long step = 0; step < wanted_steps(); ++step) {
    const auto seed = static_cast<std::uint64_t>(step) * 31 + GetParam();
    Dice dice(seed);
    act(dice);
    Request request = random_request(dice);
    // Every second one is of the kind for which a conclusion may be drawn.
    if (dice.one_in(2)) {
      request.mode = ScoreMode::kCorrected;
      request.constraints.clear();
      for (Position& position : request.positions) {
        for (DeviceAsk& ask : position.asks) ask.vendor = kVendor;
      }
    }
    compare(request, seed);
    if (HasFatalFailure()) return;
  }
  const PlaceIndex::Figures figures = index_.figures();
  EXPECT_LT(figures.fitted, figures.rows_made / 5 * 4) << "a fifth and more was concluded";
  EXPECT_GT(figures.fitted, figures.rows_made / 50) << "some are beyond any shortcut";
}

INSTANTIATE_TEST_SUITE_P(Threads, Alike, ::testing::Values(1U, 2U, 4U));

/// Every node is judged by the fitter once per look, or once per kind of nodes, or not at all.
TEST(AlikeNodes, AreLookedAtOnce) {
  Cluster cluster{VendorTable(1)};
  std::vector<std::string> names;
  for (std::uint32_t n = 0; n < 60; ++n) {
    names.push_back(alike_name(n));
    cluster.set_node(node(names.back(), {card("a" + std::to_string(n), n < 30 ? 8000 : 16'000),
                                         card("b" + std::to_string(n))}));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  CandidateReader reader;
  CandidateSet candidates;
  reader.read(cluster, views, candidates);
  Request named = pod("p", ask(1, 1000, 10));
  named.constraints.push_back({.vendor = kVendor, .nouse_ids = {"a7"}});
  struct Case {
    std::string_view what;
    Request request;
    std::uint64_t fitted;
  };
  const Case cases[] = {
      {"one container: by the states of cards", pod("p", ask(2, 1000, 10)), 0},
      {"two containers: one node of each kind",
       pod("p", {app({ask(1, 1000, 10)}), app({ask(1, 900, 0)})}), 2},
      {"a card named by its id: every node", named, 60},
  };
  for (const Case& c : cases) {
    PlaceIndex index({});
    const auto choice = index.choose(cluster, c.request, candidates);
    ASSERT_TRUE(choice.decision.has_value()) << c.what;
    EXPECT_EQ(choice.decision->allocation,
              fit_node(cluster, c.request, choice.decision->node).allocation)
        << c.what;
    EXPECT_EQ(index.figures().fitted, c.fitted) << c.what;
    EXPECT_EQ(index.figures().rows_made, 60U) << c.what;
  }
}

}  // namespace
}  // namespace tessera::core::testing
