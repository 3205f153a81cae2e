#include "vendors/pair_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::vendors {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

core::NodeSpec node_of(std::vector<std::pair<std::string, std::uint16_t>> cards) {
  core::NodeSpec spec;
  for (auto& [id, vendor] : cards) {
    core::Device d;
    d.id = std::move(id);
    d.vendor = {vendor};
    spec.devices.push_back(std::move(d));
  }
  return spec;
}

TEST(PairScores, AreRowsTowardsOtherCards) {
  const auto got = decode_pair_scores(
      R"([{"uuid":"a","score":{"b":450,"c":-3,"zz":9}},{"uuid":"b","score":{"a":150}},{"uuid":"a","score":{"b":1}},{"uuid":"c"}])");
  ASSERT_TRUE(got) << got.error().what;
  core::NodeSpec spec = node_of({{"a", 0}, {"b", 0}, {"c", 0}});
  set_links(*got, VendorId{0}, spec);
  EXPECT_THAT(spec.links, ElementsAre(0, 450, -3, 150, 0, 0, 0, 0, 0));
}

TEST(PairScores, NoneAreValid) {
  for (const std::string_view text : {"null", "[]"}) {
    const auto got = decode_pair_scores(text);
    ASSERT_TRUE(got) << text;
    core::NodeSpec spec = node_of({{"a", 0}});
    set_links(*got, VendorId{0}, spec);
    EXPECT_THAT(spec.links, IsEmpty());
  }
}

TEST(PairScores, OfOneVendorLeaveTheOthersAlone) {
  core::NodeSpec spec = node_of({{"a", 0}, {"x", 1}, {"b", 0}});
  set_links(
      *decode_pair_scores(R"([{"uuid":"a","score":{"b":7,"x":5}},{"uuid":"x","score":{"a":4}}])"),
      VendorId{0}, spec);
  EXPECT_THAT(spec.links, ElementsAre(0, 0, 7, 0, 0, 0, 0, 0, 0));
  drop_devices(spec, VendorId{1});
  ASSERT_EQ(spec.devices.size(), 2u);
  EXPECT_THAT(spec.links, ElementsAre(0, 7, 0, 0));
  drop_devices(spec, VendorId{0});
  EXPECT_THAT(spec.links, IsEmpty());
}

TEST(PairScores, BeyondTheirRangeAreCut) {
  core::NodeSpec spec = node_of({{"a", 0}, {"b", 0}});
  set_links(
      *decode_pair_scores(
          R"([{"uuid":"a","score":{"b":9000000000}},{"uuid":"b","score":{"a":-9000000000}}])"),
      VendorId{0}, spec);
  EXPECT_EQ(spec.links[1], INT32_MAX);
  EXPECT_EQ(spec.links[2], INT32_MIN);
}

TEST(PairScores, WhatIsWrongIsNamed) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{}", "{} is not a list"},
      {"[null]", "[0]: null is not an object"},
      {R"([{"uuid":7}])", "[0].uuid: 7 is not a text"},
      {R"([{"uuid":"a","score":[]}])", "[0].score: [] is not an object"},
      {R"([{"uuid":"a"},{"uuid":"b","score":{"a":"x"}}])",
       R"([1].score["a"]: "x" is not an integer)"},
      {R"([{"uuid":"b","score":{"a":1.5}}])", R"([0].score["a"]: 1.5 is not an integer)"},
  };
  for (const auto& [text, want] : cases) {
    const auto got = decode_pair_scores(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().what, want) << text;
  }
  EXPECT_FALSE(decode_pair_scores(""));
}

}  // namespace
}  // namespace tessera::vendors
