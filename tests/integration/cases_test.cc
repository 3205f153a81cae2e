// Public cases that belong to no single part of the server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.h"

namespace tessera::test {
namespace {

class CasesTest : public ClusterTest {};

using Names = std::vector<std::string>;

TEST_F(CasesTest, Case54MemoryKeptBackOnANodeIsNotGivenAway) {
  add_node("n1");  // one card of 24,576 MiB
  start_server();
  patch_node("n1", R"({"metadata":{"annotations":{"tessera.io/reserved-memory":"3000"}}})");
  settle();
  add_pod("large", {.memory = 22'000});
  EXPECT_EQ(filter("large", {"n1"}).failed.at("n1"), "1/1 CardInsufficientMemory");
  EXPECT_NE(get("/metrics").body.find(fmt::format("{}", (24'576 - 3'000) * 1'048'576LL / 1'000)),
            std::string::npos)
      << "the metrics show what can be given away";
  patch_node("n1", R"({"metadata":{"annotations":{"tessera.io/reserved-memory":null}}})");
  EXPECT_TRUE(eventually([&] { return filter("large", {"n1"}).names == Names{"n1"}; }));
}

TEST_F(CasesTest, Case195NodesWhereEvictionCannotHelpAreToldAsUnresolvable) {
  add_node("n1");
  add_running("low", "n1", 24'000);
  start_server();
  add_pod("wants-another-model");
  patch_pod("wants-another-model",
            R"({"metadata":{"annotations":{"nvidia.com/use-gputype":"H100"}}})");
  settle();
  const FilterAnswer other_model = filter("wants-another-model", {"n1"});
  EXPECT_EQ(other_model.unresolvable.at("n1"), "1/1 CardTypeMismatch");
  EXPECT_TRUE(other_model.failed.empty()) << "kube-scheduler would look for victims there";
  add_pod("wants-room", {.memory = 20'000});
  const FilterAnswer full = filter("wants-room", {"n1"});
  EXPECT_EQ(full.failed.at("n1"), "1/1 CardInsufficientMemory");
  EXPECT_TRUE(full.unresolvable.empty()) << "here eviction would help";
}

TEST_F(CasesTest, Case197ABindThatCanNeverSucceedDoesNotKeepOthersOut) {
  add_node("n1");
  start_server();
  const std::string p = add_pod("p", {.memory = 20'000}), q = add_pod("q", {.memory = 20'000});
  api_->inject({.match = "pods/p/binding", .times = -1, .status = 403});
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(filter("p", {"n1"}).names, Names{"n1"}) << "round " << round;
    ASSERT_NE(bind("p", p, "n1"), "");
    ASSERT_EQ(metric("tessera_reservations"), 0);
  }
  EXPECT_EQ(filter("q", {"n1"}).names, Names{"n1"});
  EXPECT_EQ(bind("q", q, "n1"), "");
}

TEST_F(CasesTest, Case198ARejectedGangGivesItsCardsBackAtOnce) {
  add_node("n1", 6);
  start_server();
  const auto member = [](char gang, int i) { return fmt::format("{}-{}", gang, i); };
  for (const char gang : {'a', 'b'}) {
    for (int i = 0; i < 4; ++i) add_pod(member(gang, i), {.memory = 24'576, .cores = 100});
  }
  // Members come in turn: three of each hold a card, nobody is whole.
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(filter(member('a', i), {"n1"}).names, Names{"n1"});
    ASSERT_EQ(filter(member('b', i), {"n1"}).names, Names{"n1"});
  }
  EXPECT_TRUE(filter(member('a', 3), {"n1"}).names_null);
  EXPECT_EQ(metric("tessera_reservations"), 6);
  // The scheduler gives gang b up.
  const std::string when = format_rfc3339(clock_.wall() + std::chrono::seconds(2));
  for (int i = 0; i < 3; ++i) {
    patch_pod(member('b', i),
              fmt::format(R"({{"status":{{"conditions":[{{"type":"PodScheduled","status":"False",)"
                          R"("lastTransitionTime":"{}"}}]}}}})",
                          when),
              "status");
  }
  EXPECT_TRUE(eventually([&] { return metric("tessera_reservations") == 3; }));
  EXPECT_EQ(filter(member('a', 3), {"n1"}).names, Names{"n1"}) << "gang a is whole";
}

TEST_F(CasesTest, Case231AChangeOfABoundPodLeavesItsDevicesAlone) {
  add_node("n1");
  start_server();
  const std::string p = add_pod("p", {.memory = 20'000});
  filter("p", {"n1"});
  ASSERT_EQ(bind("p", p, "n1"), "");
  agent_serves("p", "n1");
  // What a resize of cpu does, and an annotation that hopes for more memory.
  patch_pod("p", R"({"metadata":{"annotations":{"nvidia.com/gpumem":"24000"}},)"
                 R"("status":{"resize":"InProgress"}})");
  patch_pod("p", R"({"metadata":{"labels":{"resized":"yes"}}})");
  settle();
  EXPECT_EQ(server_->self_check(), "");
  add_pod("fits-beside", {.memory = 4'000});
  EXPECT_EQ(filter("fits-beside", {"n1"}).names, Names{"n1"});
  add_pod("does-not", {.memory = 5'000});
  EXPECT_EQ(filter("does-not", {"n1"}).failed.at("n1"), "1/1 CardInsufficientMemory");
}

}  // namespace
}  // namespace tessera::test
