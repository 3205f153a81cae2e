// Policies, links and weights that a pod asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "vendors/annotations.h"
#include "vendors/nvidia.h"
#include "vendors/vendors_test_builders.h"

namespace tessera::vendors {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr auto kPolicy = "hami.io/gpu-scheduler-policy";
constexpr auto kNodeWord = "hami.io/node-scheduler-policy";
constexpr auto kWeights = "hami.io/device-scoring-weights";

const Vendors& nvidia() {
  static const Vendors vendors = vendors_from(nvidia_default_text());
  return vendors;
}

PolicyDefaults defaults_of(core::ScoreMode mode, std::string device = "spread") {
  PolicyDefaults d;
  d.node = policies::find_node_policy("binpack");
  d.devices = *policies::parse_device_chain(device);
  d.mode = mode;
  d.words = {std::move(device), "binpack"};
  return d;
}

Result<Demand> demand_of(k8s::StringMap annotations, const PolicyDefaults& defaults) {
  return nvidia().demand(pod_asking({{"nvidia.com/gpu", "1"}}, std::move(annotations)), defaults);
}

// ---- weights (scheduler.md section 10.3)

TEST(ScoringWeights, InAnyOrderWithBlanks) {
  const std::pair<std::string_view, core::ScoreWeights> cases[] = {
      {"slot=1,core=1,memory=3", {1, 1, 3}},
      {"memory=3,slot=0,core=2", {0, 2, 3}},
      {" slot = 1 ,core= +4, memory =0", {1, 4, 0}},
      {"slot=9223372036854775807,core=0,memory=0", {INT64_MAX, 0, 0}},
  };
  for (const auto& [text, want] : cases) {
    const auto got = parse_scoring_weights(text);
    ASSERT_TRUE(got) << text << got.error().what;
    EXPECT_EQ(*got, want) << text;
  }
}

TEST(ScoringWeights, ErrorsInHamisWords) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "expected slot, core, and memory weights"},
      {"slot=1,core=1", "expected slot, core, and memory weights"},
      {"slot=1,core=1,memory=1,", "expected slot, core, and memory weights"},
      {"slot=1,core,memory=1", "expected key=value entries"},
      {"slot=1,slot=2,memory=1", R"(duplicate "slot" weight)"},
      {"slot=1,slot=x,memory=1", R"(duplicate "slot" weight)"},
      {"slot=a,core=1,memory=1", R"("slot" weight must be an integer)"},
      {"slot=1.5,core=1,memory=1", R"("slot" weight must be an integer)"},
      {"slot=1=2,core=1,memory=1", R"("slot" weight must be an integer)"},
      {"slot=9223372036854775808,core=1,memory=1", R"("slot" weight must be an integer)"},
      {"slot=-1,core=1,memory=1", R"("slot" weight must not be negative)"},
      {"gpu=1,core=1,memory=1", R"(unknown weight "gpu")"},
      {"gpu=x,core=1,memory=1", R"("gpu" weight must be an integer)"},
      {"slot=0,core=0,memory=0", "at least one weight must be positive"},
  };
  for (const auto& [text, want] : cases) {
    const auto got = parse_scoring_weights(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().what, "invalid hami.io/device-scoring-weights annotation \"" +
                                    std::string(text) + "\": " + std::string(want))
        << text;
  }
}

TEST(ScoringWeights, ABadTextMakesThePodUnschedulable) {
  const auto defaults = defaults_of(core::ScoreMode::kCorrected);
  EXPECT_EQ(demand_of({{kWeights, "slot=1"}}, defaults).error().what,
            "calcScore failed invalid hami.io/device-scoring-weights annotation \"slot=1\": "
            "expected slot, core, and memory weights for pod p");
  EXPECT_EQ(demand_of({{kWeights, "slot=0,core=0,memory=5"}}, defaults)->request.weights,
            (core::ScoreWeights{0, 0, 5}));
  const auto no_device = nvidia().demand(pod_asking({{"cpu", "1"}}, {{kWeights, "x"}}), defaults);
  EXPECT_TRUE(no_device) << "not our pod, not our business";
  EXPECT_THAT(
      nvidia().mutate(pod_asking({{"nvidia.com/gpu", "1"}}, {{kWeights, "slot=1"}}))->warnings,
      Contains(HasSubstr("the pod cannot be scheduled")));
}

// ---- policies

struct FlagCase {
  std::string_view name;
  k8s::StringMap annotations;
  core::ScoreMode mode;
  std::string default_words;
  bool mutex, topology;
};

TEST(Preferences, MutexAndLinksAreFoundAmongTheWords) {
  using enum core::ScoreMode;
  const FlagCase cases[] = {
      {"none", {}, kCorrected, "spread", false, false},
      {"mutex alone", {{kPolicy, "mutex"}}, kCorrected, "spread", true, false},
      {"links alone", {{kPolicy, "topology-aware"}}, kCorrected, "spread", false, true},
      {"both in a chain",
       {{kPolicy, "binpack, mutex ,topology-aware"}},
       kCorrected,
       "spread",
       true,
       true},
      {"from the flags", {}, kCorrected, "topology-aware", false, true},
      {"an annotation of unknown words leaves the flags (D7)",
       {{kPolicy, "foo"}},
       kCorrected,
       "mutex",
       true,
       false},
      {"HAMi takes the annotation even then", {{kPolicy, "foo"}}, kHami, "mutex", false, false},
      {"and an empty one", {{kPolicy, ""}}, kHami, "mutex", false, false},
      {"HAMi: from the flags", {}, kHami, "mutex,topology-aware", true, true},
      {"HAMi: words are compared exactly", {{kPolicy, "Mutex"}}, kHami, "spread", false, false},
  };
  for (const FlagCase& c : cases) {
    const auto got = demand_of(c.annotations, defaults_of(c.mode, c.default_words));
    ASSERT_TRUE(got) << c.name;
    EXPECT_EQ(got->request.mutex, c.mutex) << c.name;
    EXPECT_EQ(got->request.topology, c.topology) << c.name;
    EXPECT_EQ(got->request.mode, c.mode) << c.name;
    EXPECT_FALSE(got->request.device_policies.empty()) << c.name;
  }
}

TEST(Preferences, TheTextsAreKeptAsWrittenForHamisMode) {
  const auto defaults = defaults_of(core::ScoreMode::kHami);
  const auto written = demand_of({{kPolicy, " binpack"}, {kNodeWord, "spread "}}, defaults);
  EXPECT_EQ(written->request.hami.device, " binpack");
  EXPECT_EQ(written->request.hami.node, "spread ");
  const auto plain = demand_of({}, defaults);
  EXPECT_EQ(plain->request.hami.device, "spread");
  EXPECT_EQ(plain->request.hami.node, "binpack");
}

struct ChainCase {
  std::string_view name;
  k8s::StringMap annotations;
  std::string_view before, load, after;
  std::vector<std::string> warnings = {};
};

/// The flags say label-priority,spread.
TEST(Preferences, TheNodePolicyIsAChain) {
  PolicyDefaults defaults = defaults_of(core::ScoreMode::kCorrected);
  defaults.node = policies::find_node_policy("spread");
  defaults.node_before = policies::find_node_policy("label-priority");
  const std::string served = " (served: binpack, spread, label-priority)";
  const ChainCase cases[] = {
      {"no annotation", {}, "label-priority", "spread", ""},
      {"one word replaces the whole chain", {{kNodeWord, "binpack"}}, "", "binpack", ""},
      {"label first", {{kNodeWord, "label-priority,binpack"}}, "label-priority", "binpack", ""},
      {"label last", {{kNodeWord, "binpack, label-priority"}}, "", "binpack", "label-priority"},
      {"the load is that of the flags",
       {{kNodeWord, "label-priority"}},
       "label-priority",
       "spread",
       ""},
      {"empty", {{kNodeWord, " "}}, "label-priority", "spread", ""},
      {"unknown alone",
       {{kNodeWord, "best"}},
       "label-priority",
       "spread",
       "",
       {std::string(kNodeWord) + ": \"best\" is not a policy that is served and has no effect" +
        served}},
      {"unknown beside a known one",
       {{kNodeWord, "best,binpack"}},
       "",
       "binpack",
       "",
       {std::string(kNodeWord) + ": \"best\" is not a policy that is served and has no effect" +
        served}},
      {"two of the load",
       {{kNodeWord, "binpack,spread"}},
       "",
       "binpack",
       "",
       {std::string(kNodeWord) + ": \"spread\" has no effect behind binpack"}},
  };
  const auto word = [](const core::NodePolicy* p) { return p ? p->name() : std::string_view(); };
  for (const ChainCase& c : cases) {
    const auto got = demand_of(c.annotations, defaults);
    ASSERT_TRUE(got) << c.name;
    EXPECT_EQ(word(got->request.node_policy_before), c.before) << c.name;
    EXPECT_EQ(word(got->request.node_policy), c.load) << c.name;
    EXPECT_EQ(word(got->request.node_policy_after), c.after) << c.name;
    EXPECT_EQ(got->warnings, c.warnings) << c.name;
  }
}

// ---- lists under several keys

TEST(Constraints, EveryPairOfKeysMustAccept) {
  Vendor vendor;
  vendor.id_keys = {{"a/use", "a/no"}, {"b/use", "b/no"}};
  const auto read = [&](k8s::StringMap annotations) {
    return pod_constraints(pod_of({}, std::move(annotations)), vendor, VendorId{0});
  };
  EXPECT_EQ(read({{"a/use", "1,2"}, {"b/use", "2,3"}}).use_ids, std::vector<std::string>{"2"});
  EXPECT_EQ(read({{"a/use", "1,2"}}).use_ids, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(read({{"b/use", "3"}}).use_ids, std::vector<std::string>{"3"});
  EXPECT_EQ(read({{"a/use", "1"}, {"b/use", " "}}).use_ids, std::vector<std::string>{"1"});
  EXPECT_EQ(read({{"a/no", "1"}, {"b/no", "2"}}).nouse_ids, (std::vector<std::string>{"1", "2"}));
  const auto nothing = read({{"a/use", "1"}, {"b/use", "2"}}).use_ids;
  ASSERT_EQ(nothing.size(), 1u) << "an empty list would accept every card";
  EXPECT_EQ(nothing[0], ",") << "no id of a card can be this";
}

}  // namespace
}  // namespace tessera::vendors
