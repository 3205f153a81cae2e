// Random small clusters, and a pod for which somebody may have to go. The plan is held against all
// sets of victims, each tried on a cluster that is built again without them and asked by the plain
// decision (place_oracle): the same existence, the same set, no budget exceeded, nobody in vain,
// and the books as before. Larger nodes, where not all sets can be tried: a plan is valid, and
// nobody of it can be left out. TESSERA_PREEMPTION_CASES sets how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <tuple>

#include "core/place_property_world.h"
#include "core/preempt.h"

namespace tessera::core {
namespace {

using namespace testing;

long wanted_cases() {
  const char* text = std::getenv("TESSERA_PREEMPTION_CASES");
  return text == nullptr ? 2000 : std::strtol(text, nullptr, 10);
}

struct World {
  Cluster cluster{random_rules()};
  std::vector<NodeId> candidates;
  Request request;
  std::vector<Evictable> evictable;
  std::vector<std::int64_t> budgets;
};

void fill(World& world, Dice& dice, std::uint32_t pods) {
  for (std::uint32_t i = 0; i < pods * 3 && world.cluster.hold_count() < pods; ++i) {
    Request filler = random_request(dice);
    filler.uid = pod_uid(i);
    filler.subject = subject_of(i);
    if (dice.one_in(8)) {
      world.cluster.confirm(filler.uid, random_allocation(dice, i));
      continue;
    }
    const Outcome outcome = place(world.cluster, filler, all_nodes(world.cluster));
    if (outcome.decision) world.cluster.confirm(filler.uid, outcome.decision->allocation);
  }
}

void choose_evictable(World& world, Dice& dice, std::size_t most) {
  world.budgets = {dice.of({0, 1, 1, 2}), dice.of({-1, 1, 2, 3})};
  const bool budgeted = dice.one_in(2);
  for (const PodUid& uid : world.cluster.holders()) {
    if (dice.one_in(8) || world.evictable.size() == most) continue;
    Evictable pod{uid, dice.of({0, 0, 1, 1, 5, -7}), dice.of({100, 200, 200, 300, 400}), {}};
    if (budgeted && dice.one_in(2)) pod.budgets.push_back(dice.below(2));
    if (budgeted && dice.one_in(8)) pod.budgets = {0, 1};
    world.evictable.push_back(std::move(pod));
  }
  for (std::size_t i = world.evictable.size(); i > 1; --i) {
    std::swap(world.evictable[i - 1], world.evictable[dice.below(static_cast<std::uint32_t>(i))]);
  }
}

/// Half of the worlds have no partitioned cards: there more is shared.
NodeSpec some_node(Dice& dice, std::uint32_t number, bool plain) {
  NodeSpec spec = random_node(dice);
  spec.name = node_name(number);
  for (Device& device : spec.devices) {
    if (!plain || !device.partitioned()) continue;
    device.mig = nullptr;
    device.mode = "plain";
  }
  return spec;
}

/// One who fits nowhere, mostly one who would if all evictable pods were gone.
Request preemptor(const World& world, Dice& dice) {
  Cluster rest = world.cluster.rebuild();
  for (const Evictable& pod : world.evictable) rest.release(pod.uid);
  const bool curable = !dice.one_in(5);
  for (int tries = 0;; ++tries) {
    Request request = random_request(dice);
    if (!dice.one_in(6)) request.uid = {"preemptor"};
    const auto fits = [&](const Cluster& cluster) {
      return place(cluster, request, all_nodes(cluster)).decision.has_value();
    };
    if (tries == 200 || (!fits(world.cluster) && (!curable || fits(rest)))) return request;
  }
}

World small_world(std::uint64_t seed) {
  Dice dice(seed);
  World world;
  const std::uint32_t nodes = 1 + dice.below(3);
  const bool plain = dice.one_in(2);
  for (std::uint32_t n = 0; n < nodes; ++n) world.cluster.set_node(some_node(dice, n, plain));
  if (dice.one_in(3)) world.cluster.set_quota(random_quota(dice));
  if (dice.one_in(6)) world.cluster.set_quota(random_quota(dice));
  fill(world, dice, 4 + dice.below(4));
  if (dice.one_in(6)) world.cluster.set_quota(random_quota(dice));
  choose_evictable(world, dice, 6);
  world.request = preemptor(world, dice);
  for (const NodeId node : all_nodes(world.cluster)) {
    if (!dice.one_in(8)) world.candidates.push_back(node);
  }
  if (dice.one_in(6)) world.candidates.push_back({});
  std::erase_if(world.evictable, [&](const Evictable& e) { return e.uid == world.request.uid; });
  return world;
}

/// The cluster without some pods, never touched by the code under test.
Cluster without(const Cluster& cluster, const std::vector<PodUid>& pods) {
  Cluster rest = cluster.rebuild();
  for (const PodUid& uid : pods) rest.release(uid);
  return rest;
}

bool fits_plainly(const Cluster& cluster, const Request& request, NodeId node) {
  return place_oracle(cluster, request, std::vector<NodeId>{node}).decision.has_value();
}

/// Smaller is better, as the header says it.
using Rank = std::tuple<std::int64_t, std::size_t, std::int64_t, std::string, std::vector<PodUid>>;

struct Set {
  std::string node;
  std::vector<PodUid> pods;  // in order of uid
  std::map<std::uint32_t, std::int64_t> counted;

  Rank rank(const std::vector<Evictable>& evictable) const {
    std::int64_t highest = INT64_MIN, oldest = INT64_MAX;
    for (const Evictable& e : evictable) {
      if (std::count(pods.begin(), pods.end(), e.uid) == 0) continue;
      highest = std::max(highest, e.priority);
      oldest = std::min(oldest, e.started);
    }
    return {highest, pods.size(), -oldest, node, pods};
  }
};

std::vector<Set> all_sets(const World& world, NodeId node, const std::vector<PodUid>& given) {
  std::vector<const Evictable*> here;
  for (const Evictable& e : world.evictable) {
    const Hold* hold = world.cluster.hold(e.uid);
    if (hold == nullptr || std::count(given.begin(), given.end(), e.uid) > 0) continue;
    if (hold->allocation.node == world.cluster.node(node).spec.name) here.push_back(&e);
  }
  std::vector<Set> sets;
  for (std::uint32_t bits = 0; bits < 1U << here.size(); ++bits) {
    Set set{world.cluster.node(node).spec.name, {}, {}};
    for (std::size_t i = 0; i < here.size(); ++i) {
      if ((bits >> i & 1U) == 0) continue;
      set.pods.push_back(here[i]->uid);
      for (const std::uint32_t budget : here[i]->budgets) ++set.counted[budget];
    }
    std::sort(set.pods.begin(), set.pods.end());
    sets.push_back(std::move(set));
  }
  return sets;
}

std::optional<Set> best_by_force(const World& world) {
  std::optional<Set> best;
  for (const NodeId node : world.candidates) {
    if (!node.valid()) continue;
    for (Set& set : all_sets(world, node, {})) {
      const bool allowed = std::all_of(set.counted.begin(), set.counted.end(), [&](auto& count) {
        return count.second <= world.budgets[count.first];
      });
      if (!allowed) continue;
      if (best && !(set.rank(world.evictable) < best->rank(world.evictable))) continue;
      if (fits_plainly(without(world.cluster, set.pods), world.request, node)) best = set;
    }
  }
  return best;
}

std::string text_of(const World& world) {
  std::string text = request_text(world.request);
  for (const NodeId node : all_nodes(world.cluster)) {
    text += "\n" + node_text(world.cluster.node(node));
  }
  for (const PodUid& uid : world.cluster.holders()) {
    const Allocation& a = world.cluster.hold(uid)->allocation;
    text += "\n" + uid.v + " on " + a.node + ": " + grants_text(a);
  }
  for (const Evictable& e : world.evictable) {
    text += "\nevictable " + e.uid.v + " priority " + std::to_string(e.priority) + " started " +
            std::to_string(e.started) + " budgets";
    for (const std::uint32_t b : e.budgets) text += " " + std::to_string(b);
  }
  text += "\nbudgets";
  for (const std::int64_t b : world.budgets) text += " " + std::to_string(b);
  return text;
}

/// The books and what is kept beside them are as they were.
class Untouched {
 public:
  explicit Untouched(const Cluster& cluster)
      : cluster_(cluster), before_(cluster.rebuild()), changes_(cluster.change_count()) {
    for (const NodeId node : all_nodes(cluster)) versions_.push_back(cluster.node(node).version);
  }
  void check() const {
    EXPECT_EQ(cluster_.differences(before_), std::vector<std::string>{});
    EXPECT_EQ(cluster_.change_count(), changes_);
    for (const NodeId node : all_nodes(cluster_)) {
      EXPECT_EQ(cluster_.node(node).version, versions_[node.v]);
    }
  }

 private:
  const Cluster& cluster_;
  Cluster before_;
  std::uint64_t changes_;
  std::vector<std::uint64_t> versions_;
};

/// What is written down for the preemptor can be reserved once the victims are gone.
void check_allocation(const World& world, const PreemptionPlan& plan) {
  Cluster rest = without(world.cluster, plan.victims);
  EXPECT_EQ(plan.allocation.node, rest.node(plan.node).spec.name);
  EXPECT_EQ(fit_node(rest, world.request, plan.node).allocation, plan.allocation);
  if (const Hold* own = rest.hold(world.request.uid); own != nullptr) {
    rest.release(world.request.uid);
  }
  EXPECT_TRUE(rest.reserve(world.request.uid, plan.allocation, MonoTime{}));
}

std::vector<PodUid> sorted(std::vector<PodUid> uids) {
  std::sort(uids.begin(), uids.end());
  return uids;
}

struct Coverage {
  long plans = 0, several = 0, instances = 0, budgeted = 0, quota = 0, none = 0, completed = 0;
};

void count(const World& world, const PreemptionPlan& plan, Coverage& coverage) {
  ++coverage.plans;
  coverage.several += plan.victims.size() > 1 ? 1 : 0;
  coverage.quota += world.cluster.quotas().limits(world.request.subject.ns) ? 1 : 0;
  coverage.instances += std::any_of(plan.allocation.grants.begin(), plan.allocation.grants.end(),
                                    [](const Grant& g) { return g.mig.has_value(); });
  coverage.budgeted += std::any_of(world.evictable.begin(), world.evictable.end(),
                                   [](const Evictable& e) { return !e.budgets.empty(); });
}

TEST(PreemptionProperty, ThePlanIsTheBestOfAllSetsOfVictims) {
  const long cases = wanted_cases();
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(cases); ++seed) {
    World world = small_world(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text_of(world));
    const std::optional<Set> best = best_by_force(world);
    const Untouched untouched(world.cluster);
    const auto plan = plan_preemption(world.cluster, world.request, world.candidates,
                                      world.evictable, world.budgets);
    untouched.check();
    ASSERT_EQ(plan.has_value(), best.has_value());
    if (!plan) {
      ++coverage.none;
      continue;
    }
    ASSERT_EQ(world.cluster.node(plan->node).spec.name, best->node);
    ASSERT_EQ(sorted(plan->victims), best->pods);
    check_allocation(world, *plan);
    if (!plan->victims.empty()) count(world, *plan, coverage);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(coverage.plans, cases / 8);
  EXPECT_GT(coverage.several, cases / 20);
  EXPECT_GT(coverage.instances, cases / 50);
  EXPECT_GT(coverage.budgeted, cases / 20);
  EXPECT_GT(coverage.quota, cases / 30);
  EXPECT_GT(coverage.none, cases / 20);
  std::cout << coverage.plans << " plans, " << coverage.several << " of several victims, "
            << coverage.instances << " with instances, " << coverage.budgeted << " with budgets, "
            << coverage.quota << " under quotas, " << coverage.none << " times none\n";
}

TEST(PreemptionProperty, VictimsAreCompletedByTheSmallestSet) {
  const long cases = wanted_cases();
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(cases); ++seed) {
    World world = small_world(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text_of(world));
    Dice dice(seed + 1'000'000);
    std::vector<PodUid> given = {{"holds nothing"}};
    for (const PodUid& uid : world.cluster.holders()) {
      if (dice.one_in(3) && uid != world.request.uid) given.push_back(uid);
    }
    const NodeId node{dice.below(static_cast<std::uint32_t>(world.cluster.node_count()))};
    std::vector<PodUid> given_here;
    for (const PodUid& uid : given) {
      const Hold* hold = world.cluster.hold(uid);
      const bool here = hold != nullptr && hold->allocation.node == node_name(node.v);
      if (here) given_here.push_back(uid);
    }
    std::optional<Set> best;
    const Cluster rest = without(world.cluster, given_here);
    for (Set& set : all_sets(world, node, given)) {
      if (best && !(set.rank(world.evictable) < best->rank(world.evictable))) continue;
      if (fits_plainly(without(rest, set.pods), world.request, node)) best = set;
    }
    const Untouched untouched(world.cluster);
    const auto completed =
        complete_victims(world.cluster, world.request, node, given, world.evictable, world.budgets);
    untouched.check();
    ASSERT_EQ(completed.has_value(), best.has_value());
    if (!completed) continue;
    ASSERT_EQ(sorted(completed->more), best->pods);
    coverage.completed += completed->more.empty() ? 0 : 1;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(coverage.completed, cases / 12);
}

/// Many pods share few cards; whoever comes wants large pieces.
World crowded_world(std::uint64_t seed) {
  Dice dice(seed);
  World world;
  const std::uint32_t nodes = 1 + dice.below(3);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    std::vector<Device> cards;
    for (std::uint32_t c = 0; c < 4 + dice.below(5); ++c) {
      Device device = card("c" + std::to_string(c), 16'000, 10);
      if (dice.one_in(5)) device = mig_card("c" + std::to_string(c));
      device.numa = c / 4;
      cards.push_back(device);
    }
    world.cluster.set_node(node(node_name(n), cards));
  }
  const std::uint32_t pods = nodes * (12 + dice.below(40));
  for (std::uint32_t i = 0; i < pods; ++i) {
    Request filler =
        pod("f" + std::to_string(i),
            ask(dice.of({1, 1, 1, 2}), dice.of({500, 1000, 3000, 6000}), dice.of({0, 5, 20, 40})));
    if (dice.one_in(2)) filler.device_policies = {&kFullestDevice};
    const Outcome outcome = place(world.cluster, filler, all_nodes(world.cluster));
    if (outcome.decision) world.cluster.confirm(filler.uid, outcome.decision->allocation);
  }
  world.request = pod("preemptor",
                      ask(dice.of({1, 2, 4}), dice.of({8000, 14'000, 16'000}), dice.of({50, 100})));
  if (dice.one_in(3)) {
    world.request.constraints.push_back({.vendor = kVendor, .numa_bind = true});
  }
  world.candidates = all_nodes(world.cluster);
  choose_evictable(world, dice, 1000);
  world.budgets = {dice.of({3, 10, 40}), dice.of({5, 20})};
  return world;
}

TEST(PreemptionProperty, OnCrowdedNodesNobodyIsEvictedInVain) {
  const long cases = wanted_cases() / 10;
  long plans = 0, victims = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(cases); ++seed) {
    World world = crowded_world(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Untouched untouched(world.cluster);
    const auto plan = plan_preemption(world.cluster, world.request, world.candidates,
                                      world.evictable, world.budgets, {300, 3000});
    untouched.check();
    if (!plan) continue;
    ++plans;
    victims += static_cast<long>(plan->victims.size());
    check_allocation(world, *plan);
    Cluster rest = without(world.cluster, plan->victims);
    EXPECT_TRUE(fits_plainly(rest, world.request, plan->node));
    std::map<std::uint32_t, std::int64_t> counted;
    for (const PodUid& uid : plan->victims) {
      rest.restore(uid, *world.cluster.hold(uid));
      EXPECT_FALSE(fits_plainly(rest, world.request, plan->node)) << uid.v << " goes in vain";
      rest.release(uid);
      for (const Evictable& e : world.evictable) {
        if (e.uid != uid) continue;
        for (const std::uint32_t b : e.budgets) ++counted[b];
      }
    }
    for (const auto& [budget, used] : counted) EXPECT_LE(used, world.budgets[budget]);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(plans, cases / 2);
  EXPECT_GT(victims, plans * 2);
}

}  // namespace
}  // namespace tessera::core
