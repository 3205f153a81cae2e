// Fit of several containers: init containers, sidecars, positions, two vendors, and the search
// beyond the greedy choice.
#include "core/fit_test_table.h"

namespace tessera::core {
namespace {

using namespace testing;

class FitContainersTable : public FitTable {};

TEST_P(FitContainersTable, Row) { EXPECT_EQ(run(GetParam()), GetParam().want); }

std::vector<FitCase> init_containers_and_sidecars_rows() {
  const std::vector<Busy> x_y = {{card("x", 12000), 3, 9000, 30}, {card("y", 12000)}};
  return {
      {"E10: init and app on different cards",
       x_y,
       {init({ask(1, 2000, 10)}), app({ask(1, 4000, 10)})},
       "x 2000/10; y 4000/10",
       fullest_first},
      {"E11: the init container is larger than the app",
       {{card("g", 24000)}},
       {init({ask(1, 20000, 0)}), app({ask(1, 10000, 0)})},
       "g 20000/0; g 10000/0"},
      {"case 55: the larger of both, not the sum",
       {{card("g", 24576)}},
       {init({ask(1, 16000, 0)}), app({ask(1, 16000, 0)})},
       "g 16000/0; g 16000/0"},
      {"case 59: init on two cards, app on one",
       {{card("g0", 10000)}, {card("g1", 10000)}},
       {init({ask(2, 6000, 0)}), app({ask(1, 9000, 0)})},
       "g0 6000/0, g1 6000/0; g0 9000/0"},
      {"an init container alone must fit",
       {{card("g", 10000)}},
       {init({ask(1, 10001, 0)}), app({ask(1, 1, 0)})},
       "1/1 CardInsufficientMemory"},
      {"S-9: app beside a sidecar",
       {{card("g", 10000)}},
       {sidecar({ask(1, 4000, 0)}), app({ask(1, 6001, 0)})},
       "1/1 CardInsufficientMemory"},
      {"S-9: init beside a sidecar that started before",
       {{card("g", 10000)}},
       {sidecar({ask(1, 4000, 0)}), init({ask(1, 6001, 0)}), app({})},
       "1/1 CardInsufficientMemory"},
      {"a sidecar is charged beside the init container before it",
       {{card("g", 10000)}},
       {init({ask(1, 6001, 0)}), sidecar({ask(1, 4000, 0)})},
       "1/1 CardInsufficientMemory"},
      {"slots: init and app share theirs, the sidecar has its own",
       {{card("g", 10000, 2)}},
       {sidecar({ask(1, 1, 0)}), init({ask(1, 1, 0)}), app({ask(1, 1, 0)})},
       "g 1/0; g 1/0; g 1/0"},
      {"an exclusive init container before a sharing app",
       {{card("g", 10000)}},
       {init({ask(1, 100, 100)}), app({ask(1, 100, 5)})},
       "g 100/100; g 100/5"},
  };
}
INSTANTIATE_TEST_SUITE_P(InitContainersAndSidecars, FitContainersTable,
                         ::testing::ValuesIn(init_containers_and_sidecars_rows()), row_name);

std::vector<FitCase> search_beyond_the_greedy_choice_rows() {
  return {
      {"the small container leaves the large card to the large one",
       {{card("big", 20000)}, {card("small", 10000)}},
       {app({ask(1, 5000, 0)}), app({ask(1, 18000, 0)})},
       "small 5000/0; big 18000/0"},
      {"a pair that leaves the right card",
       {{card("a", 9000)}, {card("b", 9000)}, {card("c", 5000)}},
       {app({ask(2, 4000, 0)}), app({ask(1, 6000, 0)})},
       "a 4000/0, c 4000/0; b 6000/0"},
      {"nothing helps: the refusal is the greedy one",
       {{card("a", 9000)}, {card("b", 9000)}},
       {app({ask(1, 5000, 0)}), app({ask(1, 5000, 0)}), app({ask(1, 5000, 0)})},
       "2/2 CardInsufficientMemory"},
      {"NUMA groups are tried too",
       {{with_numa(card("a"), 0)},
        {with_numa(card("b"), 0)},
        {with_numa(card("c", 8000), 1)},
        {with_numa(card("d", 8000), 1)}},
       {app({ask(2, 5000, 0)}), app({ask(2, 12000, 0)})},
       "c 5000/0, d 5000/0; a 12000/0, b 12000/0",
       bind_numa},
  };
}
INSTANTIATE_TEST_SUITE_P(SearchBeyondTheGreedyChoice, FitContainersTable,
                         ::testing::ValuesIn(search_beyond_the_greedy_choice_rows()), row_name);

TEST(FitContainers, SearchIsBounded) {
  // 14 containers in 14 cards of different sizes, one too many of them large: the search space is
  // huge, the answer stays quick.
  std::vector<Busy> cards;
  std::vector<Position> containers;
  for (int i = 0; i < 14; ++i) {
    cards.push_back({card("g" + std::to_string(i), 10000 + i)});
    containers.push_back(app({ask(1, 9000 + 2 * i, 0)}));
  }
  containers.push_back(app({ask(1, 9000, 0)}));
  Cluster cluster{VendorTable(1)};
  const NodeId id = add_busy_node(cluster, "n1", cards);
  const Fit fit = fit_node(cluster, pod("p", containers), id);
  EXPECT_FALSE(fit.allocation);
  EXPECT_EQ(fit.reject.text(), "14/14 CardInsufficientMemory");
}

TEST(FitContainers, UnregisteredAndUnoffered) {
  Cluster cluster{VendorTable(2)};
  const NodeId bare = cluster.set_node(node("bare", {}));
  NodeSpec closed = node("closed", {card("a")});
  closed.offered = {false, true};
  const NodeId unoffered = cluster.set_node(closed);
  closed.name = "short";
  closed.offered.clear();
  const NodeId unsaid = cluster.set_node(closed);
  const NodeId gone = cluster.set_node(node("gone", {card("a")}));
  cluster.remove_node("gone");
  for (const NodeId id : {bare, unoffered, unsaid, gone, NodeId{}, NodeId{77}}) {
    const Fit fit = fit_node(cluster, pod("p", ask(1, 100, 0)), id);
    ASSERT_FALSE(fit.allocation);
    EXPECT_EQ(fit.reject.text(), "node unregistered");
    EXPECT_TRUE(fit.reject.unresolvable());
  }
}

TEST(FitContainers, TwoVendorsInOneContainer) {
  Cluster cluster{VendorTable(2)};
  Device other = card("o0");
  other.vendor = kOtherVendor;
  const NodeId id = cluster.set_node(node("n1", {card("g0"), other}));
  DeviceAsk second = ask(1, 200, 5);
  second.vendor = kOtherVendor;
  const Fit both =
      fit_node(cluster, pod("p", std::vector<Position>{app({second, ask(1, 100, 0)})}), id);
  ASSERT_TRUE(both.allocation);
  EXPECT_EQ(grants_text(*both.allocation), "o0 200/5, g0 100/0");
  EXPECT_EQ(both.allocation->grants[0].vendor, kOtherVendor);
  second.count = 2;
  const Fit none = fit_node(cluster, pod("p", std::vector<Position>{app({second})}), id);
  EXPECT_EQ(none.reject.text(), "NodeInsufficientDevice");
  EXPECT_EQ(none.reject.devices, 1U);
  EXPECT_EQ(none.reject.asked, 2U);
}

TEST(FitContainers, RejectNamesTheContainer) {
  Cluster cluster{VendorTable(1)};
  const NodeId id = add_busy_node(cluster, "n1", {{card("a", 1000)}});
  const Fit fit =
      fit_node(cluster, pod("p", {app({}), app({ask(1, 600, 0)}), app({ask(1, 600, 0)})}), id);
  EXPECT_EQ(fit.reject.position, 2U);
  EXPECT_EQ(fit.reject.asked, 1U);
  EXPECT_EQ(fit.reject.devices, 1U);
}

TEST(FitContainers, PositionsOfContainersWithoutDevices) {
  Cluster cluster{VendorTable(1)};
  const NodeId id = add_busy_node(cluster, "n1", {{card("A")}});
  struct Row {
    std::string name;
    std::vector<Position> containers;
    std::vector<std::uint32_t> positions;
  };
  const DeviceAsk some = ask(1, 1000, 10);
  for (const Row& row : std::vector<Row>{
           {"case 13: between containers without", {app({}), app({some}), app({})}, {1}},
           {"case 14: behind an injected proxy", {app({}), app({some})}, {1}},
           {"case 57: init and app", {init({}), init({some}), app({}), app({some})}, {1, 3}},
           {"E16", {init({}), app({some}), app({}), app({some})}, {1, 3}}}) {
    SCOPED_TRACE(row.name);
    const Fit fit = fit_node(cluster, pod("p", row.containers), id);
    ASSERT_TRUE(fit.allocation);
    EXPECT_EQ(fit.allocation->kinds.size(), row.containers.size());
    std::vector<std::uint32_t> positions;
    for (const Grant& grant : fit.allocation->grants) positions.push_back(grant.position);
    EXPECT_EQ(positions, row.positions);
  }
}

}  // namespace
}  // namespace tessera::core
