#include "service/reject_groups.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/filter_text.h"

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

/// Nodes that were refused, as a call hands them on.
class Refusals {
 public:
  void add(std::string name, const core::Reject& reject) {
    const auto candidate = static_cast<std::uint32_t>(names_.size());
    names_.push_back(std::move(name));
    outcome_.rejected.push_back({candidate, reject});
    groups_.add(reject);
  }
  std::string summary() const {
    const std::vector<std::string_view> names(names_.begin(), names_.end());
    return summarize_rejects(outcome_, {.names = names, .groups = groups_});
  }

 private:
  std::deque<std::string> names_;
  core::Outcome outcome_;
  RejectGroups groups_;
};

TEST(SummarizeRejects, CountsNodesByReasonAndCapsTheNames) {
  EXPECT_EQ(Refusals().summary(), "");
  core::Reject half_ill = short_of(core::CardReason::kInsufficientMemory, 1);
  half_ill.count(core::CardReason::kNotHealthy) = 3;
  core::Reject unknown;
  unknown.node_reason = core::NodeReason::kUnregistered;
  Refusals few;
  few.add("n2", half_ill);
  few.add("n1", short_of(core::CardReason::kInsufficientMemory, 4));
  few.add("n3", unknown);
  EXPECT_EQ(few.summary(),
            "2 nodes CardInsufficientMemory(n1,n2), 1 nodes CardNotHealth(n2), 1 nodes node "
            "unregistered(n3)");
  Refusals many;
  for (int i = 0; i < 500; ++i)
    many.add("n" + std::to_string(100 + (i * 7) % 500),
             short_of(core::CardReason::kInsufficientCore, 1 + static_cast<std::uint32_t>(i % 4)));
  EXPECT_EQ(many.summary(), "500 nodes CardInsufficientCore(n100,n101,n102,n103,n104,…)");
}

}  // namespace
}  // namespace tessera::service
