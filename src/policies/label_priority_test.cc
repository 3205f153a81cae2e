#include "policies/label_priority.h"

#include <gtest/gtest.h>

#include <string>

#include "policies/registry.h"

namespace tessera::policies {
namespace {

TEST(LabelPriority, WholeNumbersOfEveryLength) {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"0", 0},
      {"10", 10},
      {"010", 10},
      {"+7", 7},
      {"-5", -5},
      {"-0", 0},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"000000000000000000000000000000000000000000000000000000000000001", 1},
  };
  for (const auto& [text, want] : cases) {
    const auto got = read_label_priority(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(*got, want) << text;
  }
}

TEST(LabelPriority, AnythingElseIsToldWithItsValue) {
  for (const char* text :
       {"", "high", "1.5", "0x10", "1_000", " 1", "1 ", "+", "-", "--1", "1e3",
        "9223372036854775808", "-9223372036854775809", "99999999999999999999", "\xd9\xa1"}) {
    const auto got = read_label_priority(text);
    ASSERT_FALSE(got) << text;
    EXPECT_NE(got.error().what.find("is not a whole number of 64 bits; it counts as 0"),
              std::string::npos)
        << got.error().what;
  }
  EXPECT_EQ(read_label_priority("high").error().what,
            "\"high\" is not a whole number of 64 bits; it counts as 0");
}

TEST(LabelPriority, ThePolicyLooksAtNothingElse) {
  const core::NodePolicy* policy = find_node_policy("label-priority");
  ASSERT_NE(policy, nullptr);
  const std::vector<core::NodeView::Vendor> empty = {{0, 2}}, full = {{2'000'000, 2}};
  EXPECT_EQ(policy->key({empty, 20}), 20);
  EXPECT_EQ(policy->key({full, 20}), 20);
  EXPECT_EQ(policy->key({full, INT64_MIN}), INT64_MIN);
  EXPECT_EQ(policy->key({full}), 0);
}

TEST(LabelKey, AsKubernetesTakesIt) {
  for (const char* key : {"priority.lixueduan.com", "a", "example.com/rank", "A_b.c-d", "x/1"}) {
    EXPECT_TRUE(check_label_key(key)) << key;
  }
  const std::string longest(63, 'a');
  EXPECT_TRUE(check_label_key(longest));
  for (const std::string& key :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a/b/c"),
        std::string("-a"), std::string("a."), std::string("a b"), std::string("a=b"),
        std::string("p_q/a"), longest + "a"}) {
    EXPECT_FALSE(check_label_key(key)) << key;
  }
  EXPECT_EQ(check_label_key("a b").error().what, "\"a b\" is not the key of a label");
}

}  // namespace
}  // namespace tessera::policies
