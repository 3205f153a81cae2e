// What a vendor's row switches on and off, policies that close cards, quotas inside fit, and the
// hooks of vendors.
#include "core/fit_test_table.h"
#include "core/vendor_hooks.h"

namespace tessera::core {
namespace {

using namespace testing;

std::string fit_text(const Cluster& cluster, const Request& request) {
  const Fit fit = fit_node(cluster, request, {0});
  return fit.allocation ? grants_text(*fit.allocation) : fit.reject.text();
}

struct RuleCase {
  std::string name;
  std::function<void(VendorRules&)> rules;
  std::function<void(Request&)> request;
  Busy busy;
  DeviceAsk asked;
  std::string want;
};
void PrintTo(const RuleCase& row, std::ostream* out) { *out << row.name; }
class VendorRulesTable : public ::testing::TestWithParam<RuleCase> {};

TEST_P(VendorRulesTable, Row) {
  const RuleCase& row = GetParam();
  VendorTable rules(2);
  if (row.rules) row.rules(rules[0]);
  Cluster cluster{rules};
  add_busy_node(cluster, "n", {row.busy});
  Request request = pod("p", row.asked);
  if (row.request) row.request(request);
  EXPECT_EQ(fit_text(cluster, request), row.want);
}

const Busy kUsed{card("a", 16000, 10), 1, 4000, 40};
const Busy kFull{card("a", 16000, 1), 1, 4000, 40};
void mutex(Request& request) { request.mutex = true; }
void of_100_cores(Request& request) {
  request.constraints.push_back({.vendor = kVendor, .core_total = {100}});
}

INSTANTIATE_TEST_SUITE_P(
    Rows, VendorRulesTable,
    ::testing::Values(
        RuleCase{"slots count", {}, {}, kFull, ask(1, 100, 0), "1/1 CardTimeSlicingExhausted"},
        RuleCase{"slots do not count",
                 [](VendorRules& r) { r.slots_count = false; },
                 {},
                 kFull,
                 ask(1, 100, 0),
                 "a 100/0"},
        RuleCase{"cores count", {}, {}, kUsed, ask(1, 100, 70), "1/1 CardInsufficientCore"},
        RuleCase{"cores do not count",
                 [](VendorRules& r) { r.cores_count = false; },
                 {},
                 kUsed,
                 ask(1, 100, 70),
                 "a 100/70"},
        RuleCase{"mutex closes a used card",
                 {},
                 mutex,
                 kUsed,
                 ask(1, 100, 0),
                 "1/1 ExclusiveDeviceAllocateConflict"},
        RuleCase{"mutex before memory",
                 {},
                 mutex,
                 kUsed,
                 ask(1, 90000, 0),
                 "1/1 ExclusiveDeviceAllocateConflict"},
        RuleCase{
            "slots before mutex", {}, mutex, kFull, ask(1, 100, 0), "1/1 CardTimeSlicingExhausted"},
        RuleCase{"mutex does not close an empty card",
                 {},
                 mutex,
                 {card("a")},
                 ask(1, 100, 0),
                 "a 100/0"},
        RuleCase{"a vendor that does not know mutex",
                 [](VendorRules& r) { r.honours_mutex = false; }, mutex, kUsed, ask(1, 100, 0),
                 "a 100/0"},
        RuleCase{"8 registered cores count as 100",
                 {},
                 of_100_cores,
                 {card("a", 16000, 10, 8), 1, 0, 30},
                 ask(1, 100, 70),
                 "a 100/70"},
        RuleCase{"and no more than that",
                 {},
                 of_100_cores,
                 {card("a", 16000, 10, 8), 1, 0, 30},
                 ask(1, 100, 71),
                 "1/1 CardInsufficientCore"},
        RuleCase{"a whole one of them is exclusive",
                 {},
                 of_100_cores,
                 {card("a", 16000, 10, 8), 1, 0, 0},
                 ask(1, 100, 100),
                 "1/1 ExclusiveDeviceAllocateConflict"}));

/// Three idle cards, 9000 MiB allowed, 3000 used.
class QuotaFitTest : public ::testing::TestWithParam<ScoreMode> {
 protected:
  QuotaFitTest() {
    add_busy_node(cluster_, "n", {{card("a")}, {card("b")}, {card("c")}});
    cluster_.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 9000}}, {}});
    Allocation other = held("elsewhere", {{PositionKind::kApp, {{"x", 3000, 0}}}});
    other.subject.ns = "team";
    cluster_.confirm({"other"}, other);
  }
  Request asked(std::vector<Position> positions) const {
    Request request = pod("p", std::move(positions));
    request.subject.ns = "team";
    request.mode = GetParam();
    request.hami = {"spread", "binpack"};
    return request;
  }
  std::string text(const Request& request) const { return fit_text(cluster_, request); }
  Cluster cluster_{VendorTable(2)};
};

TEST_P(QuotaFitTest, E14CardsTakenWhileTheQuotaAllows) {
  EXPECT_EQ(text(asked({app({ask(2, 4000, 0)})})),
            "1/3 AllocatedCardsInsufficientRequest, 2/3 ResourceQuotaNotFit");
  EXPECT_NE(text(asked({app({ask(2, 3000, 0)})})).find("3000/0, "), std::string::npos);
}

TEST_P(QuotaFitTest, AnotherNamespaceIsNotConcerned) {
  Request request = asked({app({ask(2, 4000, 0)})});
  request.subject.ns = "others";
  EXPECT_NE(text(request).find("4000/0, "), std::string::npos);
}

TEST_P(QuotaFitTest, Example9TwoContainersOnOneCard) {  // vendor page, S-10
  cluster_.set_quota({"team", "q", {{kVendor, QuotaKind::kMemory, 13000}}, {}});
  cluster_.set_node(node("n", {card("a")}));
  EXPECT_EQ(text(asked({app({ask(1, 6000, 0)}), app({ask(1, 6000, 0)})})),
            "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(text(asked({init({}), app({ask(1, 6000, 0)}), app({ask(1, 6000, 0)})})),
            "1/1 ResourceQuotaNotFit")
      << "a container without device shifts nothing";
  EXPECT_EQ(text(asked({init({ask(1, 10000, 0)}), app({ask(1, 5000, 0)}), app({ask(1, 5000, 0)})})),
            "a 10000/0; a 5000/0; a 5000/0")
      << "max(init, sum of apps)";
}

TEST_P(QuotaFitTest, ThePodsOwnHoldIsFree) {
  const Request request = asked({app({ask(1, 6000, 0)})});
  ASSERT_TRUE(cluster_.reserve({"p"}, *fit_node(cluster_, request, {0}).allocation, {}));
  EXPECT_TRUE(fit_node(cluster_, request, {0}).allocation);
  Request other = request;
  other.uid = {"q"};
  EXPECT_EQ(text(other), "3/3 ResourceQuotaNotFit");
  EXPECT_TRUE(fit_node(cluster_, other, {0}).reject.unresolvable());
}

TEST_P(QuotaFitTest, TheQuotaIsToldBeforeMemory) {
  cluster_.set_node(node("n", {card("a", 1000)}));
  EXPECT_EQ(text(asked({app({ask(1, 7000, 0)})})), "1/1 ResourceQuotaNotFit");
  EXPECT_EQ(text(asked({app({ask(1, 6000, 0)})})), "1/1 CardInsufficientMemory");
}

TEST_P(QuotaFitTest, APercentageIsCountedByTheCardItFallsOn) {
  cluster_.set_node(node("n", {card("a", 40000), card("b", 10000)}));
  EXPECT_EQ(text(asked({app({ask_percent(1, 50, 0)})})), "b 5000/0");
}

TEST_P(QuotaFitTest, AnInstancePaysForItsProfile) {  // N-11
  cluster_.set_node(node("n", {mig_card("m")}));
  EXPECT_EQ(text(asked({app({ask(1, 5900, 0)})})), "1/1 ResourceQuotaNotFit")
      << "5900 would be allowed, the smallest profile has more";
}

TEST_P(QuotaFitTest, CardsAreCounted) {
  cluster_.set_quota({"team", "q", {{kVendor, QuotaKind::kCount, 2}}, {}});
  EXPECT_NE(text(asked({app({ask(1, 10, 0)})})).find("10/0"), std::string::npos);
  EXPECT_EQ(text(asked({app({ask(2, 10, 0)})})),
            "1/3 AllocatedCardsInsufficientRequest, 2/3 ResourceQuotaNotFit");
}

INSTANTIATE_TEST_SUITE_P(Modes, QuotaFitTest,
                         ::testing::Values(ScoreMode::kCorrected, ScoreMode::kHami),
                         [](const auto& row) {
                           return row.param == ScoreMode::kHami ? "Hami" : "Corrected";
                         });

/// Takes the pairs a-b or c-d only, refuses nodes with trait 1 and cards of model "odd".
class Pairs final : public VendorHooks {
 public:
  CardReason admit_node(const NodeSpec& node, const AskedVendor& vendor) const override {
    const bool closed = vendor.id.v < node.traits.size() && node.traits[vendor.id.v] == 1;
    return closed ? CardReason::kModeNotFit : CardReason::kCount;
  }
  CardReason admit_card(const Device& card, const Usage& /*seen*/, const Demand& /*demand*/,
                        const AskedVendor& /*vendor*/) const override {
    return card.model == "odd" ? CardReason::kTypeMismatch : CardReason::kCount;
  }
  bool chooses(const ChoiceView& view) const override { return view.demand.count == 2; }
  std::optional<std::vector<std::uint32_t>> choose(const ChoiceView& view) const override {
    for (const std::uint32_t first : view.fitting) {
      for (const std::uint32_t second : view.fitting) {
        if (second == first + 1 && first % 2 == 0) return std::vector{first, second};
      }
    }
    return std::nullopt;
  }
  void explain(const ChoiceView& view, Reject& reject) const override {
    if (view.demand.count == 2) reject.count(CardReason::kNumaNotFit) = 1;
  }
  std::int64_t topology_score(const TopologyView& view) const override {
    return view.node.name == "better" ? static_cast<std::int64_t>(view.picks.size()) : 0;
  }
};

class HookTest : public ::testing::TestWithParam<ScoreMode> {
 protected:
  HookTest() : cluster_(rules()) {}
  VendorTable rules() const {
    VendorTable table(2);
    table[0].hooks = &pairs_;
    return table;
  }
  Request asked(std::vector<Position> positions) const {
    Request request = pod("p", std::move(positions));
    request.mode = GetParam();
    request.hami = {"spread", "binpack"};
    return request;
  }
  std::string text(std::vector<Position> positions) const {
    return fit_text(cluster_, asked(std::move(positions)));
  }
  Pairs pairs_;
  Cluster cluster_;
};

TEST_P(HookTest, TheVendorChoosesItsSets) {
  add_busy_node(cluster_, "n", {{card("a")}, {card("b"), 1, 16000, 0}, {card("c")}, {card("d")}});
  EXPECT_EQ(text({app({ask(2, 1000, 0)})}), "c 1000/0, d 1000/0");
}

TEST_P(HookTest, NoSetSuits) {
  add_busy_node(cluster_, "n", {{card("a")}, {card("b"), 1, 16000, 0}, {card("c")}});
  EXPECT_EQ(text({app({ask(2, 1000, 0)})}),
            "1/3 CardInsufficientMemory, 1/3 NumaNotFit, 2/3 AllocatedCardsInsufficientRequest");
}

TEST_P(HookTest, WithoutAnOpinionTheSharedRulesHold) {
  add_busy_node(cluster_, "n", {{card("a")}, {card("b")}, {card("c")}});
  EXPECT_TRUE(fit_node(cluster_, asked({app({ask(3, 1000, 0)})}), {0}).allocation);
  EXPECT_EQ(text({app({ask(3, 17000, 0)})}), "3/3 CardInsufficientMemory");
}

TEST_P(HookTest, TheNodeIsRefusedOnce) {
  NodeSpec spec = node("n", {card("a"), card("b"), card("c"), card("d")});
  spec.traits = {1};
  cluster_.set_node(spec);
  EXPECT_EQ(text({app({ask(1, 1000, 0)})}), "1/4 ModeNotFit");
  EXPECT_EQ(text({app({ask(5, 1000, 0)})}), "NodeInsufficientDevice") << "counted before";
}

TEST_P(HookTest, AClosedNodeIsNotSearchedEither) {
  NodeSpec spec = node("n", {card("a")});
  spec.traits = {1};
  cluster_.set_node(spec);
  EXPECT_EQ(text({app({ask(1, 10, 0)}), app({ask(1, 10, 0)})}), "1/1 ModeNotFit");
}

TEST_P(HookTest, ACardIsRefusedAfterTheSharedChecks) {
  cluster_.set_node(node("n", {with_model(card("a"), "odd"), with_model(card("b", 10), "odd")}));
  EXPECT_EQ(text({app({ask(1, 1000, 0)})}), "1/2 CardInsufficientMemory, 1/2 CardTypeMismatch");
}

TEST_P(HookTest, AChoiceHasNoAlternatives) {
  add_busy_node(cluster_, "n", {{card("a", 4000)}, {card("b", 4000)}});
  // The first container takes both cards; the second finds no room, and there is no other set.
  EXPECT_EQ(text({app({ask(2, 3000, 0)}), app({ask(2, 3000, 0)})}),
            "1/2 NumaNotFit, 2/2 CardInsufficientMemory");
}

TEST_P(HookTest, LinksCompareBeforeLoadInTheDefaultMode) {  // D3, case 138
  cluster_.set_node(node("better", {card("a"), card("b")}));
  cluster_.set_node(node("a-plain", {card("c"), card("d")}));
  cluster_.confirm({"busy"}, held("a-plain", {{PositionKind::kApp, {{"c", 4000, 10}}}}));
  Request request = asked({app({ask(2, 1000, 0)})});
  const Outcome outcome = place(cluster_, request, all_nodes(cluster_));
  ASSERT_TRUE(outcome.decision);
  const bool by_links = GetParam() == ScoreMode::kCorrected;
  EXPECT_EQ(outcome.decision->allocation.node, by_links ? "better" : "a-plain");
  EXPECT_EQ(outcome.decision->key.topology, by_links ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, HookTest,
                         ::testing::Values(ScoreMode::kCorrected, ScoreMode::kHami),
                         [](const auto& row) {
                           return row.param == ScoreMode::kHami ? "Hami" : "Corrected";
                         });

// Pods that may use partitioned and plain cards alike.

TEST(Modes, Case131TheModeAnnotation) {
  Cluster cluster{VendorTable(2)};
  Device plain = card("a"), cut = mig_card("m");
  cluster.set_node(node("n1", {plain}));
  cluster.set_node(node("n2", {cut}));
  const auto placed = [&](std::string_view modes) {
    Request request = pod("p", ask(1, 8000, 0));
    request.constraints.push_back({.vendor = kVendor, .modes = std::string(modes)});
    const Outcome outcome = place(cluster, request, all_nodes(cluster));
    if (outcome.decision) return outcome.decision->allocation.node;
    return outcome.rejected[0].reject.text() + "; " + outcome.rejected[1].reject.text();
  };
  EXPECT_EQ(placed(cut.mode), "n2");
  EXPECT_EQ(placed(plain.mode), "n1");
  EXPECT_EQ(placed("xyz"), "1/1 CardTypeMismatch; 1/1 CardTypeMismatch");
}

TEST(Modes, Case132TheSamePodOnPlainAndPartitionedNodes) {
  Cluster cluster{VendorTable(2)};
  add_busy_node(cluster, "n1", {{card("a"), 1, 16000, 0}});
  cluster.set_node(node("n2", {mig_card("m")}));
  const Outcome outcome = place(cluster, pod("p", ask(1, 9000, 0)), all_nodes(cluster));
  ASSERT_TRUE(outcome.decision);
  const Grant& grant = outcome.decision->allocation.grants.at(0);
  ASSERT_TRUE(grant.mig);
  EXPECT_EQ(grant.mig->profile, "1g.10gb");
  EXPECT_EQ(grant.memory, MiB{9856}) << "the profile's, not what was asked";
}

TEST(Modes, APlainCardBesideAPartitionedOne) {
  Cluster cluster{VendorTable(2)};
  cluster.set_node(node("n", {card("a"), mig_card("m")}));
  const Fit three = fit_node(cluster, pod("p", ask(3, 8000, 0)), {0});
  ASSERT_TRUE(three.allocation) << "two cards, but instances are not counted against cards";
  const auto plain = std::count_if(three.allocation->grants.begin(), three.allocation->grants.end(),
                                   [](const Grant& grant) { return !grant.mig; });
  EXPECT_LE(plain, 1) << "a plain card serves one container once";
  Request plain_only = pod("p", ask(3, 8000, 0));
  plain_only.constraints.push_back({.vendor = kVendor, .modes = "plain"});
  EXPECT_EQ(fit_text(cluster, plain_only), "NodeInsufficientDevice");
}

TEST(Modes, AnEarlierContainerMakesRoomForInstances) {
  Cluster cluster{VendorTable(2)};
  cluster.set_node(node("n", {mig_card("m0"), mig_card("m1")}));
  // Spread would put the second small instance on the other card and leave no whole one.
  const Request request =
      pod("p", {app({ask(1, 8000, 0)}), app({ask(1, 8000, 0)}), app({ask(1, 80000, 0)})});
  EXPECT_TRUE(fit_node(cluster, request, {0}).allocation);
}

}  // namespace
}  // namespace tessera::core
