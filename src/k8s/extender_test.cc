#include "k8s/extender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::k8s {
namespace {

using testing::ElementsAre;

/// What a request handler keeps while it answers.
struct Request {
  json::Parser parser;
  std::string storage;
  Result<ExtenderArgs> args;
  explicit Request(std::string body)
      : args(decode_extender_args(parser, std::move(body), storage, {})) {}
};

TEST(ExtenderArgs, NamesForm) {
  const Request request(
      R"({"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u"}},"Nodes":null,"NodeNames":["n1","n2"]})");
  ASSERT_TRUE(request.args) << request.args.error().what;
  EXPECT_EQ(request.args->pod.uid, "u");
  EXPECT_TRUE(request.args->has_names);
  EXPECT_FALSE(request.args->has_nodes);
  EXPECT_THAT(request.args->names, ElementsAre("n1", "n2"));
}

TEST(ExtenderArgs, OuterKeysInAnyCaseAndUnknownOnesIgnored) {
  const Request request(
      R"({"pod":{},"nodenames":["n1"],"NODES":{"ITEMS":[{"metadata":{"name":"n2"}}]},"extra":[1]})");
  ASSERT_TRUE(request.args) << request.args.error().what;
  EXPECT_THAT(request.args->names, ElementsAre("n1"));
  ASSERT_EQ(request.args->nodes.size(), 1U);
  EXPECT_EQ(request.args->nodes[0].name, "n2");
}

TEST(ExtenderArgs, NodesFormKeepsTheReceivedText) {
  const Request request(
      R"({"Pod":{},"NodeNames":null,"Nodes":{"metadata":{},"items":[ {"metadata": {"name":"n\u0031"}, "x":"}]\"" } ,{"metadata":{"name":"n2"},"n":1.50}]}})");
  ASSERT_TRUE(request.args) << request.args.error().what;
  EXPECT_FALSE(request.args->has_names);
  EXPECT_TRUE(request.args->has_nodes);
  EXPECT_EQ(request.args->nodes[0].name, "n1");
  EXPECT_THAT(request.args->raw_nodes,
              ElementsAre(R"({"metadata": {"name":"n\u0031"}, "x":"}]\"" })",
                          R"({"metadata":{"name":"n2"},"n":1.50})"));

  FilterResult result;
  result.names_form = false;
  result.failed_null = true;
  result.raw_nodes = {request.args->raw_nodes[1]};
  EXPECT_EQ(
      encode_filter_result(result),
      R"({"Nodes":{"metadata":{},"items":[{"metadata":{"name":"n2"},"n":1.50}]},"NodeNames":null,)"
      R"("FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST(ExtenderArgs, EmptyListsAreThere) {
  const Request names(R"({"Pod":{},"NodeNames":[]})");
  EXPECT_TRUE(names.args->has_names);
  const Request nodes(R"({"Pod":{},"Nodes":{"metadata":{},"items":null}})");
  EXPECT_TRUE(nodes.args->has_nodes);
  EXPECT_TRUE(nodes.args->nodes.empty());
  const Request none(R"({"Pod":{}})");
  EXPECT_FALSE(none.args->has_names || none.args->has_nodes);
}

struct BadCase {
  std::string_view body, error;
};
void PrintTo(const BadCase& c, std::ostream* out) { *out << c.body; }

class ExtenderArgsRefused : public testing::TestWithParam<BadCase> {};
TEST_P(ExtenderArgsRefused, InWords) {
  const Request request{std::string(GetParam().body)};
  ASSERT_FALSE(request.args);
  EXPECT_EQ(request.args.error().what, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ExtenderArgsRefused,
    testing::Values(BadCase{"", "EOF"}, BadCase{"\n", "EOF"},
                    BadCase{R"({"Pod":{"metadata")", "unexpected EOF"},
                    BadCase{"null", "extender args: expected an object, got null"},
                    BadCase{"[]", "extender args: expected an object, got an array"},
                    BadCase{"{}", "extender args missing pod"},
                    BadCase{R"({"Pod":null})", "extender args missing pod"},
                    BadCase{R"({"Pod":[]})", "Pod: pod: expected an object, got an array"},
                    BadCase{R"({"Pod":{"spec":{"nodeName":1}}})",
                            "Pod: spec.nodeName: expected a string, got number 1"},
                    BadCase{R"({"Pod":{},"NodeNames":"n1"})",
                            R"(NodeNames: expected an array, got string "n1")"},
                    BadCase{R"({"Pod":{},"NodeNames":["n1",2]})",
                            "NodeNames[1]: expected a string, got number 2"},
                    BadCase{R"({"Pod":{},"Nodes":[]})", "Nodes: expected an object, got an array"},
                    BadCase{R"({"Pod":{},"Nodes":{"items":{}}})",
                            "Nodes.items: expected an array, got an object"},
                    BadCase{R"({"Pod":{},"Nodes":{"items":[{},null]}})",
                            "Nodes.items[1]: node: expected an object, got null"}));

TEST(FilterResult, SuccessNamesOneNode) {
  FilterResult result;
  result.names = {"n2"};
  result.failed_null = true;
  EXPECT_EQ(
      encode_filter_result(result),
      R"({"Nodes":null,"NodeNames":["n2"],"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST(FilterResult, NothingFitsNamesEveryNodeSorted) {
  FilterResult result;
  result.null_result = true;
  result.failed = {{"n2", "a<b"}, {"n10", "x"}, {"n1", "old"}, {"n1", "y"}};
  result.unresolvable = {{"n4", "u"}, {"n3", "v"}};
  EXPECT_EQ(encode_filter_result(result),
            R"({"Nodes":null,"NodeNames":null,"FailedNodes":{"n1":"y","n10":"x","n2":"a\u003cb"},)"
            R"("FailedAndUnresolvableNodes":{"n3":"v","n4":"u"},"Error":""})");
  result.failed.clear();
  result.unresolvable.clear();
  EXPECT_EQ(
      encode_filter_result(result),
      R"({"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST(FilterResult, NoNamesIsAnEmptyListNotNull) {
  FilterResult result;
  result.failed_null = true;
  EXPECT_THAT(encode_filter_result(result), testing::HasSubstr(R"("NodeNames":[],)"));
  result.names_form = false;
  EXPECT_THAT(encode_filter_result(result),
              testing::HasSubstr(R"("Nodes":{"metadata":{},"items":[]},"NodeNames":null)"));
}

TEST(FilterResult, AnErrorLeavesTheRestNull) {
  EXPECT_EQ(
      encode_filter_error("extender args missing pod"),
      R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":"extender args missing pod"})");
}

TEST(BindArgs, AreReadInAnyCase) {
  json::Parser parser;
  const auto args =
      decode_bind_args(parser, R"({"podName":"p","PodNamespace":"d","PodUID":"u","NODE":"n1"})");
  ASSERT_TRUE(args) << args.error().what;
  EXPECT_EQ(args->pod_name, "p");
  EXPECT_EQ(args->pod_namespace, "d");
  EXPECT_EQ(args->pod_uid, "u");
  EXPECT_EQ(args->node, "n1");
}

class BindArgsRefused : public testing::TestWithParam<BadCase> {};
TEST_P(BindArgsRefused, NamingTheField) {
  json::Parser parser;
  const auto args = decode_bind_args(parser, GetParam().body);
  ASSERT_FALSE(args);
  EXPECT_EQ(args.error().what, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, BindArgsRefused,
    testing::Values(BadCase{"", "EOF"}, BadCase{"null", "bind args: expected an object, got null"},
                    BadCase{"[]", "bind args: expected an object, got an array"},
                    BadCase{"{}", "bind args missing PodName"},
                    BadCase{R"({"PodName":"","Node":"n"})", "bind args missing PodName"},
                    BadCase{R"({"PodName":"p"})", "bind args missing Node"},
                    BadCase{R"({"PodName":"p","Node":null})", "bind args missing Node"},
                    BadCase{R"({"PodName":"p","Node":7})", "Node: expected a string, got number 7"},
                    BadCase{R"({"PodName":"p","Node":"n","PodUID":{}})",
                            "PodUID: expected a string, got an object"}));

TEST(BindResult, IsOneField) {
  EXPECT_EQ(encode_bind_result(""), R"({"Error":""})");
  EXPECT_EQ(encode_bind_result("a \"b\""), R"({"Error":"a \"b\""})");
}

TEST(HostPriorities, AreABareArrayWithAnEntryForEveryHost) {
  const std::vector<std::string_view> hosts = {"n1", "a \"b\"", "n3"};
  const std::vector<std::int64_t> scores = {0, 10, 7};
  EXPECT_EQ(encode_host_priorities(hosts, scores),
            R"([{"Host":"n1","Score":0},{"Host":"a \"b\"","Score":10},{"Host":"n3","Score":7}])");
  EXPECT_EQ(encode_host_priorities({}, {}), "[]");
  std::string text = "what stood there before";
  write_host_priorities(std::vector<std::string_view>{"n1"}, std::vector<std::int64_t>{-5}, text);
  EXPECT_EQ(text, R"([{"Host":"n1","Score":-5}])");
}

}  // namespace
}  // namespace tessera::k8s
