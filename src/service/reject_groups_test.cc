#include "service/reject_groups.h"

#include <gtest/gtest.h>

namespace tessera::service {
namespace {

core::Reject short_of(core::CardReason reason, std::uint32_t cards) {
  core::Reject reject;
  reject.devices = 4;
  reject.count(reason) = cards;
  return reject;
}

TEST(RejectGroups, EqualRefusalsStandOnceAndKeepTheirPlace) {
  const core::Reject memory = short_of(core::CardReason::kInsufficientMemory, 4);
  const core::Reject health = short_of(core::CardReason::kNotHealthy, 4);
  RejectGroups groups;
  const RejectGroups::Group& first = groups.add(memory);
  const std::string_view text = first.text;
  for (std::uint32_t cards = 0; cards < 4; ++cards)
    groups.add(short_of(core::CardReason::kInsufficientCore, cards));
  groups.add(health);
  groups.add(memory);
  groups.add(memory);
  EXPECT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups.numbers(), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 0, 0}));
  EXPECT_EQ(text, "4/4 CardInsufficientMemory") << "still the same place";
  EXPECT_EQ(first.nodes, 3U);
  EXPECT_FALSE(first.unresolvable);
  EXPECT_TRUE(groups.at(5).unresolvable);
}

TEST(RejectGroups, NothingIsLeftOfTheCallBefore) {
  RejectGroups groups;
  groups.add(short_of(core::CardReason::kInsufficientMemory, 4));
  groups.clear();
  EXPECT_EQ(groups.size(), 0U);
  EXPECT_TRUE(groups.numbers().empty());
  const RejectGroups::Group& group = groups.add(short_of(core::CardReason::kInsufficientCore, 1));
  EXPECT_EQ(group.text, "1/4 CardInsufficientCore");
  EXPECT_EQ(group.nodes, 1U);
}

}  // namespace
}  // namespace tessera::service
