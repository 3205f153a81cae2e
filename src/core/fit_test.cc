// One node, one pod: which cards, or which words. Numbers in row names are those of the
// specification's worked examples and of the collection of public reports. Ties go to the lowest
// index (decision D18), scores are those after placement (D3).
#include "core/fit_test_table.h"

namespace tessera::core {
namespace {

using namespace testing;

class FitCardsTable : public FitTable {};

TEST_P(FitCardsTable, Row) { EXPECT_EQ(run(GetParam()), GetParam().want); }

std::vector<FitCase> order_and_insufficiency_rows() {
  const std::vector<Busy> n = {
      {card("n0", 24564)}, {card("n1", 24564), 2, 9000, 40}, {card("n2", 24564), 1, 20000, 90}};
  return {
      {"nvidia example 3: one card", n, {app({ask(1, 6000, 20)})}, "n1 6000/20", fullest_first},
      {"nvidia example 3: two cards",
       n,
       {app({ask(2, 6000, 20)})},
       "n1 6000/20, n0 6000/20",
       fullest_first},
      {"nvidia example 3: three cards",
       n,
       {app({ask(3, 6000, 20)})},
       "1/3 CardInsufficientMemory, 2/3 AllocatedCardsInsufficientRequest",
       fullest_first},
      {"more cards than the node has (case 19)",
       {{card("a")}, {card("b")}},
       {app({ask(4, 100, 0)})},
       "NodeInsufficientDevice"},
      {"equal cards: the lowest index",
       {{card("b")}, {card("a")}},
       {app({ask(1, 100, 0)})},
       "b 100/0"},
      {"a container that asks nothing fits anywhere", {{card("a")}}, {app({})}, ""},
      {"an ask of zero cards asks nothing", {{card("a")}}, {app({ask(0, 100, 0)})}, ""},
  };
}
INSTANTIATE_TEST_SUITE_P(OrderAndInsufficiency, FitCardsTable,
                         ::testing::ValuesIn(order_and_insufficiency_rows()), row_name);

std::vector<FitCase> percentages_rows() {
  return {
      {"nvidia example 4: 33 % of 24564",
       {{card("p", 24564), 1, 16458, 0}},
       {app({ask_percent(1, 33, 0)})},
       "p 8106/0"},
      {"nvidia example 4: one MiB short",
       {{card("p", 24564), 1, 16459, 0}},
       {app({ask_percent(1, 33, 0)})},
       "1/1 CardInsufficientMemory"},
      {"nvidia example 4: 1 %", {{card("p", 24564)}}, {app({ask_percent(1, 1, 0)})}, "p 245/0"},
      {"nvidia example 4: 33 % of 81559",
       {{card("p", 81559)}},
       {app({ask_percent(1, 33, 0)})},
       "p 26914/0"},
      {"MiB win over percent",
       {{card("p", 24564)}},
       {app({{kVendor, 1, {2000}, 40, {0}}})},
       "p 2000/0"},
      {"case 52: the percentage is of the chosen card's own size",
       {{card("g0", 11019), 1, 6000, 0}, {card("g1", 24576)}},
       {app({ask_percent(1, 50, 0)})},
       "g1 12288/0"},
      {"case 52: only the large card holds 20000",
       {{card("g0", 11019)}, {card("g1", 24576)}},
       {app({ask(1, 20000, 0)})},
       "g1 20000/0"},
      {"a card too large for a 64-bit product",
       {{card("p", INT64_MAX)}},
       {app({ask_percent(1, 100, 0)})},
       "p 9223372036854775807/0"},
  };
}
INSTANTIATE_TEST_SUITE_P(Percentages, FitCardsTable, ::testing::ValuesIn(percentages_rows()),
                         row_name);

std::vector<FitCase> exclusive_use_and_cores_rows() {
  const Busy e0{card("e0")}, e1{card("e1"), 1, 1000, 0};
  const Busy scaled{card("e1", 16384, 10, 200), 1, 1000, 0};
  const Busy spent{card("f"), 1, 1000, 100};
  return {
      {"nvidia example 5: an unused card is taken",
       {e0, e1},
       {app({ask_percent(1, 100, 100)})},
       "e0 16384/100"},
      {"nvidia example 5: a used card is not",
       {e1},
       {app({ask(1, 1000, 100)})},
       "1/1 ExclusiveDeviceAllocateConflict"},
      {"nvidia example 5: 200 cores are not exclusive",
       {scaled},
       {app({ask(1, 1000, 100)})},
       "e1 1000/100"},
      {"nvidia example 5: no cores left, 0 asked",
       {spent},
       {app({ask(1, 100, 0)})},
       "1/1 CardComputeUnitsExhausted"},
      {"nvidia example 5: no cores left, 5 asked",
       {spent},
       {app({ask(1, 100, 5)})},
       "1/1 CardInsufficientCore"},
      {"cores above 100 count as 100", {e0}, {app({ask(1, 100, 250)})}, "e0 100/100"},
      {"case 20: whole card once",
       {{card("g", 24576)}},
       {app({ask_percent(1, 100, 100)}), app({ask_percent(1, 100, 100)})},
       "1/1 CardInsufficientMemory"},
      {"case 21: exclusive pod first",
       {{card("g", 24576), 1, 1000, 100}},
       {app({ask(1, 1000, 0)})},
       "1/1 CardComputeUnitsExhausted"},
      {"case 21: exclusive pod second",
       {{card("g", 24576), 1, 1000, 0}},
       {app({ask(1, 1000, 100)})},
       "1/1 ExclusiveDeviceAllocateConflict"},
  };
}
INSTANTIATE_TEST_SUITE_P(ExclusiveUseAndCores, FitCardsTable,
                         ::testing::ValuesIn(exclusive_use_and_cores_rows()), row_name);

TEST(Fit, VendorRulesSwitchTheSharedChecksOff) {
  Cluster cluster(VendorTable{{.whole_card_is_exclusive = false, .full_cores_close_card = false}});
  const NodeId shared = add_busy_node(cluster, "n1", {{card("a"), 1, 1000, 0}});
  EXPECT_TRUE(fit_node(cluster, pod("p", ask(1, 1000, 100)), shared).allocation);
  const NodeId spent = add_busy_node(cluster, "n2", {{card("a"), 1, 1000, 100}});
  EXPECT_TRUE(fit_node(cluster, pod("p", ask(1, 1000, 0)), spent).allocation);
}

std::vector<FitCase> mixed_reasons_rows() {
  const std::vector<Busy> cards = {
      {sick(card("c0"))},
      {card("c1"), 10, 0, 0},
      {card("c2"), 1, 15000, 0},
      {card("c3"), 1, 0, 70},
      {with_model(card("c4"), "Model-V100-PCIE-32GB")},
      {card("c5")},
      {card("c6")},
      {with(card("c7"), [](Device& d) { d.mode = "sliced"; })},
  };
  const auto example_6 = [](Request& request, NodeSpec& spec) {
    spec.cordoned = {"c6"};
    request.constraints = {{.vendor = kVendor, .use_models = {"A100"}, .modes = "plain"}};
  };
  return {
      {"nvidia example 6",
       cards,
       {app({ask(2, 4000, 50)})},
       "1/8 AllocatedCardsInsufficientRequest, 1/8 CardCordoned, 1/8 CardInsufficientCore, 1/8 "
       "CardInsufficientMemory, 1/8 CardNotHealth, 1/8 CardTimeSlicingExhausted, 2/8 "
       "CardTypeMismatch",
       example_6},
      {"nvidia example 6, one card", cards, {app({ask(1, 4000, 50)})}, "c5 4000/50", example_6}};
}
INSTANTIATE_TEST_SUITE_P(MixedReasons, FitCardsTable, ::testing::ValuesIn(mixed_reasons_rows()),
                         row_name);

std::vector<FitCase> cases_of_cards_rows() {
  std::vector<Busy> eight;
  for (int i = 0; i < 8; ++i) {
    Device device = card("g" + std::to_string(i), 81920);
    if (i >= 3 && i < 5) device.model = "Other";
    if (i >= 5) device.healthy = false;
    eight.push_back({device, i < 3 ? 1 : 0, i < 3 ? 80000 : 0, 0});
  }
  return {
      {"case 16: two containers of a pod take both slots",
       {{card("g", 16384, 2), 2, 200, 2}},
       {app({ask(1, 100, 1)})},
       "1/1 CardTimeSlicingExhausted"},
      {"case 18: a full card",
       {{card("g", 24576, 3), 3, 300, 3}},
       {app({ask(1, 100, 1)})},
       "1/1 CardTimeSlicingExhausted"},
      {"case 35: cards of size zero",
       {{card("g0", 0)}, {card("g1", 24576, 0)}, {card("g2", 24576, 10, 0)}, {card("g3", 24576)}},
       {app({ask(1, 1000, 10)})},
       "g3 1000/10"},
      {"case 35: cards of size zero alone",
       {{card("g0", 0)}, {card("g1", 24576, 0)}, {card("g2", 24576, 10, 0)}},
       {app({ask(1, 1000, 10)})},
       "1/3 CardInsufficientCore, 1/3 CardInsufficientMemory, 1/3 CardTimeSlicingExhausted"},
      {"case 46: counts",
       eight,
       {app({ask(1, 4000, 0)})},
       "2/8 CardTypeMismatch, 3/8 CardInsufficientMemory, 3/8 CardNotHealth",
       constrained([](Constraints& c) { c.use_models = {"A100"}; })},
      {"case 50: the third pod of half a card",
       {{card("g", 24576), 2, 24576, 0}},
       {app({ask(1, 12288, 0)})},
       "1/1 CardInsufficientMemory"},
      {"E12: the pod's second container finds no slot",
       {{card("g", 16384, 4), 3, 0, 0}},
       {app({ask(1, 10, 0)}), app({ask(1, 10, 0)})},
       "1/1 CardTimeSlicingExhausted"},
      {"case 61: binpack takes the used card",
       {{card("g0"), 1, 3000, 0}, {card("g1")}},
       {app({ask(1, 1000, 0)})},
       "g0 1000/0",
       fullest_first},
      {"case 61: spread takes the empty card",
       {{card("g0"), 1, 3000, 0}, {card("g1")}},
       {app({ask(1, 1000, 0)})},
       "g1 1000/0"},
      {"case 62: score first, NUMA number is no key",
       {{card("g0")},
        {card("g1")},
        {with_numa(card("g2"), 1), 1, 12000, 0},
        {with_numa(card("g3"), 1)}},
       {app({ask(1, 1000, 0)})},
       "g2 1000/0",
       fullest_first},
  };
}
INSTANTIATE_TEST_SUITE_P(CasesOfCards, FitCardsTable, ::testing::ValuesIn(cases_of_cards_rows()),
                         row_name);

std::vector<FitCase> lists_of_models_ids_and_modes_rows() {
  const Device h100 = with_model(card("GPU-9"), "Model H100 80GB HBM3");
  const auto one = std::vector<Position>{app({ask(1, 100, 0)})};
  const auto models = [](std::vector<std::string> use, std::vector<std::string> nouse) {
    return constrained([=](Constraints& c) {
      c.use_models = use;
      c.nouse_models = nouse;
    });
  };
  const auto ids = [](std::vector<std::string> use, std::vector<std::string> nouse) {
    return constrained([=](Constraints& c) {
      c.use_ids = use;
      c.nouse_ids = nouse;
    });
  };
  const auto modes = [](std::string text) {
    return constrained([=](Constraints& c) { c.modes = text; });
  };
  const std::string ok = "GPU-9 100/0", type = "1/1 CardTypeMismatch",
                    uuid = "1/1 CardUuidMismatch";
  const std::vector<Busy> two = {{card("GPU-0")}, {card("GPU-1")}};
  return {
      {"device-model example 17: use h100", {{h100}}, one, ok, models({"H100"}, {})},
      {"device-model example 17: use a100", {{h100}}, one, type, models({"A100"}, {})},
      {"device-model example 17: use and nouse", {{h100}}, one, type, models({"H100"}, {"80GB"})},
      {"any of the list", {{h100}}, one, ok, models({"A100", "HBM3"}, {"A100"})},
      {"device-model example 17: use id", {{h100}}, one, ok, ids({"GPU-8", "GPU-9"}, {})},
      {"device-model example 17: ids keep their case", {{h100}}, one, uuid, ids({"gpu-9"}, {})},
      {"case 43: use two, nouse one", two, one, "GPU-1 100/0", ids({"GPU-0", "GPU-1"}, {"GPU-0"})},
      {"case 43: use and nouse the same", two, one, "2/2 CardUuidMismatch",
       ids({"GPU-0"}, {"GPU-0"})},
      {"case 45: an id that exists nowhere", two, one, "2/2 CardUuidMismatch",
       ids({"GPU-nope"}, {})},
      {"case 42: empty id lists", {{h100}}, one, ok, ids({}, {})},
      {"nvidia example 8: same mode", {{h100}}, one, ok, modes("plain")},
      {"nvidia example 8: mode in a list", {{h100}}, one, ok, modes("plain,sliced")},
      {"nvidia example 8: other mode", {{h100}}, one, type, modes("sliced")},
      {"nvidia example 8: empty value", {{h100}}, one, type, modes("")},
      {"nvidia example 8: case matters", {{h100}}, one, type, modes("PLAIN")},
      {"nvidia example 8: a card without mode",
       {{with(h100, [](Device& d) { d.mode = {}; })}},
       one,
       ok,
       modes("sliced")},
      {"S-20: lists of another vendor do not matter",
       {{h100}},
       one,
       ok,
       [](Request& request, NodeSpec&) {
         request.constraints = {{.vendor = kOtherVendor, .use_models = {"A100"}}};
       }},
  };
}
INSTANTIATE_TEST_SUITE_P(ListsOfModelsIdsAndModes, FitCardsTable,
                         ::testing::ValuesIn(lists_of_models_ids_and_modes_rows()), row_name);

std::vector<FitCase> numa_bind_rows() {
  const Busy a0{with_numa(card("a0"), 1)}, a1{with_numa(card("a1"), 1)};
  const Busy a2{with_numa(card("a2"), 0)}, a3{with_numa(card("a3"), 0), 1, 16000, 0};
  const auto two = std::vector<Position>{app({ask(2, 2000, 10)})};
  return {
      {"nvidia example 7: the group that has both",
       {a0, a1, a2, a3},
       two,
       "a0 2000/10, a1 2000/10",
       bind_numa},
      {"nvidia example 7: no group has both",
       {a1, a2, a3},
       two,
       "1/3 AllocatedCardsInsufficientRequest, 1/3 CardInsufficientMemory, 1/3 NumaNotFit",
       bind_numa},
      {"nvidia example 7: without binding", {a1, a2, a3}, two, "a1 2000/10, a2 2000/10"},
      {"N-6: any group that fits will do",
       {a2, {with_numa(card("b"), 0)}, a0},
       two,
       "a2 2000/10, b 2000/10",
       bind_numa},
      {"the group with the better sum of keys",
       {{with_numa(card("x0"), 0)},
        {with_numa(card("x1"), 0), 5, 9000, 50},
        {with_numa(card("y0"), 1), 1, 100, 1},
        {with_numa(card("y1"), 1), 1, 100, 1}},
       two,
       "y0 2000/10, y1 2000/10",
       bind_numa},
      {"E8: binpack, bound: the fuller NUMA node (D3)",
       {{with_numa(card("a0", 10000), 0), 1, 1000, 10},
        {with_numa(card("b0", 10000), 0)},
        {with_numa(card("a1", 10000), 1), 4, 4000, 40},
        {with_numa(card("b1", 10000), 1), 2, 2000, 20}},
       {app({ask(2, 1000, 10)})},
       "a1 1000/10, b1 1000/10",
       [](Request& request, NodeSpec& spec) {
         bind_numa(request, spec);
         fullest_first(request, spec);
       }},
      {"E8: spread, bound: the emptier NUMA node (S-24)",
       {{with_numa(card("a0", 10000), 0), 1, 1000, 10},
        {with_numa(card("b0", 10000), 0)},
        {with_numa(card("a1", 10000), 1), 4, 4000, 40},
        {with_numa(card("b1", 10000), 1), 2, 2000, 20}},
       {app({ask(2, 1000, 10)})},
       "b0 1000/10, a0 1000/10",
       bind_numa},
      {"one card is in one NUMA node anyway",
       {a0, a2},
       {app({ask(1, 2000, 10)})},
       "a0 2000/10",
       bind_numa},
  };
}
INSTANTIATE_TEST_SUITE_P(NumaBind, FitCardsTable, ::testing::ValuesIn(numa_bind_rows()), row_name);

std::vector<FitCase> device_policies_rows() {
  const std::vector<Busy> e8 = {{card("a0", 10000), 1, 1000, 10},
                                {card("b0", 10000)},
                                {card("a1", 10000), 4, 4000, 40},
                                {card("b1", 10000), 2, 2000, 20}};
  const auto two = std::vector<Position>{app({ask(2, 1000, 10)})};
  const Busy p{card("p", 24576, 8), 2, 6144, 30}, q{card("q", 16384, 8), 1, 4096, 50};
  return {
      {"E8: spread", e8, two, "b0 1000/10, a0 1000/10"},
      {"E8: binpack", e8, two, "a1 1000/10, b1 1000/10", fullest_first},
      {"E4: percent of each card's own memory, binpack",
       {p, q},
       {app({ask_percent(1, 25, 10)})},
       "q 4096/10",
       fullest_first},
      {"E4: the same, spread", {p, q}, {app({ask_percent(1, 25, 10)})}, "p 6144/10"},
      {"E9: two containers, spread",
       {{card("u", 12000)}, {card("v", 12000)}},
       {app({ask(1, 11000, 0)}), app({ask(1, 2000, 0)})},
       "u 11000/0; v 2000/0"},
      {"E9: two containers, binpack",
       {{card("u", 12000)}, {card("v", 12000)}},
       {app({ask(1, 11000, 0)}), app({ask(1, 2000, 0)})},
       "u 11000/0; v 2000/0",
       fullest_first},
      {"a chain: the second policy decides equal keys of the first",
       {{card("a", 10000)}, {card("b", 20000)}},
       {app({ask_percent(1, 10, 0)})},
       "a 1000/0",
       [](Request& request, NodeSpec&) {
         request.device_policies = {&kFullestDevice, &kEmptiestDevice};
       }},
  };
}
INSTANTIATE_TEST_SUITE_P(DevicePolicies, FitCardsTable, ::testing::ValuesIn(device_policies_rows()),
                         row_name);

}  // namespace
}  // namespace tessera::core
