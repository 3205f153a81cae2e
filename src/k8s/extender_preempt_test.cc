#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s/decode.h"
#include "k8s/extender.h"

namespace tessera::k8s {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<PreemptArgs> decode(std::string_view body) {
  json::Parser parser;
  return decode_preempt_args(parser, body, {});
}

TEST(PreemptArgs, TheFormWithUidsOnly) {
  const auto args = decode(
      R"({"Pod":{"metadata":{"uid":"p"},"spec":{"priority":1000,"preemptionPolicy":"Never"}},"NodeNameToVictims":null,
          "NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},{"UID":"b"},{"UID":"a"}],"NumPDBViolations":1},"n2":null}})");
  ASSERT_TRUE(args) << args.error().what;
  EXPECT_EQ(args->pod.priority, 1000);
  EXPECT_TRUE(args->pod.never_preempts);
  ASSERT_EQ(args->nodes.size(), 2U);
  EXPECT_EQ(args->nodes[0].node, "n1");
  EXPECT_THAT(args->nodes[0].uids, ElementsAre("a", "b"));
  EXPECT_EQ(args->nodes[0].budget_violations, 1);
  EXPECT_TRUE(args->nodes[1].uids.empty());
}

TEST(PreemptArgs, TheFormWithWholePodsAndKeysInAnyCase) {
  const auto args = decode(
      R"({"pod":{"metadata":{"uid":"p"}},"nodenametovictims":{"n1":{"pods":[{"metadata":{"uid":"a"}}],"numpdbviolations":0}}})");
  ASSERT_TRUE(args) << args.error().what;
  ASSERT_EQ(args->nodes.size(), 1U);
  EXPECT_THAT(args->nodes[0].uids, ElementsAre("a"));
}

TEST(PreemptArgs, WhatCannotBeReadIsNamed) {
  struct Row {
    const char* body;
    const char* names;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"", "EOF"},
           {"[]", "preemption args"},
           {R"({"NodeNameToMetaVictims":{}})", "missing pod"},
           {R"({"Pod":{"spec":{"priority":"high"}}})", "spec.priority"},
           {R"({"Pod":{},"NodeNameToMetaVictims":[1]})", "NodeNameToMetaVictims"},
           {R"({"Pod":{},"NodeNameToMetaVictims":{"n1":5}})", R"(["n1"])"},
           {R"({"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":{}}}})", R"(["n1"].Pods)"},
           {R"({"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":7}]}}})", "Pods[0].UID"},
           {R"({"Pod":{},"NodeNameToMetaVictims":{"n1":{"Pods":[{}]}}})", "Pods[0].UID"},
           {R"({"Pod":{},"NodeNameToVictims":{"n1":{"Pods":[{"metadata":{}}]}}})",
            "Pods[0].metadata.uid"},
           {R"({"Pod":{},"NodeNameToMetaVictims":{"n1":{"NumPDBViolations":"1"}}})",
            "NumPDBViolations"},
       }) {
    const auto args = decode(row.body);
    ASSERT_FALSE(args) << row.body;
    EXPECT_THAT(args.error().what, HasSubstr(row.names)) << row.body;
  }
}

TEST(PreemptResult, AlwaysTheMetaForm) {
  EXPECT_EQ(encode_preempt_result({}), R"({"NodeNameToMetaVictims":{}})");
  EXPECT_EQ(
      encode_preempt_result({{.node = "n1", .uids = {"a", "b"}, .budget_violations = 2}}),
      R"({"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},{"UID":"b"}],"NumPDBViolations":2}}})");
}

Result<PodDisruptionBudget> budget(std::string_view text) {
  json::Parser parser;
  const auto value = parser.parse(text);
  if (!value) return tl::unexpected(value.error());
  return decode_budget(*value);
}

TEST(Budget, SelectorsAndWhatIsStillAllowed) {
  const auto read = budget(
      R"({"metadata":{"namespace":"d","name":"b","resourceVersion":"7"},"spec":{"selector":{"matchLabels":{"app":"a"},
          "matchExpressions":[{"key":"tier","operator":"In","values":["x","y"]},{"key":"old","operator":"DoesNotExist"}]}},
          "status":{"disruptionsAllowed":2}})");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->disruptions_allowed, 2);
  ASSERT_TRUE(read->selector);
  EXPECT_TRUE(read->selector->selects({{"tier", "y"}, {"app", "a"}}));
  EXPECT_FALSE(read->selector->selects({{"tier", "z"}, {"app", "a"}}));
  EXPECT_FALSE(read->selector->selects({{"tier", "x"}}));
  EXPECT_FALSE(read->selector->selects({{"tier", "x"}, {"app", "a"}, {"old", ""}}));
}

TEST(Budget, NoSelectorSelectsNobodyAnEmptyOneEverybody) {
  EXPECT_FALSE(budget(R"({"spec":{}})")->selector);
  const auto all = budget(R"({"spec":{"selector":{}}})");
  ASSERT_TRUE(all && all->selector);
  EXPECT_TRUE(all->selector->selects({}));
}

TEST(Budget, ExpressionsByOperator) {
  const auto selects = [](std::string match, const StringMap& labels) {
    LabelSelector s;
    s.expressions.push_back({"k", std::move(match), {"v"}});
    return s.selects(labels);
  };
  EXPECT_TRUE(selects("NotIn", {}));
  EXPECT_FALSE(selects("NotIn", {{"k", "v"}}));
  EXPECT_TRUE(selects("Exists", {{"k", ""}}));
  EXPECT_FALSE(selects("Exists", {}));
  EXPECT_FALSE(selects("Gt", {{"k", "v"}})) << "nobody knows this operator";
}

}  // namespace
}  // namespace tessera::k8s
