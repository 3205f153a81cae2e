#include "policies/registry.h"

#include <gtest/gtest.h>

namespace tessera::policies {
namespace {

core::Device device() {
  core::Device d;
  d.slots = 10;
  d.memory = {1000};
  d.cores = {100};
  return d;
}

TEST(Registry, KnowsItsPoliciesByName) {
  EXPECT_EQ(node_policy_names(), (std::vector<std::string>{"binpack", "spread", "label-priority"}));
  EXPECT_EQ(device_policy_names(),
            (std::vector<std::string>{"binpack", "spread", "mutex", "numa", "topology-aware"}));
  for (const std::string& name : node_policy_names()) {
    ASSERT_NE(find_node_policy(name), nullptr);
    EXPECT_EQ(find_node_policy(name)->name(), name);
  }
  for (const std::string& name : device_policy_names()) {
    ASSERT_NE(find_device_policy(name), nullptr);
    EXPECT_EQ(find_device_policy(name)->name(), name);
  }
}

TEST(Registry, NamesAreExact) {
  for (const char* word : {"", "Binpack", " binpack", "spread ", "topology"}) {
    EXPECT_EQ(find_node_policy(word), nullptr) << word;
    EXPECT_EQ(find_device_policy(word), nullptr) << word;
  }
}

TEST(DevicePolicies, BinpackPrefersTheFullerCardSpreadTheEmptier) {
  const core::Device d = device();
  const core::Usage before, little{1, {100}, {10}}, much{5, {500}, {50}};
  const auto* binpack = find_device_policy("binpack");
  const auto* spread = find_device_policy("spread");
  EXPECT_EQ(binpack->key({d, before, little}), 100'000);
  EXPECT_GT(binpack->key({d, before, much}), binpack->key({d, before, little}));
  EXPECT_LT(spread->key({d, before, much}), spread->key({d, before, little}));
}

TEST(DevicePolicies, WeightsCountInLoad) {
  const core::Device d = device();
  const core::Usage before, slots{8, {100}, {0}}, memory{1, {700}, {0}};
  const core::ScoreWeights by_memory{0, 0, 5};
  const auto* binpack = find_device_policy("binpack");
  const auto* spread = find_device_policy("spread");
  EXPECT_GT(binpack->key({d, before, slots}), binpack->key({d, before, memory}));
  EXPECT_LT(binpack->key({d, before, slots, by_memory}),
            binpack->key({d, before, memory, by_memory}));
  EXPECT_GT(spread->key({d, before, slots, by_memory}),
            spread->key({d, before, memory, by_memory}));
}

TEST(DevicePolicies, MutexPrefersFewSharersNumaTheHighestNode) {
  core::Device near = device(), far = device();
  far.numa = 1;
  const core::Usage none, one{1, {10}, {1}}, two{2, {10}, {1}};
  const auto* mutex = find_device_policy("mutex");
  EXPECT_GT(mutex->key({near, none, two}), mutex->key({near, one, two}));
  EXPECT_GT(mutex->key({near, one, two}), mutex->key({near, two, two}));
  const auto* numa = find_device_policy("numa");
  EXPECT_GT(numa->key({far, none, two}), numa->key({near, none, one}));
  const auto* topology = find_device_policy("topology-aware");
  EXPECT_EQ(topology->key({far, none, two}), topology->key({near, none, one}));
}

TEST(NodePolicies, BinpackPrefersTheFullerNodeSpreadTheEmptier) {
  const std::vector<core::NodeView::Vendor> little = {{200'000, 2}}, much = {{900'000, 2}};
  const auto* binpack = find_node_policy("binpack");
  const auto* spread = find_node_policy("spread");
  EXPECT_EQ(binpack->key({much}), 450'000);
  EXPECT_GT(binpack->key({much}), binpack->key({little}));
  EXPECT_LT(spread->key({much}), spread->key({little}));
}

std::string chain_text(std::string_view text) {
  const auto chain = parse_device_chain(text);
  if (!chain) return chain.error().what;
  std::string names;
  for (const core::DevicePolicy* policy : *chain) names += std::string(policy->name()) + ";";
  return names;
}

TEST(DeviceChain, Table) {
  EXPECT_EQ(chain_text("spread"), "spread;");
  EXPECT_EQ(chain_text(" binpack , spread"), "binpack;spread;") << "blanks are trimmed";
  EXPECT_EQ(chain_text("spread,binpack,spread"), "spread;binpack;") << "the first one is kept";
  EXPECT_EQ(
      chain_text("spread,fastest"),
      "unknown device policy \"fastest\": valid are binpack, spread, mutex, numa, topology-aware");
  EXPECT_EQ(chain_text(""),
            "unknown device policy \"\": valid are binpack, spread, mutex, numa, topology-aware");
  EXPECT_EQ(chain_text("numa , binpack"), "numa;binpack;");
  EXPECT_EQ(chain_text("mutex"), "mutex;spread;") << "equally shared cards: the emptier one";
  EXPECT_EQ(chain_text("mutex,binpack"), "mutex;binpack;");
  EXPECT_EQ(chain_text("topology-aware"), "topology-aware;spread;") << "no key of its own";
  EXPECT_EQ(chain_text("binpack, topology-aware"), "binpack;topology-aware;");
  EXPECT_EQ(chain_text("topology-aware,mutex"), "topology-aware;mutex;spread;");
  EXPECT_EQ(parse_device_chain("x").error().code, Code::kInvalid);
}

std::string node_chain_text(const NodeChain& chain) {
  const auto word = [](const core::NodePolicy* p) { return p ? std::string(p->name()) : "-"; };
  return word(chain.before) + "|" + word(chain.load) + "|" + word(chain.after);
}

struct NodeChainCase {
  std::string_view text, chain;
  std::vector<std::string> unknown = {}, idle = {};
};

TEST(NodeChain, Table) {
  const NodeChainCase cases[] = {
      {"binpack", "-|binpack|-"},
      {" spread ", "-|spread|-"},
      {"label-priority", "label-priority|-|-"},
      {"label-priority,binpack", "label-priority|binpack|-"},
      {"spread , label-priority", "-|spread|label-priority"},
      {"label-priority,spread,label-priority", "label-priority|spread|-"},
      {"spread,label-priority,spread", "-|spread|label-priority"},
      {"", "-|-|-"},
      {" ,, ", "-|-|-"},
      {"fastest", "-|-|-", {"fastest"}},
      {"fastest,label-priority", "label-priority|-|-", {"fastest"}},
      {"Label-Priority,binpack", "-|binpack|-", {"Label-Priority"}},
      {"binpack,spread,label-priority", "-|binpack|label-priority", {}, {"spread"}},
  };
  for (const NodeChainCase& c : cases) {
    const NodeChainReading got = read_node_chain(c.text);
    EXPECT_EQ(node_chain_text(got.chain), c.chain) << c.text;
    EXPECT_EQ(got.unknown, c.unknown) << c.text;
    EXPECT_EQ(got.idle, c.idle) << c.text;
  }
}

TEST(NodeChain, WhereNothingMayBeWrong) {
  const std::pair<std::string_view, std::string_view> good[] = {
      {"spread", "-|spread|-"},
      {"label-priority", "label-priority|binpack|-"},
      {"spread,label-priority", "-|spread|label-priority"},
  };
  for (const auto& [text, want] : good) {
    const auto got = parse_node_chain(text);
    ASSERT_TRUE(got) << got.error().what;
    EXPECT_EQ(node_chain_text(*got), want);
  }
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"", "\"\" is none of: binpack, spread, label-priority"},
      {"label-priority,best", "\"best\" is none of: binpack, spread, label-priority"},
      {"spread,binpack", "spread and binpack in one chain: only one can go by the load"},
  };
  for (const auto& [text, want] : bad) {
    const auto got = parse_node_chain(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().what, want);
  }
}

}  // namespace
}  // namespace tessera::policies
