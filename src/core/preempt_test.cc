// What a plan of preemption is, rule by rule: who goes, and who never goes. Figures of a card:
// 16,000 MiB, 10 slots, 100 % cores.
#include "core/preempt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;

constexpr std::int64_t kAll = 16'000;

/// Somebody on the nodes: what he holds of one card, how important he is, when he started.
struct Pod {
  std::string uid, node, device;
  std::int64_t memory = 0;
  std::int64_t priority = 0, started = 0;
  std::vector<std::uint32_t> budgets = {};
  bool evictable = true;
};

struct Stage {
  Cluster cluster{VendorTable(2)};
  std::vector<Evictable> evictable;

  void add(const Pod& pod) {
    cluster.confirm({pod.uid},
                    held(pod.node, {{PositionKind::kApp, {{pod.device, pod.memory, 10}}}}));
    note(pod);
  }
  void note(const Pod& pod) {
    if (!pod.evictable) return;
    evictable.push_back({{pod.uid}, pod.priority, pod.started, pod.budgets});
  }
  std::string plan(const Request& request, const std::vector<std::int64_t>& budgets = {}) {
    const Cluster before = cluster.rebuild();
    const auto plan =
        plan_preemption(cluster, request, cluster.present_nodes(), evictable, budgets);
    EXPECT_EQ(cluster.differences(before), std::vector<std::string>{});
    if (!plan) return "none";
    std::string text = plan->allocation.node + ":";
    for (const PodUid& uid : plan->victims) text += " " + uid.v;
    return text;
  }
};

/// Two nodes, two cards each.
Stage two_nodes(const std::vector<Pod>& pods) {
  Stage stage;
  for (const char* name : {"n1", "n2"}) {
    stage.cluster.set_node(node(name, {card("g0", kAll), card("g1", kAll)}));
  }
  for (const Pod& pod : pods) stage.add(pod);
  return stage;
}

struct Case {
  std::string rule;
  std::vector<Pod> pods;
  Request request;
  std::string plan;
  std::vector<std::int64_t> budgets = {};
};

Request whole() { return pod("high", ask(1, kAll, 0)); }
Request whole(std::int64_t cards) { return pod("high", ask(cards, kAll, 0)); }

/// Nobody may touch the cards that a case does not speak of.
Pod fixed(std::string node, std::string device) {
  return {"fixed-" + node + device, std::move(node), std::move(device), kAll, 0, 0, {}, false};
}

std::vector<Case> the_order() {
  return {
      {"the lowest highest priority goes first, however many they are",
       {{"a", "n1", "g0", 1000, 1, 10},
        {"b", "n1", "g0", 1000, 1, 20},
        fixed("n1", "g1"),
        {"c", "n2", "g0", kAll, 2, 30},
        fixed("n2", "g1")},
       whole(),
       "n1: b a"},
      {"then the fewest, however old they are",
       {{"a", "n1", "g0", 1000, 1, 90},
        {"b", "n1", "g0", 1000, 1, 91},
        fixed("n1", "g1"),
        {"c", "n2", "g0", kAll, 1, 1},
        fixed("n2", "g1")},
       whole(),
       "n2: c"},
      {"then those whose oldest is the youngest",
       {{"a", "n1", "g0", kAll, 1, 10},
        {"b", "n1", "g1", kAll, 1, 20},
        {"c", "n2", "g0", kAll, 1, 30},
        {"d", "n2", "g1", kAll, 1, 25}},
       whole(),
       "n2: c"},
      {"the oldest of a set counts, not the youngest",
       {{"a", "n1", "g0", 8000, 1, 10},
        {"b", "n1", "g0", 8000, 1, 99},
        fixed("n1", "g1"),
        {"c", "n2", "g0", 8000, 1, 11},
        {"d", "n2", "g0", 8000, 1, 12},
        fixed("n2", "g1")},
       whole(),
       "n2: d c"},
      {"equal sets: the lower node name",
       {{"z", "n1", "g0", kAll, 1, 10},
        fixed("n1", "g1"),
        {"a", "n2", "g0", kAll, 1, 10},
        fixed("n2", "g1")},
       whole(),
       "n1: z"},
      {"equal sets of one node: uids in order",
       {{"b", "n1", "g0", kAll, 1, 10},
        {"a", "n1", "g1", kAll, 1, 10},
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "n1: a"},
      {"a bystander of low priority stays: he would go in vain",
       {{"low", "n1", "g0", kAll, 1, 10},
        {"lower", "n1", "g1", 1000, -5, 90},
        {"hold", "n1", "g1", 15'000, 0, 0, {}, false},
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "n1: low"},
      {"victims in order: lowest priority, then youngest",
       {{"a", "n1", "g0", 5000, 3, 10},
        {"b", "n1", "g0", 5000, 1, 20},
        {"c", "n1", "g0", 5000, 1, 30},
        fixed("n1", "g1"),
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "n1: c b a"},
  };
}

std::vector<Case> who_may_go() {
  return {
      {"nobody goes when the pod fits as it is", {{"a", "n1", "g0", kAll, 0, 0}}, whole(), "n1:"},
      {"nobody goes when it would not help: the rest of the card belongs to others",
       {{"a", "n1", "g0", 8000, 0, 0},
        {"hold", "n1", "g0", 8000, 0, 0, {}, false},
        fixed("n1", "g1"),
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "none"},
      {"nobody goes for more cards than a node has",
       {{"a", "n1", "g0", kAll, 0, 0}, {"b", "n1", "g1", kAll, 0, 0}},
       whole(3),
       "none"},
      {"one of two is enough: the younger goes, the other stays",
       {{"a", "n1", "g0", 8000, 0, 10},
        {"b", "n1", "g0", 8000, 0, 20},
        fixed("n1", "g1"),
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       pod("high", ask(1, 8000, 0)),
       "n1: b"},
      {"cards of two nodes are not put together",
       {{"a", "n1", "g0", kAll, 0, 0},
        fixed("n1", "g1"),
        {"b", "n2", "g0", kAll, 0, 0},
        fixed("n2", "g1")},
       whole(2),
       "none"},
      {"a pod that is not there is nobody's victim",
       {{"a", "n1", "g0", kAll, 0, 0},
        fixed("n1", "g1"),
        {"elsewhere", "n3", "g0", kAll, -9, 99},
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "n1: a"},
  };
}

std::vector<Case> the_budgets() {
  return {
      {"a budget with nothing left protects its pods",
       {{"a", "n1", "g0", kAll, 0, 0, {0}},
        fixed("n1", "g1"),
        {"b", "n2", "g0", kAll, 7, 0},
        fixed("n2", "g1")},
       whole(),
       "n2: b",
       {0}},
      {"a set takes no more than a budget allows",
       {{"a", "n1", "g0", 8000, 0, 0, {0}},
        {"b", "n1", "g0", 8000, 0, 0, {0}},
        fixed("n1", "g1"),
        {"c", "n2", "g0", 8000, 7, 0, {1}},
        {"d", "n2", "g0", 8000, 7, 0, {0}},
        fixed("n2", "g1")},
       whole(),
       "n2: c d",
       {1, 1}},
      {"a pod of two budgets needs both",
       {{"a", "n1", "g0", kAll, 0, 0, {0, 1}},
        fixed("n1", "g1"),
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "none",
       {5, 0}},
      {"a budget that nobody told of protects as well",
       {{"a", "n1", "g0", kAll, 0, 0, {3}},
        fixed("n1", "g1"),
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "none",
       {5}},
      {"victims in order: the one with the fewest disruptions left is asked for first",
       {{"a", "n1", "g0", 8000, 0, 0, {0}},
        {"b", "n1", "g0", 4000, 5, 0, {0, 1}},
        {"c", "n1", "g0", 4000, 0, 0},
        fixed("n1", "g1"),
        fixed("n2", "g0"),
        fixed("n2", "g1")},
       whole(),
       "n1: b a c",
       {3, 2}},
  };
}

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.rule);
    EXPECT_EQ(two_nodes(c.pods).plan(c.request, c.budgets), c.plan);
  }
}

TEST(Preemption, TheOrderOfSets) { check(the_order()); }
TEST(Preemption, WhoMayGoAndWhoNever) { check(who_may_go()); }
TEST(Preemption, BudgetsAreNeverExceeded) { check(the_budgets()); }

TEST(Preemption, Case195NobodyIsEvictedForACardThatIsNotThere) {
  struct Row {
    std::string what;
    void (*change)(NodeSpec& spec);
    std::string plan;
  };
  const std::vector<Row> rows = {
      {"the right model", [](NodeSpec&) {}, "n: a"},
      {"another model", [](NodeSpec& spec) { spec.devices[0].model = "Model-T4"; }, "none"},
      {"a sick card", [](NodeSpec& spec) { spec.devices[0].healthy = false; }, "none"},
      {"a cordoned card", [](NodeSpec& spec) { spec.cordoned = {"g0"}; }, "none"},
      {"another card by id", [](NodeSpec& spec) { spec.devices[0].id = "other"; }, "none"},
      {"a card too small", [](NodeSpec& spec) { spec.devices[0].memory = {8000}; }, "none"},
      {"another mode", [](NodeSpec& spec) { spec.devices[0].mode = "split"; }, "none"},
      {"a vendor that is not offered", [](NodeSpec& spec) { spec.offered = {}; }, "none"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    Stage stage;
    NodeSpec spec = node("n", {card("g0", kAll)});
    row.change(spec);
    const std::string id = spec.devices[0].id;
    stage.cluster.set_node(std::move(spec));
    stage.add({"a", "n", id, kAll, 0, 0});
    Request request = whole();
    request.constraints = {{.vendor = kVendor, .use_models = {"A100"}, .modes = "plain"}};
    request.constraints[0].use_ids = {"g0"};
    EXPECT_EQ(stage.plan(request), row.plan);
  }
}

TEST(Preemption, Case197TheOwnReservationCountsAsFree) {
  Stage stage = two_nodes(
      {{"a", "n1", "g0", 8000, 0, 0}, fixed("n1", "g1"), fixed("n2", "g0"), fixed("n2", "g1")});
  ASSERT_TRUE(stage.cluster.reserve({"high"}, held("n1", {{PositionKind::kApp, {{"g0", 4000, 0}}}}),
                                    MonoTime{}));
  stage.evictable.push_back({{"high"}, -9, 0, {}});  // nobody is his own victim
  EXPECT_EQ(stage.plan(pod("high", ask(1, 8000, 0))), "n1:");
  EXPECT_EQ(stage.plan(whole()), "n1: a");
}

TEST(Preemption, Case198ReservationsOfOthersAreNoVictims) {
  Stage stage = two_nodes({{"a", "n1", "g0", 1000, 0, 0},
                           fixed("n1", "g1"),
                           {"b", "n2", "g0", kAll, 9, 0},
                           fixed("n2", "g1")});
  ASSERT_TRUE(stage.cluster.reserve({"gang"}, held("n1", {{PositionKind::kApp, {{"g0", 8000, 0}}}}),
                                    MonoTime{}));
  EXPECT_EQ(stage.plan(whole()), "n2: b");
}

TEST(Preemption, TheAllocationIsWhatFitsWhenTheyAreGone) {
  Stage stage = two_nodes({{"a", "n1", "g0", 15'000, 0, 0},
                           {"b", "n1", "g1", kAll, 9, 0},
                           fixed("n2", "g0"),
                           fixed("n2", "g1")});
  const auto plan = plan_preemption(stage.cluster, pod("high", ask(1, 12'000, 30)),
                                    stage.cluster.present_nodes(), stage.evictable, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(grants_text(plan->allocation), "g0 12000/30");
}

/// One partitioned card: three instances stand in the way of a large one.
TEST(Preemption, InstancesAreFreedWhereALargerOneMayLie) {
  Stage stage;
  stage.cluster.set_node(node("n", {mig_card("m")}));
  const auto add = [&](const std::string& uid, const std::string& profile, std::uint32_t start,
                       std::int64_t priority) {
    stage.cluster.confirm({uid}, held_instances("n", {instance(0, "m", profile, start)}));
    stage.note({uid, "n", "m", 0, priority, 10});
  };
  add("left", "1g.10gb", 0, 0);
  add("right", "3g.40gb", 4, 5);
  // 40 GB may lie at 0 or 4: one small pod goes, not the two that free the most memory.
  EXPECT_EQ(stage.plan(pod("high", ask(1, 40'000, 0))), "n: left");
  EXPECT_EQ(stage.plan(pod("high", ask(1, 81'000, 0))), "n: left right");
  add("middle", "1g.10gb", 2, 9);
  EXPECT_EQ(stage.plan(pod("high", ask(1, 40'000, 0))), "n: right");
}

TEST(Preemption, CardsOfOneNumaNodeWhenThePodIsBoundToOne) {
  Stage stage;
  std::vector<Device> cards = {card("g0", kAll), card("g1", kAll), card("g2", kAll),
                               card("g3", kAll)};
  for (std::size_t i = 0; i < cards.size(); ++i) cards[i].numa = static_cast<std::int64_t>(i / 2);
  stage.cluster.set_node(node("n", cards));
  stage.add({"a", "n", "g0", kAll, 0, 90});
  stage.add({"b", "n", "g1", kAll, 0, 80});
  stage.add({"c", "n", "g2", kAll, 0, 70});
  Request request = whole(2);
  EXPECT_EQ(stage.plan(request), "n: a");
  request.constraints = {{.vendor = kVendor, .numa_bind = true}};
  EXPECT_EQ(stage.plan(request), "n: c");
}

TEST(Preemption, AContainerThatRunsAloneNeedsNoRoomBesideTheOthers) {
  Stage stage;
  stage.cluster.set_node(node("n", {card("g0", kAll)}));
  stage.add({"a", "n", "g0", 6000, 0, 10});
  stage.add({"b", "n", "g0", 6000, 1, 20});
  const DeviceAsk half = ask(1, 8000, 0);
  EXPECT_EQ(stage.plan(pod("high", {init({half}), app({half})})), "n: a");
  EXPECT_EQ(stage.plan(pod("high", {sidecar({half}), app({half})})), "n: a b");
}

TEST(Preemption, QuotasArePaidByTheSameNodeOnly) {
  Stage stage = two_nodes({});
  stage.cluster.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 20'000}}, {}});
  const auto add = [&](const std::string& uid, const std::string& node, std::string ns,
                       std::int64_t memory) {
    Allocation allocation = held(node, {{PositionKind::kApp, {{"g0", memory, 0}}}});
    allocation.subject.ns = std::move(ns);
    stage.cluster.confirm({uid}, allocation);
    stage.note({uid, node, "g0", memory, 0, 10});
  };
  Request request = pod("high", ask(1, 8000, 0));
  request.subject.ns = "team";
  add("mate", "n1", "team", 9000);
  add("stranger", "n1", "lab", 2000);
  add("far mate", "n2", "team", 9000);
  EXPECT_EQ(stage.plan(request), "n1: mate");
  request.positions[0].asks[0].memory = {11'500};
  EXPECT_EQ(stage.plan(request), "none") << "both would have to go, on two nodes";
  request.positions[0].asks[0].memory = {20'001};
  EXPECT_EQ(stage.plan(request), "none") << "more than the quota itself";
  request.subject.ns = "elsewhere";
  request.positions[0].asks[0].memory = {kAll};
  EXPECT_EQ(stage.plan(request), "n1:") << "no quota there";
}

TEST(Preemption, OnlyTheVendorAskedForGivesWay) {
  Stage stage;
  Device other = card("x0", kAll);
  other.vendor = kOtherVendor;
  stage.cluster.set_node(node("n", {card("g0", kAll), other}));
  stage.add({"a", "n", "g0", kAll, 5, 10});
  Allocation elsewhere = held("n", {{PositionKind::kApp, {{"x0", kAll, 0}}}});
  elsewhere.grants[0].vendor = kOtherVendor;
  stage.cluster.confirm({"b"}, elsewhere);
  stage.note({"b", "n", "x0", kAll, 0, 90});
  EXPECT_EQ(stage.plan(whole()), "n: a");
  Request both = whole();
  both.positions[0].asks.push_back({kOtherVendor, 1, {kAll}, DeviceAsk::kNoPercent, {}});
  EXPECT_EQ(stage.plan(both), "n: b a");
}

/// 40 pods on one node: more sets than can be tried.
TEST(Preemption, ACrowdedCardIsClearedWhereItIsCheapest) {
  Stage stage;
  std::vector<Device> cards;
  for (const char* id : {"g0", "g1", "g2", "g3"}) cards.push_back(card(id, kAll, 20));
  stage.cluster.set_node(node("n", cards));
  for (int i = 0; i < 40; ++i) {
    const int on = i < 5 ? 2 : (i % 3 == 2 ? 3 : i % 3);
    stage.add({"p" + std::to_string(100 + i), "n", "g" + std::to_string(on), 500, 0, i});
  }
  EXPECT_EQ(stage.plan(whole()), "n: p104 p103 p102 p101 p100");
}

TEST(CompleteVictims, OnlyWhatIsMissingIsAdded) {
  struct Row {
    std::string what;
    std::vector<PodUid> given;
    std::string more;
    std::int64_t violations = 0;
  };
  Stage stage;
  stage.cluster.set_node(node("n", {card("g0", kAll), card("g1", kAll)}));
  stage.cluster.set_node(node("m", {card("g0", kAll)}));
  stage.add({"a", "n", "g0", 8000, 0, 10, {0}});
  stage.add({"b", "n", "g0", 8000, 0, 20, {0}});
  stage.add({"c", "n", "g1", kAll, 3, 30, {1}});
  stage.add({"far", "m", "g0", kAll, 0, 30, {0}});
  const std::vector<std::int64_t> budgets = {1, 0};
  const std::vector<Row> rows = {
      {"nobody given: the smallest set, budgets only counted", {}, "b a", 1},
      {"half of it given: what was given uses the budget up", {{"a"}}, "b", 1},
      {"all of it given", {{"a"}, {"b"}}, "", 0},
      {"one who holds nothing changes nothing", {{"web"}, {"a"}}, "b", 1},
      {"one of another node frees nothing here", {{"far"}}, "b a", 2},
      {"the dearer card is free already", {{"c"}}, "", 0},
      {"named twice, lifted once", {{"a"}, {"a"}}, "b", 1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const Cluster before = stage.cluster.rebuild();
    const auto completed = complete_victims(stage.cluster, whole(), stage.cluster.find_node("n"),
                                            row.given, stage.evictable, budgets);
    EXPECT_EQ(stage.cluster.differences(before), std::vector<std::string>{});
    ASSERT_TRUE(completed);
    std::string more;
    for (const PodUid& uid : completed->more) more += (more.empty() ? "" : " ") + uid.v;
    EXPECT_EQ(more, row.more);
    EXPECT_EQ(completed->budget_violations, row.violations);
  }
  EXPECT_FALSE(complete_victims(stage.cluster, whole(3), stage.cluster.find_node("n"), {},
                                stage.evictable, budgets));
  EXPECT_FALSE(complete_victims(stage.cluster, whole(), NodeId{}, {}, stage.evictable, budgets));
}

}  // namespace
}  // namespace tessera::core
