#include "sim/scenario.h"

#include <gtest/gtest.h>

#include "sim/scenario_objects.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kGood = R"(
name: second pod packs onto the used card   # all of it is the name
case 61 63
node n1  NVIDIA-A100-80G x2 mem=81920 numa=0,1   # two cards
node n2  unregistered
card n1 card1 cores=50 unhealthy
cordon n1 card0
run  a   { app ; app gpu=1 mem%=50 cores=10 } -> n1 - ; card0
policy   node=spread device=binpack
pod  b   gpu=1 mem=10240 @k="a, b" node-policy=binpack
expect b on n1 card0 card1 text=x;
pod  c   gpu=1
expect c nowhere
because n1: 1/2 CardNotHealth, 1/2 CardCordoned
delete a
)";

Scenario parsed(std::string_view text) {
  Result<Scenario> scenario = parse_scenario(text, "f");
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().what);
  return scenario ? std::move(*scenario) : Scenario{};
}

TEST(ParseScenario, ReadsEveryKindOfLine) {
  const Scenario s = parsed(kGood);
  EXPECT_EQ(s.cases, (std::vector<int>{61, 63}));
  ASSERT_EQ(s.nodes.size(), 2U);
  ASSERT_EQ(s.nodes[0].devices.size(), 2U);
  const core::Device& second = s.nodes[0].devices[1];
  EXPECT_EQ(second.id, "n1-card1");
  EXPECT_EQ(second.memory.v, 81920);
  EXPECT_EQ(second.numa, 1);
  EXPECT_EQ(second.cores.v, 50);
  EXPECT_FALSE(second.healthy);
  EXPECT_TRUE(s.nodes[0].devices[0].healthy);
  EXPECT_EQ(s.nodes[0].cordoned, (std::vector<std::string>{"n1-card0"}));
  EXPECT_FALSE(s.nodes[1].registered);
  EXPECT_EQ(s.node_policy, "spread");
  ASSERT_EQ(s.running.size(), 1U);
  EXPECT_EQ(device_text(s, s.running[0]), ";n1-card0,NVIDIA,40960,10:;");
  ASSERT_EQ(s.steps.size(), 5U);
  using Annotations = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(s.steps[0].pod.annotations,
            (Annotations{{"k", "a, b"}, {"hami.io/node-scheduler-policy", "binpack"}}));
  EXPECT_EQ(s.steps[1].cards, (std::vector<std::string>{"n1-card0", "n1-card1"}));
  EXPECT_EQ(s.steps[1].device_text, "x;");
  EXPECT_EQ(s.steps[3].reasons, (Annotations{{"n1", "1/2 CardNotHealth, 1/2 CardCordoned"}}));
  EXPECT_EQ(s.steps[4].kind, ScenarioStep::Kind::kDelete);
}

struct Fault {
  std::string_view text, error;
};
class ParseScenarioFault : public testing::TestWithParam<Fault> {};
TEST_P(ParseScenarioFault, NamesFileLineAndWord) {
  const Result<Scenario> scenario = parse_scenario(GetParam().text, "f");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().what, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ParseScenarioFault,
    testing::ValuesIn(std::vector<Fault>{
        {"nodes n1 A x1",
         R"(f:1: a line begins with name:, case, selector, score-mode, node, also, card, cordon, uncordon, links, change, lost, back, quota, no-quota, run, policy, pod, expect, because, init-done, finish, delete or restart, not "nodes")"},
        {"\nnode n1 A 2",
         R"(f:2: the number of cards is written xN with N from 1 to 1024, got "2")"},
        {"node n1 A x0",
         R"(f:1: the number of cards is written xN with N from 1 to 1024, got "x0")"},
        {"node n1 A x1 mem=much", R"(f:1: mem wants a whole number of at least 0, got "much")"},
        {"node n1 A x1 cores=-5", R"(f:1: cores wants a whole number of at least 0, got "-5")"},
        {"node n1 A x1 sound", R"(f:1: do not understand "sound")"},
        {"node n1", R"(f:1: node wants a model and xN, or unregistered: "n1")"},
        {"node n1 A x1\nnode n1 A x1", R"(f:2: node named twice: "n1")"},
        {"node n1 A x1\ncard n1 card3 mem=1",
         R"(f:2: neither a card of n1 nor a property: "card3")"},
        {"node n1 A x1\ncard n1 card0 mem=1 colour=red",
         R"(f:2: neither a card of n1 nor a property: "colour=red")"},
        {"node n1 A x1\ncard n1 card0", "f:2: card wants node, cards and properties"},
        {"node n1 A x1\ncordon n2 card0", R"(f:2: no node line for "n2")"},
        {"node n1 A x1\nrun a gpu=1", R"(f:2: run wants -> NODE CARD after pod "a")"},
        {"node n1 A x1\nrun a gpu=1 -> n1 card7", R"(f:2: not a card of n1: "card7")"},
        {"node n1 A x1\nrun a { app ; app gpu=1 } -> n1 card0",
         R"(f:2: 2 containers but cards for 1 of pod "a")"},
        {"node n1 A x1\npolicy node=best",
         R"(f:2: node policy: "best" is none of: binpack, spread, label-priority)"},
        {"node n1 A x1\npolicy order=best",
         R"(f:2: policy wants node= or device=, got "order=best")"},
        {"node n1 A x1\npod a gpus=1",
         R"(f:2: not a resource of a container (gpu, mem, mem%, cores, cpu, memory, domain/name): "gpus=1")"},
        {"node n1 A x1\npod a { app gpu=1", R"(f:2: closing } missing in pod "a")"},
        {"node n1 A x1\npod a { app gpu=1 ; init }",
         R"(f:2: init and sidecar containers come before app containers in pod "a")"},
        {"node n1 A x1\npod a @k=\"x", R"(f:2: closing quote missing after "@k=x")"},
        {"node n1 A x1\npod a gpu=1\npod b gpu=1",
         R"(f:3: an expect line must follow the pod line, found "pod")"},
        {"node n1 A x1\npod a gpu=1\nexpect b nowhere",
         R"(f:3: expect must follow the line of its pod: "b")"},
        {"node n1 A x1\npod a gpu=1\nexpect a at n1",
         R"(f:3: expect wants on NODE or nowhere, got "at")"},
        {"node n1 A x1\npod a gpu=1\nexpect a on n1\nbecause n1: x",
         "f:4: because must follow expect … nowhere"},
        {"node n1 A x1\npod a gpu=1\nexpect a nowhere\nbecause n1 x",
         R"(f:4: because wants NODE: and a reason, got "n1")"},
        {"node n1 A x1\npod a gpu=1\nexpect a on n1\npod a gpu=1", R"(f:4: pod named twice: "a")"},
        {"node n1 A x1\npod a gpu=1\nexpect a on n1\ndelete z",
         R"(f:4: no run or pod line for "z")"},
        {"node n1 A x1\npod a gpu=1", R"(f:2: an expect line must follow pod "a")"},
        {"node n1 A x1\ncase one", R"(f:2: case wants a number, got "one")"},
        {"node n1 A x1", "f:1: no pod line"},
        {"", "f:1: no node line"},
    }));

TEST(RunInCore, TellsWhatDiffersAndWhere) {
  const std::string_view text =
      "node n1 NVIDIA-A x2 mem=1000\npod a gpu=1 mem=100\nexpect a on n1 card1\n";
  EXPECT_EQ(run_in_core(parsed(text)), "f:3: pod a placed on n1 n1-card0, wanted n1 n1-card1");
  const std::string_view nowhere =
      "node n1 NVIDIA-A x2 mem=1000\npod a gpu=1 mem=2000\nexpect a on n1\n";
  EXPECT_EQ(run_in_core(parsed(nowhere)),
            "f:3: pod a placed nowhere (n1: 2/2 CardInsufficientMemory), wanted n1");
  const std::string_view reason =
      "node n1 NVIDIA-A x2 mem=1000\npod a gpu=1 mem=2000\nexpect a nowhere\nbecause n1: node "
      "unregistered\n";
  EXPECT_EQ(
      run_in_core(parsed(reason)),
      R"(f:3: pod a reason for n1 is "2/2 CardInsufficientMemory", wanted "node unregistered")");
}

}  // namespace
}  // namespace tessera::sim
