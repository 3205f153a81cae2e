#include "live_pods.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text.h"

namespace tessera::bench {
namespace {

using testing::HasSubstr;

/// Two cards on each of two nodes.
constexpr const char *kA = "000000000000", *kB = "000000000001", *kOfOther = "000000000100";

sim::SyntheticCluster two_nodes() {
  sim::SyntheticOptions options{.nodes = 2};
  options.cards.front().id_prefix = "";
  options.cards.front().count = 2;
  options.cards.front().memory = 10'000;
  options.cards.front().slots = 2;
  auto cluster = sim::SyntheticCluster::make(options);
  if (!cluster) throw std::runtime_error(cluster.error().what);
  return std::move(*cluster);
}

struct Pod {
  PodAsk ask;
  std::string devices;
  std::string on = "node-00000", chosen = "node-00000";
};

/// A device text.
std::string on(const std::vector<std::string>& cards, int memory = 1000, int cores = 10) {
  std::string text;
  for (const std::string& card : cards)
    text += fmt::format("{},NVIDIA,{},{}:", card, memory, cores);
  return text + ";";
}

std::string fault_of(const std::vector<Pod>& all) {
  std::vector<LivePod> pods;
  std::vector<std::string> objects;
  std::map<std::string, std::string> nodes;
  for (const Pod& pod : all) {
    const std::string name = fmt::format("p{}", pods.size());
    pods.push_back({.name = name, .uid = {}, .object = {}, .ask = pod.ask});
    nodes[name] = pod.chosen;
    objects.push_back(fmt::format(
        R"({{"metadata":{{"name":"{}","annotations":{{"hami.io/vgpu-devices-allocated":"{}"}}}},"spec":{{"nodeName":"{}"}}}})",
        name, pod.devices, pod.on));
  }
  const std::string list = fmt::format(R"({{"items":[{}]}})", text::join(objects, ","));
  const Status status = check_placements(two_nodes(), list, pods, nodes);
  return status ? std::string() : status.error().what;
}

constexpr PodAsk kSmall{.cards = 1, .memory = 1000, .cores = 10};
constexpr PodAsk kPair{.cards = 2, .memory = 1000, .cores = 10};
constexpr PodAsk kMuchMemory{.cards = 1, .memory = 5001, .cores = 10};
constexpr PodAsk kManyCores{.cards = 1, .memory = 1000, .cores = 51};

TEST(LivePods, PlacementsThatAreRight) {
  EXPECT_EQ(fault_of({}), "");
  EXPECT_EQ(fault_of({{kSmall, on({kA})}, {kPair, on({kB, kA})}}), "");
  EXPECT_EQ(fault_of({{kSmall, on({kOfOther}), "node-00001", "node-00001"}}), "");
  const PodAsk half{.cards = 1, .memory = 5000, .cores = 50};
  EXPECT_EQ(fault_of({{half, on({kA}, 5000, 50)}, {half, on({kA}, 5000, 50)}}), "")
      << "a card may be full";
}

TEST(LivePods, PlacementsThatAreWrong) {
  struct Case {
    std::vector<Pod> pods;
    const char* what;
  };
  const Case cases[] = {
      {{{kMuchMemory, on({kA}, 5001)}, {kMuchMemory, on({kA}, 5001)}},
       "over its limits: 2 pods, 10002 MiB, 20 cores"},
      {{{kManyCores, on({kA}, 1000, 51)}, {kManyCores, on({kA}, 1000, 51)}},
       "over its limits: 2 pods, 2000 MiB, 102 cores"},
      {{{kSmall, on({kA})}, {kSmall, on({kA})}, {kSmall, on({kA})}}, "over its limits: 3 pods"},
      {{{kPair, on({kA, kA})}}, "has a card twice"},
      {{{kSmall, on({kOfOther})}}, "is no card of node-00000"},
      {{{kSmall, on({"nowhere"})}}, "is no card of node-00000"},
      {{{kSmall, on({kA}, 999)}}, "\"999\" is not its memory"},
      {{{kSmall, on({kA}, 1000, 11)}}, "\"11\" is not its cores"},
      {{{kPair, on({kA})}}, "is not 2 cards"},
      {{{kSmall, on({kA, kB})}}, "is not 1 cards"},
      {{{kSmall, ""}}, "is not 1 cards"},
      {{{kSmall, std::string(kA) + ",NVIDIA,1000:;"}}, "is not ID,WORD,MEMORY,CORES"},
      {{{kSmall, std::string(kA) + ",NVIDIA,much,10:;"}}, "\"much\" is not its memory"},
      {{{kSmall, on({kOfOther}), "node-00001", "node-00000"}},
       "pod p0 is on \"node-00001\", the filter named node-00000"},
      {{{kSmall, on({kA}), "", "node-00000"}}, "pod p0 is on \"\""},
      {{{kSmall, on({kA}), "", ""}}, "pod p0 is on \"\""},
      {{{kSmall, on({kA})}, {kPair, on({kB})}}, "pod p1: "},
  };
  for (const Case& c : cases) EXPECT_THAT(fault_of(c.pods), HasSubstr(c.what));
}

TEST(LivePods, EveryPodMustBeThere) {
  const auto cluster = two_nodes();
  const std::vector<LivePod> pods{{.name = "p0", .uid = {}, .object = {}, .ask = kSmall}};
  const auto fault = [&](std::string_view list, const std::map<std::string, std::string>& nodes) {
    const Status status = check_placements(cluster, list, pods, nodes);
    return status ? std::string() : status.error().what;
  };
  const std::string there = fmt::format(
      R"({{"items":[{{"metadata":{{"name":"p0","annotations":{{"hami.io/vgpu-devices-allocated":"{}"}}}},"spec":{{"nodeName":"node-00000"}}}}]}})",
      on({kA}));
  EXPECT_EQ(fault(there, {{"p0", "node-00000"}}), "");
  EXPECT_EQ(fault(there, {}), "pod p0 is not bound") << "the filter named nothing";
  EXPECT_EQ(fault(R"({"items":[]})", {{"p0", "node-00000"}}), "pod p0 is not bound");
  EXPECT_EQ(fault("{}", {{"p0", "node-00000"}}), "pod p0 is not bound");
  EXPECT_NE(fault("no list", {{"p0", "node-00000"}}), "");
}

}  // namespace
}  // namespace tessera::bench
