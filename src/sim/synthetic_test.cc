#include "sim/synthetic.h"

#include <gmock/gmock.h>

#include "json/reader.h"
#include "sim/scenario_cards.h"
#include "sim/synthetic_size.h"
#include "vendors/codec.h"

namespace tessera::sim {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

SyntheticCluster made(SyntheticOptions options) {
  auto cluster = SyntheticCluster::make(std::move(options));
  if (!cluster) ADD_FAILURE() << cluster.error().what;
  return std::move(*cluster);
}

std::string text_at(const std::string& object, std::initializer_list<const char*> path) {
  json::Parser parser;
  const auto read = parser.parse(std::string_view(object));
  if (!read) return "not JSON: " + object;
  json::Value value = *read;
  for (const char* key : path) value = value[key];
  return std::string(value.string_or("not there"));
}

TEST(Synthetic, NodesAreNamedAndHaveTheirCards) {
  const auto cluster = made({.nodes = 3, .node_prefix = "n", .first_node = 1, .node_digits = 2});
  EXPECT_EQ(cluster.node_name(0), "n01");
  const auto cards = cluster.cards_of(2);
  ASSERT_EQ(cards.size(), 8u);
  EXPECT_EQ(cards[3].numa, 0);
  EXPECT_EQ(cards[4].numa, 1);
  EXPECT_EQ(cards[7].id, "GPU-5a1c7e90-0000-4000-8000-000000000207");
  EXPECT_EQ(cluster.agent_node(2).devices, cards);
  const auto registered = vendors::decode_register(
      text_at(cluster.node_json(2), {"metadata", "annotations", "hami.io/node-nvidia-register"}),
      {0});
  ASSERT_TRUE(registered) << registered.error().what;
  EXPECT_EQ(*registered, cards) << "what a scheduler reads is what was made";
}

TEST(Synthetic, PodsHoldWhatTheBooksSay) {
  const auto cluster = made({.nodes = 7,
                             .device_pods = 40,
                             .shares = {{.cards = 1, .memory = 4000, .cores = 10, .weight = 3},
                                        {.cards = 2, .memory = 9000, .cores = 40}},
                             .seed = 11});
  std::vector<std::vector<core::Usage>> sums(7, std::vector<core::Usage>(8));
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::string text = text_at(cluster.device_pod_json(i),
                                     {"metadata", "annotations", "hami.io/vgpu-devices-allocated"});
    const auto held = vendors::decode_pod_devices(text);
    ASSERT_TRUE(held) << text;
    const auto node = cluster.holdings()[static_cast<std::size_t>(i)].node;
    const auto cards = cluster.cards_of(node);
    for (const auto& device : held->front()) {
      for (std::size_t c = 0; c < cards.size(); ++c)
        if (cards[c].id == device.id)
          sums[static_cast<std::size_t>(node)][c] +=
              core::Usage{.slots = 1, .memory = {device.memory}, .cores = {device.cores}};
    }
  }
  for (std::int64_t n = 0; n < 7; ++n)
    EXPECT_EQ(sums[static_cast<std::size_t>(n)], cluster.used_of(n)) << n;
}

TEST(Synthetic, TheSameOptionsGiveTheSameCluster) {
  SyntheticOptions options{.nodes = 5,
                           .device_pods = 30,
                           .shares = {{.memory = 1000}, {.memory = 2000, .weight = 2}},
                           .seed = 3};
  const auto all_pods = [](const SyntheticCluster& cluster) {
    std::string text;
    for (std::int64_t i = 0; i < 30; ++i) text += cluster.device_pod_json(i);
    return text;
  };
  const std::string first = all_pods(made(options));
  EXPECT_EQ(first, all_pods(made(options)));
  options.seed = 4;
  EXPECT_NE(first, all_pods(made(options)));
}

TEST(Synthetic, NoCardIsOverItsLimits) {
  // Half of each card's compute: two pods fill a card, 16 a node.
  const SyntheticShare half{.cards = 1, .memory = 1000, .cores = 50};
  const auto full = made({.nodes = 2, .device_pods = 32, .shares = {half}});
  EXPECT_FALSE(full.has_room(0, half));
  for (const core::Usage& used : full.used_of(1)) EXPECT_EQ(used.cores.v, 100);
  EXPECT_THAT(
      SyntheticCluster::make({.nodes = 2, .device_pods = 33, .shares = {half}}).error().what,
      HasSubstr("full after 32"));
  const auto fifteen = made({.nodes = 1, .device_pods = 15, .shares = {half}});
  EXPECT_TRUE(fifteen.has_room(0, half));
  EXPECT_FALSE(fifteen.has_room(0, {.cards = 2, .memory = 1000, .cores = 50}));
  EXPECT_FALSE(fifteen.has_room(1, half)) << "there is no such node";
}

TEST(Synthetic, AWholeCardIsTakenAlone) {
  const auto cluster = made({.nodes = 1, .device_pods = 8});
  EXPECT_TRUE(cluster.has_room(0, {.cards = 8, .memory = 2000, .cores = 90}));
  EXPECT_FALSE(cluster.has_room(0, {.cards = 1, .memory = 0, .cores = 100}));
}

TEST(Synthetic, KindsOfCards) {
  SyntheticOptions options{.nodes = 4};
  options.cards.push_back({.vendor = xpu_agent(),
                           .model = "XPU",
                           .id_prefix = "xpu-",
                           .count = 4,
                           .memory = 98'304,
                           .slots = 4});
  options.cards.push_back({.id_prefix = "mig-", .profiles = known_profiles("A100-80GB")});
  const auto in_turns = made(options);
  EXPECT_EQ(in_turns.cards_of(0).size(), 8u);
  EXPECT_EQ(in_turns.cards_of(1).front().vendor.v, 1);
  EXPECT_TRUE(in_turns.cards_of(2).front().partitioned());
  EXPECT_THAT(
      text_at(in_turns.node_json(1), {"metadata", "annotations", "hami.io/node-register-xpu"}),
      HasSubstr("xpu-000000000100"));
  options.all_kinds_on_each = true;
  EXPECT_EQ(made(options).cards_of(3).size(), 8u + 4 + 8);
}

TEST(Synthetic, RealSizes) {
  // As they are in a real cluster, with what the API server adds.
  const auto node_size = AllOf(Ge(14'100u), Le(14'500u)), pod_size = AllOf(Ge(2'100u), Le(2'400u));
  const auto cluster =
      made({.nodes = 5000, .device_pods = 20'000, .plain_pods = 130'000, .real_size = true});
  for (const std::int64_t n : {0, 42, 4999}) EXPECT_THAT(cluster.node_json(n).size(), node_size);
  for (const std::int64_t i : {0, 142, 19'999}) {
    EXPECT_THAT(cluster.device_pod_json(i).size(), pod_size);
    EXPECT_THAT(cluster.plain_pod_json(i * 6, 4).size(), pod_size);
  }
  const auto asking = cluster.asking_pod("sample", {});
  EXPECT_THAT(cluster.asking_pod_json(asking).size(), pod_size);
  EXPECT_EQ(text_at(cluster.asking_pod_json(asking), {"status", "phase"}), "Pending");
  EXPECT_EQ(text_at(cluster.node_json(42), {"metadata", "name"}), "node-00042");
  EXPECT_EQ(text_at(cluster.node_json(42), {"metadata", "labels", "kubernetes.io/hostname"}),
            "node-00042");
  EXPECT_EQ(text_at(cluster.plain_pod_json(9), {"spec", "nodeName"}), "node-00009");
  EXPECT_EQ(text_at(cluster.plain_pod_json(9), {"status", "phase"}), "Running");
}

TEST(Synthetic, RealObjectsDiffer) {
  const auto cluster = made({.nodes = 10, .device_pods = 20, .plain_pods = 20, .real_size = true});
  const auto images = [&](std::int64_t n) {
    const std::string node = cluster.node_json(n);
    return node.substr(node.find("images"));
  };
  EXPECT_NE(images(1), images(2));
  const auto environment = [&](std::int64_t i) {
    const std::string pod = cluster.plain_pod_json(i);
    return pod.substr(pod.find("SERVICE_SETTING"), 80);
  };
  EXPECT_NE(environment(1), environment(2));
  EXPECT_THAT(cluster.plain_pod_json(3), testing::Not(HasSubstr("hami")));
}

TEST(Synthetic, SuccessorsHoldTheSameUnderAnotherName) {
  const auto cluster =
      made({.nodes = 3, .device_pods = 4, .plain_pods = 5, .real_size = true, .namespaces = 2});
  EXPECT_EQ(cluster.device_pod_name(3, 2), "running-000011");
  EXPECT_EQ(cluster.plain_pod_name(3, 2), "plain-000013");
  const std::string before = cluster.device_pod_json(3), after = cluster.device_pod_json(3, 2);
  EXPECT_EQ(text_at(after, {"metadata", "name"}), "running-000011");
  EXPECT_NE(text_at(after, {"metadata", "uid"}), text_at(before, {"metadata", "uid"}));
  const auto held = {"metadata", "annotations", "hami.io/vgpu-devices-allocated"};
  EXPECT_THAT(text_at(before, held), HasSubstr("NVIDIA,2000,10"));
  EXPECT_EQ(text_at(after, held), text_at(before, held));
  EXPECT_EQ(text_at(after, {"spec", "nodeName"}), text_at(before, {"spec", "nodeName"}));
}

TEST(Synthetic, Namespaces) {
  const auto all_in_one = made({.nodes = 1, .device_pods = 3});
  EXPECT_EQ(all_in_one.pods_path(2), "/api/v1/namespaces/default/pods");
  const auto spread = made({.nodes = 1, .device_pods = 3, .plain_pods = 3, .namespaces = 2});
  EXPECT_EQ(spread.pods_path(1), "/api/v1/namespaces/team-01/pods");
  EXPECT_EQ(spread.pods_path(2), "/api/v1/namespaces/team-00/pods");
  EXPECT_EQ(text_at(spread.device_pod_json(1), {"metadata", "namespace"}), "team-01");
  EXPECT_EQ(text_at(spread.plain_pod_json(2), {"metadata", "namespace"}), "team-00");
}

TEST(Synthetic, AHeartbeatIsTheStatusOfANodeOfRealSize) {
  const std::string node = made({.nodes = 1, .real_size = true}).node_json(0);
  const std::string beat = heartbeat_status(0);
  const auto list = beat.find("\"conditions\"");
  EXPECT_THAT(node, HasSubstr(beat.substr(list, beat.size() - list - 2)));
  EXPECT_NE(heartbeat_status(1), beat);
}

TEST(Synthetic, LinksAreStrongerWithinANumaNode) {
  SyntheticOptions options{.nodes = 1};
  options.cards.front().count = 4;
  options.cards.front().linked = true;
  const auto node = made(options).node(0);
  ASSERT_EQ(node.links.size(), 12u);
  EXPECT_GT(node.links[0].score, node.links[2].score) << "0 to 1 is nearer than 0 to 3";
}

TEST(Synthetic, ErrorsNameTheOption) {
  EXPECT_THAT(SyntheticCluster::make({.nodes = 0}).error().what, HasSubstr("nodes 0"));
  EXPECT_THAT(SyntheticCluster::make({.namespaces = -1}).error().what, HasSubstr("namespaces -1"));
  EXPECT_THAT(SyntheticCluster::make({.device_pods = -1}).error().what,
              HasSubstr("device pods -1"));
  EXPECT_THAT(SyntheticCluster::make({.device_pods = 1, .shares = {{.weight = 0}}}).error().what,
              HasSubstr("weight of all shares 0"));
  SyntheticOptions instances{.device_pods = 1};
  instances.cards.front().profiles = known_profiles("A30");
  EXPECT_THAT(SyntheticCluster::make(instances).error().what, HasSubstr("instances"));
}

}  // namespace
}  // namespace tessera::sim
