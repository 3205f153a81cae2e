// /v1/explain and /v1/simulate: answers that reserve nothing.
#include <fmt/format.h>

#include "harness.h"

namespace tessera::test {
namespace {

class ExplainTest : public ClusterTest {
 protected:
  struct Answer {
    int status = 0;
    std::string body;
    std::shared_ptr<json::Parser> parser = std::make_shared<json::Parser>();
    json::Value root;
  };
  Answer read(const client::ApiResponse& response) {
    Answer out{.status = response.status, .body = response.body};
    const auto root = out.parser->parse(response.body);
    EXPECT_TRUE(root) << response.body;
    if (root) out.root = *root;
    return out;
  }
  Answer explain(const std::string& query) { return read(get("/v1/explain?" + query)); }
  Answer post(const std::string& path, const std::string& body) {
    return read(http_->call({.method = "POST", .path = path, .body = body}));
  }
  static std::string text(json::Value value) { return std::string(value.string_or("?")); }
  /// The verdict of a node.
  static json::Value verdict(const Answer& answer, const std::string& node) {
    json::Value found;
    answer.root["verdicts"].for_each_element([&](json::Value v) {
      if (v["node"].string_or("") == node) found = v;
    });
    return found;
  }
};

TEST_F(ExplainTest, AManifestIsPlacedWithEveryNodesVerdictAndNothingIsReserved) {
  add_node("n1");
  add_node("n2");
  add_running("a", "n1", 20'000);
  start_server();
  const Answer answer = post("/v1/explain", pod_json("new", {.memory = 10'000, .cores = 20}));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(text(answer.root["state"]), "not stored");
  EXPECT_EQ(text(answer.root["role"]), "leader");
  EXPECT_EQ(text(answer.root["decision"]["node"]), "n2");
  EXPECT_EQ(text(answer.root["decision"]["annotations"]["hami.io/vgpu-devices-allocated"]),
            "n2-card0,NVIDIA,10000,20:;");
  EXPECT_EQ(verdict(answer, "n2")["fits"].boolean(), true);
  EXPECT_EQ(text(verdict(answer, "n1")["reason"]), "1/1 CardInsufficientMemory");
  json::Value cards;
  verdict(answer, "n1")["cards"].for_each_element([&](json::Value v) { cards = v; });
  EXPECT_EQ(cards["freeMemory"].integer(), 4576);
  EXPECT_EQ(cards["freeSlots"].integer(), 9);
  EXPECT_EQ(metric("tessera_reservations"), 0);
  EXPECT_EQ(calls("POST events"), 0U);
}

TEST_F(ExplainTest, APodThatFitsNowhereIsToldWhatWouldFit) {
  add_node("n1");
  start_server();
  add_pod("p", {.memory = 30'000});
  settle();
  const Answer answer = explain("namespace=default&name=p");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(text(answer.root["state"]), "pending");
  EXPECT_TRUE(answer.root["decision"].is_null_or_missing());
  const std::string sentence = text(answer.root["sentence"]);
  EXPECT_NE(sentence.find("24576"), std::string::npos) << sentence;
}

TEST_F(ExplainTest, ReservedBoundAndUnknownPods) {
  add_node("n1");
  start_server();
  const std::string uid = add_pod("p", {.memory = 1000});
  EXPECT_FALSE(filter("p", {"n1"}).names_null);
  EXPECT_EQ(text(explain("name=p").root["state"]), "reserved");
  EXPECT_EQ(bind("p", uid, "n1"), "");
  const Answer bound = explain("name=p");
  EXPECT_EQ(text(bound.root["state"]), "bound");
  EXPECT_EQ(text(bound.root["decision"]["node"]), "n1");
  EXPECT_EQ(text(bound.root["decision"]["annotations"]["hami.io/vgpu-devices-allocated"]),
            "n1-card0,NVIDIA,1000,0:;");
  EXPECT_EQ(explain("name=ghost").status, 404);
}

TEST_F(ExplainTest, WrongQuestionsAreAnsweredWithTheFieldAndTheValue) {
  start_server();
  const auto expect = [&](const Answer& answer, const char* part) {
    EXPECT_EQ(answer.status, 400) << part;
    EXPECT_NE(text(answer.root["error"]).find(part), std::string::npos) << answer.body;
  };
  expect(explain("namespace=x"), "name");
  expect(explain("name=p&limit=many"), "\"many\"");
  expect(post("/v1/explain", "{"), "JSON");
  expect(post("/v1/explain", R"({"kind":"Pod"})"), "spec");
  expect(
      post(
          "/v1/explain",
          R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"-1"}}}]}})"),
      "nvidia.com/gpu");
  expect(post("/v1/simulate", "[]"), "pods");
  expect(post("/v1/simulate", R"({"pods":[],"nodes":3})"), "nodes");
  expect(post("/v1/simulate", R"({"pods":[],"nodes":[{}]})"), "nodes[0]");
  expect(post("/v1/simulate", R"({"pods":[{"spec":3}]})"), "pods[0]");
}

TEST_F(ExplainTest, TheAnswerIsBounded) {
  for (int i = 0; i < 30; ++i) add_node(fmt::format("n{:02}", i), 1, i < 10 ? 24'576 : 1000);
  start_server();
  const Answer answer = post("/v1/explain?limit=6", pod_json("p", {.memory = 5000}));
  EXPECT_EQ(answer.root["verdicts"].size(), 6U);
  EXPECT_EQ(answer.root["nodes"]["total"].integer(), 30);
  EXPECT_EQ(answer.root["nodes"]["fit"].integer(), 10);
  int fit = 0;
  answer.root["verdicts"].for_each_element(
      [&](json::Value v) { fit += v["fits"].boolean().value_or(false) ? 1 : 0; });
  EXPECT_EQ(fit, 3) << "both kinds are shown";
}

TEST_F(ExplainTest, SimulatedPodsAddUpOnTheLiveClusterAndReserveNothing) {
  add_node("n1");
  add_running("a", "n1", 4'000);
  start_server();
  const std::string pod = pod_json("p", {.memory = 10'000});
  const Answer answer =
      post("/v1/simulate", fmt::format(R"({{"pods":[{},{},{}]}})", pod, pod, pod));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::vector<std::string> nodes;
  answer.root["pods"].for_each_element(
      [&](json::Value v) { nodes.emplace_back(v["node"].string_or("-")); });
  EXPECT_EQ(nodes, (std::vector<std::string>{"n1", "n1", "-"}));
  json::Value last;
  answer.root["pods"].for_each_element([&](json::Value v) { last = v; });
  EXPECT_EQ(text(last["failedNodes"]["n1"]), "1/1 CardInsufficientMemory");
  EXPECT_EQ(metric("tessera_reservations"), 0);
  add_pod("real", {.memory = 20'000});
  EXPECT_FALSE(filter("real", {"n1"}).names_null);
}

TEST_F(ExplainTest, Case6SimulatedPodsOnNodesThatDoNotExist) {
  start_server();
  const std::string pod = pod_json("p", {.count = 2, .memory = 20'000});
  const std::string cpu =
      R"({"metadata":{"name":"cpu"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1"}}}]}})";
  const Answer answer =
      post("/v1/simulate", fmt::format(R"({{"pods":[{},{},{},{}],"nodes":[{}]}})", pod, pod, cpu,
                                       pod, node_json("template", 4, 24'576)));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::vector<std::string> nodes;
  answer.root["pods"].for_each_element(
      [&](json::Value v) { nodes.emplace_back(v["node"].string_or("-")); });
  EXPECT_EQ(nodes, (std::vector<std::string>{"template", "template", "-", "-"}));
}

TEST_F(ExplainTest, BeforeTheCachesAreFilledItSaysWhatIsMissing) {
  api_->inject({.match = "/api/v1/nodes", .times = -1, .status = 500});
  start_server(false);
  EXPECT_TRUE(eventually([&] {
    const Answer answer = explain("name=p");
    return answer.status == 503 && text(answer.root["error"]).find("nodes") != std::string::npos;
  }));
}

}  // namespace
}  // namespace tessera::test
