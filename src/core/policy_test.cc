#include "core/policy.h"

#include <gtest/gtest.h>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;

TEST(LoadPpm, MeanOfSlotsCoresAndMemory) {
  struct Row {
    std::string name;
    Device device;
    Usage used;
    std::int64_t want;
  };
  const std::vector<Row> rows = {
      {"idle", card("a"), {}, 0},
      {"full", card("a", 16000), {10, {16000}, {100}}, 1'000'000},
      {"E1 card with its request: (0.4 + 0.6 + 0.375) / 3",
       card("a", 16000),
       {4, {6000}, {60}},
       458'333},
      {"each term is rounded down", card("a", 3, 3, 3), {1, {1}, {1}}, 333'333},
      {"a term without total is left out", card("a", 16000, 10, 0), {5, {8000}, {0}}, 500'000},
      {"no totals at all", card("a", 0, 0, 0), {1, {1}, {1}}, 0},
      {"over-full counts above one", card("a", 1000, 10, 0), {20, {2000}, {0}}, 2'000'000},
      {"sums beyond 64 bits of product",
       card("a", INT64_MAX, 0, 0),
       {0, {INT64_MAX / 2}, {0}},
       499'999},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(load_ppm(row.device, row.used), row.want);
  }
}

TEST(NodeView, MeanOverVendorsOfMeansOverDevices) {
  const std::vector<NodeView::Vendor> two = {{900'000, 3}, {500'001, 2}};
  EXPECT_EQ(NodeView{two}.mean_load_ppm(), (300'000 + 250'000) / 2);
  const std::vector<NodeView::Vendor> one = {{7, 2}};
  EXPECT_EQ(NodeView{one}.mean_load_ppm(), 3);
  EXPECT_EQ(NodeView{}.mean_load_ppm(), 0);
}

}  // namespace
}  // namespace tessera::core
