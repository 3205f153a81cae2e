// Whatever a body looks like, reading it in two parts says the same as reading it whole.
#include "k8s/extender_names.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "k8s/extender.h"

namespace tessera::k8s {
namespace {

constexpr std::string_view kPod =
    R"({"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"c"}]}})";

std::string body(std::string_view names, std::string_view pod = kPod) {
  return R"({"Pod":)" + std::string(pod) + R"(,"Nodes":null,"NodeNames":)" + std::string(names) +
         "}";
}

bool in_two_parts(const std::string& text) {
  std::vector<std::string_view> names;
  return split_names_body(text, names).has_value();
}

/// The names, or the error.
std::string read(const std::string& text) {
  json::Parser parser;
  std::string storage;
  const auto args = decode_extender_args(parser, std::string(text), storage, {});
  if (!args) return "error: " + args.error().what;
  std::string out = args->has_names ? args->pod.name + " on" : "no names";
  for (const std::string_view name : args->names) out += " " + std::string(name);
  return out;
}

TEST(SplitNamesBody, TakesTheUsualBodyApart) {
  EXPECT_TRUE(in_two_parts(body(R"(["n1","n2","a-node-with-a-name-longer-than-one-register"])")));
  EXPECT_EQ(read(body(R"(["n1","n2"])")), "p on n1 n2");
  EXPECT_EQ(read(body("[]")), "p on");
  EXPECT_EQ(read(body(R"(["n1"])") + "\n"), "p on n1") << "as Go's encoder ends it";
}

TEST(SplitNamesBody, LeavesEverythingElseToTheParser) {
  struct Row {
    std::string text, said;
    bool parts = false;
  };
  const std::string between = R"(,"Nodes":null,"NodeNames":["x"])";
  const std::vector<Row> rows = {
      {body(R"(["n1", "n2"])"), "p on n1 n2"},
      {body(R"(["n\u0031"])"), "p on n1"},
      {body(R"(["n\"1"])"), "p on n\"1"},
      {body("[\"n\xc3\xa4\"]"), "p on n\xc3\xa4"},
      {body("[\"n\t\"]"), "error: invalid JSON"},
      {body("[\"n\xff\"]"), "error: invalid JSON"},
      {body(R"(["n1",])"), "error: invalid JSON"},
      {body(R"(["n1""n2"])"), "error: invalid JSON"},
      {body(R"([7])"), "error: NodeNames[0]: expected a string"},
      {body(R"(["n1",null])"), "error: NodeNames[1]: expected a string"},
      {body("null"), "no names"},
      {body(R"(["n1"],"NodeNames":["n2"])"), "p on n2"},
      {body(R"(["n1"])") + "}", "error: invalid JSON"},
      {body(R"(["n1"])").substr(0, body(R"(["n1"])").size() - 1), "error: unexpected EOF"},
      {body(R"(["n1)").substr(0, body(R"(["n1)").size() - 1), "error: unexpected EOF"},
      {R"({"Pod":{"metadata":{"name":"p")" + between + R"(}},"NodeNames":["n1"]})", "p on n1"},
      // Taken apart, and then the pod is none.
      {body(R"(["n1"])", R"({"metadata":)"), "error: unexpected EOF", true},
      {body(R"(["n1"])", ""), "error: invalid JSON", true},
      {body(R"(["n1"])", "null"), "error: extender args missing pod", true},
      {body(R"(["n1"])", "7"), "error: Pod: pod: expected an object", true},
      {body(R"(["n1"])", R"({},"Pod":{"metadata":{"name":"q"}})"), "q on n1", true},
      {body(R"(["n1"])", R"({"metadata":{"name":7}})"), "error: Pod: metadata.name: expected",
       true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(in_two_parts(row.text), row.parts) << row.text;
    EXPECT_EQ(read(row.text).substr(0, row.said.size()), row.said) << row.text;
  }
}

TEST(SplitNamesBody, FindsEveryByteThatIsNotPlainWhereverItStands) {
  for (std::size_t length = 1; length < 40; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      std::string name(length, 'a');
      for (const char odd : {'\\', '\t', '\x7f', '\x80', '\xff', '\0'}) {
        name[at] = odd;
        EXPECT_FALSE(in_two_parts(body("[\"" + name + "\"]"))) << length << " " << at;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::k8s
