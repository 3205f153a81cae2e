// Large bodies are read node by node; here small ones are, and must give what the plain reading
// gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <string_view>
#include <vector>

#include "k8s/extender.h"

namespace tessera::k8s {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kNodeByNode = 0, kWhole = std::size_t{1} << 40;

struct Reading {
  json::Parser parser;
  std::string storage;
  Result<ExtenderArgs> args;
  Reading(std::string body, std::size_t whole_below)
      : args(decode_extender_args(parser, std::move(body), storage, {}, whole_below)) {}
};

/// Of text that is no JSON the two readings may name different faults.
std::string words(const Error& error) {
  for (const std::string_view syntax : {"EOF", "invalid JSON"}) {
    if (error.what.find(syntax) != std::string::npos) return "no JSON";
  }
  return error.what;
}

std::string described(const StringMap& map) {
  std::string out;
  for (const auto& [key, value] : map) out += key + "=" + value + ";";
  return out;
}

/// Everything that a reading says, in one text.
std::string described(const Reading& reading) {
  if (!reading.args) return "error " + words(reading.args.error());
  const ExtenderArgs& args = *reading.args;
  std::string out = "pod " + args.pod.name;
  if (args.has_names) out += "\nnames";
  for (const std::string_view name : args.names) (out += ' ') += name;
  if (args.has_nodes) out += "\nnodes";
  for (std::size_t i = 0; i < args.nodes.size(); ++i) {
    const Node& node = args.nodes[i];
    out += "\n" + node.name + " " + node.uid + " " + described(node.annotations) +
           described(node.labels) + described(node.allocatable) + " ";
    out += args.raw_nodes.at(i);
  }
  return out;
}

void expect_same(const std::string& body) {
  const Reading whole(body, kWhole);
  const Reading parts(body, kNodeByNode);
  ASSERT_EQ(described(parts), described(whole)) << body;
  if (!parts.args) return;
  for (const std::string_view text : parts.args->raw_nodes) {  // views, not copies
    ASSERT_GE(text.data(), parts.storage.data());
    ASSERT_LE(text.data() + text.size(), parts.storage.data() + parts.storage.size());
  }
}

TEST(ExtenderNodes, AreReadAsFromTheWhole) {
  for (
      const char* body : {
          R"({"Pod":{"metadata":{"name":"p"}},"Nodes":{"metadata":{},"items":[{"metadata":{"name":"n1"}},{"metadata":{"name":"n\u0032","annotations":{"a":"]}"}}}]},"NodeNames":null})",
          R"({"NODES":{"ITEMS":[{"metadata":{"name":"n1"}}]},"nodenames":["x","\u0079"],"pod":{}})",
          R"({"Nodes":{"items":[{"metadata":{"name":"n1"}}]},"nodes":null,"Pod":{}})",
          R"({"Nodes":null,"nodes":{"items":[{"metadata":{"name":"n1"}}]},"Pod":{}})",
          R"({"Nodes":{"items":[{}],"items":[{"metadata":{"name":"n1"}}]},"Pod":{}})",
          R"({"Nodes":{"items":[{}]},"Nodes":{"items":[{"metadata":{"name":"n2"}}]},"Pod":{}})",
          R"({"Nodes":{"items":[]},"Pod":{}})",
          R"({"Nodes":{"items":null},"Pod":{}})",
          R"({"Nodes":{},"Pod":{}})",
          R"({"Pod":{"Nodes":{"items":[{}]}},"NodeNames":["n1"]})",
          R"( { "Pod" : { } , "Nodes" : { "items" : [ { } , { } ] } } )",
          R"({"Pod":{},"Nodes":{"items":[{}]}} trailing)",
          R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a","name":"b"}}]}})",
          "",
          "null",
          "[]",
      }) {
    expect_same(body);
  }
}

TEST(ExtenderNodes, ErrorsNameFieldAndValueWhicheverWayTheBodyIsRead) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"Pod":{},"Nodes":{"items":[{},null]}})",
       "Nodes.items[1]: node: expected an object, got null"},
      {R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":7}},5]}})",
       "Nodes.items[0]: metadata.name: expected a string, got number 7"},
      {R"({"Pod":5,"Nodes":{"items":[null]}})", "Pod: pod: expected an object, got number 5"},
      {R"({"Pod":{},"NodeNames":3,"Nodes":{"items":[null]}})",
       "NodeNames: expected an array, got number 3"},
      {R"({"Nodes":{"items":[{}]}})", "extender args missing pod"},
      {R"({"Pod":{},"Nodes":{"items":{}}})", "Nodes.items: expected an array, got an object"},
      {R"({"Pod":{},"Nodes":7})", "Nodes: expected an object, got number 7"},
      {R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"n1")", "unexpected EOF"},
      {R"({"Pod":{},"Nodes":{"items":[{}]},)", "unexpected EOF"},
  };
  for (const auto& [body, error] : rows) {
    for (const std::size_t whole_below : {kNodeByNode, kWhole}) {
      const Reading reading(body, whole_below);
      ASSERT_FALSE(reading.args) << body;
      EXPECT_EQ(reading.args.error().what, error) << body << whole_below;
    }
  }
}

TEST(ExtenderNodes, ANodeThatIsNoJsonIsNamed) {
  const Reading reading(R"({"Pod":{},"Nodes":{"items":[{},{"metadata":{"name":tru}}]}})",
                        kNodeByNode);
  ASSERT_FALSE(reading.args);
  EXPECT_THAT(reading.args.error().what, HasSubstr("Nodes.items[1]: invalid JSON: "));
}

TEST(ExtenderNodes, WithoutThePodForThoseWhoDoNotNeedIt) {
  json::Parser parser;
  std::string storage;
  const auto args = decode_candidates(
      parser, R"({"Nodes":{"items":[{"metadata":{"name":"n1"}}, {} ]}})", storage, {}, kNodeByNode);
  ASSERT_TRUE(args) << args.error().what;
  EXPECT_THAT(args->raw_nodes, ElementsAre(R"({"metadata":{"name":"n1"}})", "{}"));
  EXPECT_EQ(args->nodes.at(0).name, "n1");
}

// ---- random bodies

using Strings = std::vector<std::string>;

std::string pick(const Strings& from) { return *rc::gen::elementOf(from); }

std::string blanks() { return pick({"", "", "", " ", "\n\t"}); }

std::string random_node() {
  return pick({
      R"({"metadata":{"name":"n1"}})",
      R"({"metadata" : {"name":"n\u0031","uid":"u","labels":{"l":"\"}]"}},"x":[{"y":[]},[1.50,-2e3]]})",
      R"({"metadata":{"annotations":{"a":"{[\\\"","b":"é\ud83d\ude00 ü"}},"items":[{}]})",
      R"({"status":{"allocatable":{"cpu":"8","memory":1.5,"pods":null}},"Nodes":{"items":[]}})",
      R"({"status":{"allocatable":{"cpu":{}}}})",
      R"({"metadata":{"name":1}})",
      "{}",
      "null",
      "[{}]",
      R"("x\\")",
      "1e5",
  });
}

std::string random_list() {
  std::string out = "[" + blanks();
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += blanks() + "," + blanks();
    out += random_node();
  }
  return out + blanks() + "]";
}

std::string random_object(const Strings& members) {
  std::string out = "{";
  for (const std::string& member : members) {
    if (out.size() > 1) out += ",";
    out += blanks() + member;
  }
  return out + blanks() + "}";
}

std::string random_nodes() {
  Strings members;
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    members.push_back(
        pick({R"("metadata":{})", R"("items":)" + random_list(), R"("items":)" + random_list(),
              R"("Items":)" + random_list(), R"("it\u0065ms":)" + random_list(), R"("items":null)",
              R"("items":7)", R"("x":{"items":[{}]})"}));
  }
  return pick({random_object(members), random_object(members), random_object(members), "null", "[]",
               R"("items")"});
}

std::string random_member() {
  return pick({R"("Pod":{"metadata":{"name":"p"}})", R"("Pod":{"spec":{"nodeName":3}})",
               R"("pod":{})", R"("Pod":null)", R"("Nodes")" + blanks() + ":" + random_nodes(),
               R"("Nodes":)" + random_nodes(), R"("nodes":)" + random_nodes(),
               R"("\u004eODES":)" + random_nodes(), R"("NodeNames":["n1","\u00fc"])",
               R"("NodeNames":null)", R"("nodenames":[1])", R"("more":{"Nodes":{"items":[{}]}})"});
}

std::string random_body() {
  Strings members = {R"("Pod":{"metadata":{"name":"p"}})"};
  const int count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i) members.push_back(random_member());
  std::rotate(members.begin(),
              members.begin() +
                  static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, members.size())),
              members.end());
  return blanks() + random_object(members) + blanks();
}

/// Cut off, or with one byte more, less or other than it should have.
void spoil(std::string& body) {
  const auto at = *rc::gen::inRange<std::size_t>(0, body.size());
  const std::string other = pick({"{", "}", "[", "]", "\"", "\\", ",", ":", "x", "\xff", "\n"});
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      body.resize(at);
      return;
    case 1:
      body.erase(at, 1);
      return;
    case 2:
      body.insert(at, other);
      return;
    default:
      body.replace(at, 1, other);
  }
}

TEST(ExtenderNodesProperty, BothReadingsSayTheSame) {
  EXPECT_TRUE(rc::check([] {
    std::string body = random_body();
    if (*rc::gen::inRange(0, 3) == 0) spoil(body);
    const Reading whole(body, kWhole);
    const Reading parts(body, kNodeByNode);
    RC_LOG(body);
    RC_ASSERT(described(parts) == described(whole));
  }));
}

std::string joined(const std::vector<std::string_view>& pieces) {
  std::string out;
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

TEST(ExtenderNodes, AnAnswerInPiecesSaysWhatTheCopiedOneSays) {
  EXPECT_TRUE(rc::check("any nodes of any body", [] {
    const auto nodes = *rc::gen::inRange(0, 12);
    std::string body = R"({"Pod":{"metadata":{"name":"p"}},"Nodes":{"items":[)";
    for (int i = 0; i < nodes; ++i) {
      if (i > 0) body += *rc::gen::element<std::string>(",", ",", " ,", ", ", "\n,\t");
      body += R"({"metadata":{"name":"n)" + std::to_string(i) + "\"}}";
    }
    body += "]}}";
    const Reading reading(body, kNodeByNode);
    RC_ASSERT(reading.args);
    FilterResult result;
    result.names_form = false;
    result.null_result = *rc::gen::inRange(0, 10) == 0;
    for (const std::string_view node : reading.args->raw_nodes) {
      if (*rc::gen::inRange(0, 3) > 0) {
        result.raw_nodes.push_back(node);
      } else {
        result.failed.emplace_back("n", "why \"not\"");
      }
    }
    std::string text = "used before";
    RC_ASSERT(joined(gather_filter_result(result, reading.storage, text)) ==
              encode_filter_result(result));
  }));
}

TEST(ExtenderNodes, NeighboursAreOnePiece) {
  const Reading reading(R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"n1"}},{"metadata":)"
                        R"({"name":"n2"}},{"metadata":{"name":"n3"}}]}})",
                        kNodeByNode);
  FilterResult result;
  result.names_form = false;
  result.raw_nodes = reading.args->raw_nodes;
  std::string text;
  const auto pieces = gather_filter_result(result, reading.storage, text);
  ASSERT_EQ(pieces.size(), 3U) << "what comes before, the nodes, what comes behind";
  EXPECT_EQ(pieces[1].data(), result.raw_nodes[0].data()) << "a view, not a copy";
}

}  // namespace
}  // namespace tessera::k8s
