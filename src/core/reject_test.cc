#include "core/reject.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tessera::core {
namespace {

using Counts = std::vector<std::pair<CardReason, std::uint32_t>>;

Reject cards(std::uint32_t devices, const Counts& counts) {
  Reject reject;
  reject.devices = devices;
  for (const auto& [reason, count] : counts) reject.count(reason) = count;
  return reject;
}

Reject against_asked(Reject reject, std::uint32_t asked) {
  reject.out_of = asked;
  reject.show_allocated = true;
  return reject;
}

Reject node(NodeReason reason) {
  Reject reject;
  reject.node_reason = reason;
  return reject;
}

TEST(Reject, TextAndWhetherEvictionCanHelp) {
  struct Row {
    std::string name;
    Reject reject;
    std::string text;
    bool unresolvable;
  };
  const std::vector<Row> rows = {
      {"unknown node", node(NodeReason::kUnregistered), "node unregistered", true},
      {"too few cards", node(NodeReason::kInsufficientDevice), "NodeInsufficientDevice", true},
      {"device-model example 18: pieces are sorted as text",
       cards(12, {{CardReason::kCordoned, 2}, {CardReason::kNotHealthy, 10}}),
       "10/12 CardNotHealth, 2/12 CardCordoned", true},
      {"memory can be freed", cards(4, {{CardReason::kInsufficientMemory, 4}}),
       "4/4 CardInsufficientMemory", false},
      {"one card could be freed",
       cards(4, {{CardReason::kNotHealthy, 3}, {CardReason::kInsufficientMemory, 1}}),
       "1/4 CardInsufficientMemory, 3/4 CardNotHealth", false},
      {"case 46: every card counts once, over all cards",
       cards(8, {{CardReason::kInsufficientMemory, 3},
                 {CardReason::kTypeMismatch, 2},
                 {CardReason::kNotHealthy, 3}}),
       "2/8 CardTypeMismatch, 3/8 CardInsufficientMemory, 3/8 CardNotHealth", false},
      {"ids that exist nowhere", cards(8, {{CardReason::kUuidMismatch, 8}}), "8/8 CardUuidMismatch",
       true},
      {"quota and mode last too",
       cards(2, {{CardReason::kQuotaNotFit, 1}, {CardReason::kModeNotFit, 1}}),
       "1/2 ModeNotFit, 1/2 ResourceQuotaNotFit", true},
      {"exclusive use ends with its pod", cards(1, {{CardReason::kExclusiveConflict, 1}}),
       "1/1 ExclusiveDeviceAllocateConflict", false},
      {"a mode the node does not serve closes it whole", cards(8, {{CardReason::kModeNotFit, 1}}),
       "1/8 ModeNotFit", true},
      {"a vendor that counts against what was asked",
       against_asked(cards(8, {{CardReason::kInsufficientMemory, 8}}), 2),
       "0/2 AllocatedCardsInsufficientRequest, 8/2 CardInsufficientMemory", false},
      {"no counters", cards(3, {}), "", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(row.reject.text(), row.text);
    EXPECT_EQ(row.reject.unresolvable(), row.unresolvable);
  }
}

TEST(Reject, WordsOnTheWire) {
  const std::vector<std::string> want = {"CardTypeMismatch",
                                         "CardUuidMismatch",
                                         "CardTimeSlicingExhausted",
                                         "CardComputeUnitsExhausted",
                                         "CardInsufficientMemory",
                                         "CardInsufficientCore",
                                         "CardNotHealth",
                                         "CardCordoned",
                                         "NumaNotFit",
                                         "ExclusiveDeviceAllocateConflict",
                                         "CardMigTopologyInfeasible",
                                         "AllocatedCardsInsufficientRequest",
                                         "ResourceQuotaNotFit",
                                         "ModeNotFit"};
  ASSERT_EQ(want.size(), static_cast<std::size_t>(CardReason::kCount));
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(card_reason_word(static_cast<CardReason>(i)), want[i]);
  }
}

}  // namespace
}  // namespace tessera::core
