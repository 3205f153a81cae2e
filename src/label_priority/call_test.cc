// From body to body: spec/label-priority-extender.md sections 2 to 5 and the examples of section 7,
// byte by byte.
#include "label_priority/call.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "json/reader.h"

namespace tessera::label_priority {
namespace {

const std::string kA = R"({"metadata":{"name":"a","labels":{"priority.lixueduan.com":"10"}}})";
const std::string kB = R"({"metadata":{"name":"b"}})";
const std::string kExample =
    R"({"Pod":{"metadata":{"name":"p"}},"Nodes":{"metadata":{},"items":[)" + kA + "," + kB +
    R"(]},"NodeNames":null})";

enum class Verb { kFilter, kOnlyOne, kPrioritize };

Rules rules_of(bool compat) {
  Rules rules;
  rules.compat = compat;
  return rules;
}

std::string answer(Verb verb, const std::string& body, const Rules& rules) {
  const auto call = Call::read(body, rules);
  if (!call)
    return verb == Verb::kPrioritize ? std::string(kNoScores) : filter_error(call.error().what);
  if ((*call)->names_only()) {
    (*call)->look_up([](std::string_view name) -> NodeLabel {
      if (name == "ghost") return {LabelState::kUnknownNode, 0};
      if (name == "bare") return {};
      return {LabelState::kNumber, static_cast<std::int64_t>(name.size())};
    });
  }
  if (verb == Verb::kFilter) return (*call)->filter();
  return verb == Verb::kOnlyOne ? (*call)->filter_only_one() : (*call)->prioritize();
}

std::string compat(Verb verb, const std::string& body) {
  return answer(verb, body, rules_of(true));
}
std::string ours(Verb verb, const std::string& body) { return answer(verb, body, rules_of(false)); }

/// One node with the label for each value.
std::string nodes(const std::vector<std::pair<std::string, std::string>>& labelled) {
  std::string items;
  for (const auto& [name, value] : labelled) {
    items += items.empty() ? "" : ",";
    items += R"({"metadata":{"name":")" + name + R"(","labels":{"priority.lixueduan.com":")" +
             value + R"("}}})";
  }
  return R"({"Pod":{},"Nodes":{"metadata":{},"items":[)" + items + R"(]},"NodeNames":null})";
}

TEST(Compat, TheExamplesOnTheWire) {
  const std::string kept = R"({"Nodes":{"metadata":{},"items":[)" + kA +
                           R"(]},"NodeNames":["a"],"FailedNodes":null,)"
                           R"("FailedAndUnresolvableNodes":null,"Error":""})"
                           "\n";
  EXPECT_EQ(compat(Verb::kFilter, kExample), kept);
  EXPECT_EQ(compat(Verb::kOnlyOne, kExample), kept);
  EXPECT_EQ(compat(Verb::kPrioritize, kExample), "[{\"Host\":\"a\",\"Score\":10}]\n");
  const std::string nobody =
      R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,)"
      R"("Error":"all node do not have label priority.lixueduan.com"})"
      "\n";
  for (const Verb verb : {Verb::kFilter, Verb::kOnlyOne}) {
    EXPECT_EQ(compat(verb, R"({"Pod":{},"Nodes":{"metadata":{},"items":[)" + kB + "]}}"), nobody);
    EXPECT_EQ(compat(verb, R"({"Pod":{},"Nodes":{"metadata":{},"items":[]}})"), nobody);
    EXPECT_EQ(compat(verb, R"({"Pod":{},"Nodes":{"metadata":{},"items":null}})"), nobody);
  }
}

std::string error_body(const std::string& text) {
  return R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,)"
         R"("Error":")" +
         text + "\"}\n";
}

TEST(Compat, WithoutNodesThereIsNoAnswer) {
  for (const char* body : {R"({"Pod":{},"Nodes":null,"NodeNames":["a"]})", R"({"Pod":{}})", "{}",
                           "null", R"({"nodes":null,"nodeNames":null})"}) {
    EXPECT_EQ(compat(Verb::kFilter, body), error_body("nodes is nil in extender args")) << body;
    EXPECT_EQ(compat(Verb::kOnlyOne, body), error_body("nodes is nil in extender args")) << body;
    EXPECT_EQ(compat(Verb::kPrioritize, body), "[]\n") << body;
  }
}

TEST(Call, WhatCannotBeReadIsAnErrorInTheAnswer) {
  for (const bool as_original : {true, false}) {
    const Rules rules = rules_of(as_original);
    EXPECT_EQ(answer(Verb::kFilter, "", rules), error_body("EOF"));
    EXPECT_EQ(answer(Verb::kOnlyOne, "", rules), error_body("EOF"));
    EXPECT_EQ(answer(Verb::kPrioritize, "", rules), "[]\n");
    EXPECT_EQ(answer(Verb::kFilter, R"({"Nodes":{)", rules), error_body("unexpected EOF"));
    for (const char* broken : {"[]", "nodes", R"({"Nodes":[]})", R"({"Nodes":{"items":{}}})",
                               R"({"Nodes":{"items":[7]}})", R"({"NodeNames":[7]})",
                               R"({"Nodes":{"items":[{"metadata":{"name":7}}]}})"}) {
      json::Parser parser;
      const std::string body = answer(Verb::kFilter, broken, rules);
      const auto value = parser.parse(body);
      ASSERT_TRUE(value) << broken;
      EXPECT_NE((*value)["Error"].string_or(""), "") << broken;
      EXPECT_EQ(answer(Verb::kPrioritize, broken, rules), "[]\n") << broken;
    }
  }
}

TEST(Compat, ValuesAndOrder) {
  const std::string body = nodes({{"x", "high"}, {"y", "7"}, {"z", "7"}, {"w", ""}});
  EXPECT_EQ(compat(Verb::kPrioritize, body),
            "[{\"Host\":\"y\",\"Score\":7},{\"Host\":\"z\",\"Score\":7}]\n");
  json::Parser parser;
  const auto all = parser.parse(compat(Verb::kFilter, body));
  EXPECT_EQ((*all)["NodeNames"].dump(), R"(["x","y","z","w"])") << "the value does not matter";
  const auto one = parser.parse(compat(Verb::kOnlyOne, body));
  EXPECT_EQ((*one)["NodeNames"].dump(), R"(["z"])") << "of equal ones the last";
  EXPECT_EQ((*one)["Nodes"]["items"].size(), 1U);
  const auto none_valid = parser.parse(compat(Verb::kOnlyOne, nodes({{"x", "high"}})));
  EXPECT_EQ((*none_valid)["NodeNames"].dump(), R"(["x"])");
  EXPECT_EQ(compat(Verb::kPrioritize, nodes({{"a", "1000000000000000000"}})),
            "[{\"Host\":\"a\",\"Score\":1000000000000000000}]\n");
}

TEST(Call, KeysMatchInAnyCase) {
  const std::string lower =
      R"({"pod":{},"nodes":{"items":[)" + kA + "," + kB + R"(]},"nodeNames":null})";
  EXPECT_EQ(compat(Verb::kFilter, lower), compat(Verb::kFilter, kExample));
  EXPECT_EQ(ours(Verb::kFilter, lower), ours(Verb::kFilter, kExample));
}

TEST(Call, NodesAreSentBackByteForByte) {
  const std::string odd =
      R"({ "metadata" : {"labels":{"priority.lixueduan.com":"1"}, "name":"é\u00e9" ,)"
      R"("creationTimestamp":null},"status":{"x":[1e3, 2.50]} , "new":{}})";
  const std::string body = R"({"Nodes":{"items":[ )" + odd + " ]}}";
  for (const bool as_original : {true, false}) {
    EXPECT_NE(answer(Verb::kFilter, body, rules_of(as_original)).find("[" + odd + "]"),
              std::string::npos);
  }
}

TEST(Ours, NodesThatAreDroppedAreNamed) {
  EXPECT_EQ(ours(Verb::kFilter, kExample),
            R"({"Nodes":{"metadata":{},"items":[)" + kA +
                R"(]},"NodeNames":["a"],"FailedNodes":null,"FailedAndUnresolvableNodes":)"
                R"({"b":"node has no label priority.lixueduan.com"},"Error":""})"
                "\n");
  EXPECT_EQ(ours(Verb::kFilter, R"({"Nodes":{"items":[)" + kB + "]}}"),
            R"({"Nodes":{"metadata":{},"items":[]},"NodeNames":[],"FailedNodes":null,)"
            R"("FailedAndUnresolvableNodes":{"b":"node has no label priority.lixueduan.com"},)"
            R"("Error":""})"
            "\n");
  EXPECT_EQ(ours(Verb::kFilter, R"({"Nodes":{"items":[]}})"),
            R"({"Nodes":{"metadata":{},"items":[]},"NodeNames":[],"FailedNodes":null,)"
            R"("FailedAndUnresolvableNodes":null,"Error":""})"
            "\n");
  EXPECT_EQ(ours(Verb::kFilter, R"({"Nodes":null,"NodeNames":null})"),
            error_body("nodes is nil in extender args"));
}

TEST(Ours, OnlyTheBest) {
  EXPECT_EQ(ours(Verb::kOnlyOne, R"({"NodeNames":["bb","aa","c","bare","ghost"]})"),
            R"({"Nodes":null,"NodeNames":["aa"],"FailedNodes":{)"
            R"("bb":"another node is preferred by label priority.lixueduan.com",)"
            R"("c":"another node is preferred by label priority.lixueduan.com",)"
            R"("ghost":"node is not known yet"},"FailedAndUnresolvableNodes":)"
            R"({"bare":"node has no label priority.lixueduan.com"},"Error":""})"
            "\n");
  EXPECT_EQ(ours(Verb::kOnlyOne, R"({"NodeNames":["bare"]})"),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":null,"FailedAndUnresolvableNodes":)"
            R"({"bare":"node has no label priority.lixueduan.com"},"Error":""})"
            "\n");
}

TEST(Ours, NamesAlone) {
  EXPECT_EQ(ours(Verb::kFilter, R"({"NodeNames":["aa","bare","ghost"]})"),
            R"({"Nodes":null,"NodeNames":["aa"],"FailedNodes":{"ghost":"node is not known yet"},)"
            R"("FailedAndUnresolvableNodes":{"bare":"node has no label priority.lixueduan.com"},)"
            R"("Error":""})"
            "\n");
  EXPECT_EQ(ours(Verb::kFilter, R"({"NodeNames":[]})"),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":null,"FailedAndUnresolvableNodes":null,)"
            R"("Error":""})"
            "\n");
  EXPECT_EQ(ours(Verb::kPrioritize, R"({"NodeNames":["aa","bare","ghost","c"]})"),
            "[{\"Host\":\"aa\",\"Score\":2},{\"Host\":\"c\",\"Score\":1}]\n");
  Rules rules;
  rules.label_required = false;
  EXPECT_EQ(answer(Verb::kPrioritize, R"({"NodeNames":["aa","bare","ghost"]})", rules),
            "[{\"Host\":\"aa\",\"Score\":2},{\"Host\":\"bare\",\"Score\":0},"
            "{\"Host\":\"ghost\",\"Score\":0}]\n");
  EXPECT_EQ(answer(Verb::kFilter, R"({"NodeNames":["aa","bare","ghost"]})", rules),
            R"({"Nodes":null,"NodeNames":["aa","bare","ghost"],"FailedNodes":null,)"
            R"("FailedAndUnresolvableNodes":null,"Error":""})"
            "\n");
}

TEST(Ours, TheWorkedExampleOfThePage) {
  std::ifstream file(TESSERA_SOURCE_DIR "/docs/label-priority.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "```json\n";
  const std::size_t from = page.find(begin);
  ASSERT_NE(from, std::string::npos);
  const std::size_t at = from + begin.size();
  const std::string body = page.substr(at, page.find("\n```", at) - at);
  for (const Verb verb : {Verb::kFilter, Verb::kOnlyOne, Verb::kPrioritize}) {
    const std::string shown = "```\n" + ours(verb, body) + "```";
    EXPECT_NE(page.find(shown), std::string::npos) << shown;
  }
}

TEST(Ours, AnotherLabel) {
  Rules rules;
  rules.label = "example.com/rank";
  const std::string body =
      R"({"Nodes":{"items":[{"metadata":{"name":"r","labels":{"example.com/rank":"3"}}},)" + kA +
      "]}}";
  EXPECT_EQ(answer(Verb::kPrioritize, body, rules), "[{\"Host\":\"r\",\"Score\":3}]\n");
  EXPECT_NE(
      answer(Verb::kFilter, body, rules).find(R"({"a":"node has no label example.com/rank"})"),
      std::string::npos);
}

}  // namespace
}  // namespace tessera::label_priority
