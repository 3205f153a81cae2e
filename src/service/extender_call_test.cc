// What is taken of whole nodes while a call is read.
#include "service/extender_call.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "service/facts_test_reader.h"

namespace tessera::service {
namespace {

std::string call_with(const std::string& items) {
  return R"({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"u"}},"Nodes":{"items":[)" +
         items + "]}}";
}

std::string many(const std::string& element, std::size_t count) {
  std::string items = element;
  for (std::size_t i = 1; i < count; ++i) items += "," + element;
  return items;
}

TEST(ReadCall, ASimulationHasOneSpecForEachNodeInOrder) {
  const LiveReader live(default_reader());
  for (const std::size_t others : {std::size_t{1}, k8s::kReadWholeBelow / 4}) {
    FilterCall call;
    std::string body = call_with(R"({"metadata":{"name":"n1"}},)" + many("{}", others) +
                                 R"(,{"metadata":{"name":"n2"}})");
    const Status read = read_call(call, live, std::move(body), NodesForm::kSimulate);
    ASSERT_TRUE(read) << read.error().what;
    ASSERT_EQ(call.specs.size(), others + 2);
    EXPECT_EQ(call.specs.front().name, "n1");
    EXPECT_EQ(call.specs.back().name, "n2");
  }
}

TEST(ReadCall, OfANodeItsNameStaysAndNoRoomForAnythingElse) {
  const LiveReader live(default_reader());
  const std::string node =
      R"({"metadata":{"name":"n","annotations":{"hami.io/node-nvidia-register":"[]"}},)"
      R"("status":{"allocatable":{"nvidia.com/gpu":"8"},"capacity":{"nvidia.com/gpu":"8"}}})";
  for (const NodesForm form : {NodesForm::kSimulate, NodesForm::kLive}) {
    FilterCall call;
    const Status read = read_call(call, live, call_with(node), form);
    ASSERT_TRUE(read) << read.error().what;
    const k8s::Node& kept = call.args.nodes.at(0);
    EXPECT_EQ(kept.name, "n");
    for (const auto* map : {&kept.annotations, &kept.labels, &kept.allocatable, &kept.capacity})
      EXPECT_EQ(map->capacity(), 0U);
  }
}

// A body of two bytes each must not become gigabytes of nodes.
TEST(ReadCall, WhatIsNoNodeBecomesNone) {
  const LiveReader live(default_reader());
  for (const std::size_t count : {std::size_t{10}, k8s::kReadWholeBelow}) {
    FilterCall call;
    const Status read = read_call(call, live, call_with(many("0", count)), NodesForm::kSimulate);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().what, "Nodes.items[0]: node: expected an object, got number 0");
    EXPECT_TRUE(call.specs.empty());
    EXPECT_TRUE(call.args.nodes.empty());
  }
}

}  // namespace
}  // namespace tessera::service
