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
  EXPECT_EQ(node_policy_names(), (std::vector<std::string>{"binpack", "spread"}));
  EXPECT_EQ(device_policy_names(), (std::vector<std::string>{"binpack", "spread"}));
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
  EXPECT_EQ(chain_text("spread,fastest"),
            "unknown device policy \"fastest\": valid are binpack, spread");
  EXPECT_EQ(chain_text(""), "unknown device policy \"\": valid are binpack, spread");
  EXPECT_EQ(parse_device_chain("x").error().code, Code::kInvalid);
}

}  // namespace
}  // namespace tessera::policies
