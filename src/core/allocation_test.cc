#include "core/allocation.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
constexpr auto kInit = PositionKind::kInit;
constexpr auto kSidecar = PositionKind::kSidecar;
constexpr auto kApp = PositionKind::kApp;

struct ChargeCase {
  std::string name;
  std::vector<std::pair<PositionKind, std::vector<Held>>> containers;
  bool init_finished = false;
  std::string want;  // device slots/memory/cores
};

std::string charges_text(const Allocation& allocation) {
  std::string text;
  for (const Charge& c : effective_charges(allocation)) {
    if (!text.empty()) text += ", ";
    text += c.device + " " + std::to_string(c.usage.slots) + "/" +
            std::to_string(c.usage.memory.v) + "/" + std::to_string(c.usage.cores.v);
  }
  return text;
}

TEST(EffectiveCharges, Table) {
  const decltype(ChargeCase::containers) example_10 = {
      {kInit, {{"aa", 9000, 60}}},
      {kInit, {{"aa", 4000, 80}, {"bb", 4000, 80}}},
      {kApp, {{"aa", 5000, 20}}},
      {kApp, {{"aa", 3000, 10}, {"cc", 3000, 10}}}};
  const std::vector<ChargeCase> rows = {
      {"device-model example 10: collapse", example_10, false,
       "aa 2/9000/80, bb 1/4000/80, cc 1/3000/10"},
      {"device-model example 11: init containers have finished", example_10, true,
       "aa 2/8000/30, cc 1/3000/10"},
      {"nothing held", {{kApp, {}}}, false, ""},
      {"app containers add up",
       {{kApp, {{"a", 100, 1}}}, {kApp, {{"a", 100, 1}}}},
       false,
       "a 2/200/2"},
      {"case 55: the larger of init and app",
       {{kInit, {{"a", 16000, 0}}}, {kApp, {{"a", 16000, 0}}}},
       false,
       "a 1/16000/0"},
      {"case 59: init on two cards, app on one",
       {{kInit, {{"a", 6000, 0}, {"b", 6000, 0}}}, {kApp, {{"a", 9000, 0}}}},
       false,
       "a 1/9000/0, b 1/6000/0"},
      {"case 59: after the init containers",
       {{kInit, {{"a", 6000, 0}, {"b", 6000, 0}}}, {kApp, {{"a", 9000, 0}}}},
       true,
       "a 1/9000/0"},
      {"S-9: a sidecar is added to the larger of init and app",
       {{kSidecar, {{"a", 1000, 5}}}, {kInit, {{"a", 9000, 10}}}, {kApp, {{"a", 5000, 20}}}},
       false,
       "a 2/10000/25"},
      {"S-9: a sidecar stays when init containers have finished",
       {{kSidecar, {{"a", 1000, 5}}}, {kInit, {{"a", 9000, 10}}}, {kApp, {{"a", 5000, 20}}}},
       true,
       "a 2/6000/25"},
      {"W-5: two entries of one init container on one card add up",
       {{kInit, {{"a", 1000, 10}, {"a", 1000, 10}}}, {kInit, {{"a", 1500, 5}}}},
       false,
       "a 2/2000/20"},
      {"cards are sorted by id, bytewise",
       {{kApp, {{"b", 1, 0}, {"B", 2, 0}, {"a", 3, 0}}}},
       false,
       "B 1/2/0, a 1/3/0, b 1/1/0"},
  };
  for (const ChargeCase& row : rows) {
    SCOPED_TRACE(row.name);
    Allocation allocation = held("n1", row.containers);
    allocation.init_finished = row.init_finished;
    EXPECT_EQ(charges_text(allocation), row.want);
  }
}

TEST(EffectiveCharges, PositionOutsideKindsIsAnApp) {
  Allocation allocation = held("n1", {{kInit, {{"a", 10, 0}}}, {kInit, {{"a", 20, 0}}}});
  allocation.kinds.clear();
  EXPECT_EQ(charges_text(allocation), "a 2/30/0");
}

TEST(EffectiveCharges, SameIdOfTwoVendorsIsTwoCards) {
  Allocation allocation = held("n1", {{kApp, {{"a", 10, 0}, {"a", 20, 0}}}});
  allocation.grants[0].vendor = kOtherVendor;
  EXPECT_EQ(charges_text(allocation), "a 1/20/0, a 1/10/0");
}

TEST(EffectiveCharges, InstancesAddUpWhateverTheContainer) {  // N-3
  Allocation allocation =
      held_instances("n1", {instance(0, "m", "3g.40gb", 4), instance(1, "m", "2g.20gb", 0)});
  allocation.kinds[0] = kInit;
  const Charge want{kVendor, "m", {2, {60416}, {71}, 6}, {{0, 2}, {4, 4}}, 0};
  EXPECT_EQ(effective_charges(allocation), std::vector<Charge>{want});
  allocation.init_finished = true;
  EXPECT_EQ(effective_charges(allocation), std::vector<Charge>{want});
}

TEST(EffectiveCharges, ReservationsWithoutAGrantAreListedByDevice) {
  Allocation allocation = held("n1", {{kApp, {{"b", 100, 1}}}});
  allocation.stray_mig = {{kVendor, "c", {2, 2}},
                          {kVendor, "a", {1, 1}},
                          {kVendor, "c", {0, 1}},
                          {kVendor, "b", {0, 1}}};
  EXPECT_EQ(effective_charges(allocation),
            (std::vector<Charge>{{kVendor, "a", {}, {{1, 1}}, 0},
                                 {kVendor, "b", {1, {100}, {1}}, {{0, 1}}, 1},
                                 {kVendor, "c", {}, {{0, 1}, {2, 2}}, 0}}));
}

}  // namespace
}  // namespace tessera::core
