#include <fmt/format.h>

#include "harness.h"

namespace tessera::test {
namespace {

class ProtocolTest : public ClusterTest {};

TEST_F(ProtocolTest, Case1BadFilterBodiesAreErrorsAndTheServerGoesOn) {
  add_node("n1");
  start_server();
  for (const char* body :
       {"{}", R"({"Pod":null,"NodeNames":["n1"]})", "", "not json", "[]", "null", R"({"Pod":7})"}) {
    const FilterAnswer answer = filter_body(body);
    EXPECT_EQ(answer.status, 200) << body;
    EXPECT_NE(answer.error, "") << body;
    EXPECT_TRUE(answer.names_null) << body;
    EXPECT_EQ(get("/healthz").status, 200) << body;
  }
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
}

TEST_F(ProtocolTest, Case2BadBindBodiesAreErrorsAndTakeNoLock) {
  add_node("n1");
  start_server();
  for (const char* body :
       {"", "null", "[]", "{}", R"({"PodName":"p"})",
        R"({"PodName":"../x","PodNamespace":"default","PodUID":"u","Node":"n1"})"}) {
    EXPECT_NE(bind_body(body), "") << body;
  }
  EXPECT_FALSE(lock_of("n1"));
  EXPECT_EQ(calls("PATCH nodes"), 0U);
  EXPECT_EQ(calls("GET pods"), 0U);
}

TEST_F(ProtocolTest, Case4NoNodesAtAllIsAnErrorAndAnEmptyListAnEmptyAnswer) {
  start_server();
  add_pod("p");
  EXPECT_NE(filter_body(R"({"Pod":)" + pod_text("p") + R"(,"Nodes":null,"NodeNames":null})").error,
            "");
  const FilterAnswer empty = filter_body(R"({"Pod":)" + pod_text("p") + R"(,"NodeNames":[]})");
  EXPECT_EQ(empty.error, "");
  EXPECT_FALSE(empty.names_null);
  EXPECT_TRUE(empty.names.empty());
}

TEST_F(ProtocolTest, Case5APodWithoutDevicesGetsBackWhatWasSent) {
  start_server();
  add_pod("p", {.count = 0, .memory = 0});
  const std::string nodes =
      R"({"items":[)" + node_json("a", 1, 100) + "," + node_json("b", 1, 100) + "]}";
  const FilterAnswer full =
      filter_body(R"({"Pod":)" + pod_text("p") + R"(,"Nodes":)" + nodes + "}");
  EXPECT_EQ(full.nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(full.failed.empty());
  EXPECT_NE(full.body.find(node_json("a", 1, 100)), std::string::npos)
      << "the object comes back byte for byte";
  const FilterAnswer names = filter("p", {"x", "y"});
  EXPECT_EQ(names.names, (std::vector<std::string>{"x", "y"}));
}

TEST_F(ProtocolTest, Case6TemplateNodesAreSimulatedAndNothingIsKept) {
  start_server();
  add_pod("p", {.count = 2, .memory = 10'000});
  const std::string nodes = R"({"items":[)" + node_json("template-1", 8, 81'920) + "," +
                            node_json("small", 8, 5'000) + R"(,{"metadata":{"name":"bare"}}]})";
  for (int i = 0; i < 3; ++i) {
    const FilterAnswer answer =
        filter_body(R"({"Pod":)" + pod_text("p") + R"(,"Nodes":)" + nodes + "}");
    EXPECT_EQ(answer.error, "");
    EXPECT_EQ(answer.nodes, std::vector<std::string>{"template-1"});
    EXPECT_EQ(answer.failed.at("small"), "8/8 CardInsufficientMemory");
    EXPECT_EQ(answer.unresolvable.at("bare"), "node unregistered");
  }
  EXPECT_EQ(metric("tessera_reservations"), 0);
  EXPECT_EQ(calls("POST events"), 0U);
}

TEST_F(ProtocolTest, ExampleE21SimulationKnowsNoRunningPods) {
  add_node("live", 1, 80'000);
  add_running("r", "live", 79'000);
  start_server();
  add_pod("p", {.count = 1, .memory = 40'000, .cores = 50});
  const std::string nodes = R"({"items":[)" + node_json("T1", 2, 16'000) + "," +
                            node_json("live", 1, 80'000) + R"(,{"metadata":{"name":"T3"}}]})";
  const FilterAnswer answer =
      filter_body(R"({"Pod":)" + pod_text("p") + R"(,"Nodes":)" + nodes + "}");
  EXPECT_EQ(answer.nodes, std::vector<std::string>{"live"});
  EXPECT_EQ(answer.failed,
            (std::map<std::string, std::string>{{"T1", "2/2 CardInsufficientMemory"}}));
  EXPECT_EQ(answer.unresolvable, (std::map<std::string, std::string>{{"T3", "node unregistered"}}));
}

TEST_F(ProtocolTest, LiveNodesFormReservesAndEchoesOneObject) {
  options_.nodes_form = "live";
  add_node("n1");
  add_node("n2");
  start_server();
  add_pod("p", {.memory = 20'000});
  add_pod("q", {.memory = 20'000});
  const std::string nodes =
      R"({"items":[)" + node_json("n1", 1, 24'576) + "," + node_json("n2", 1, 24'576) + "]}";
  const FilterAnswer first =
      filter_body(R"({"Pod":)" + pod_text("p") + R"(,"Nodes":)" + nodes + "}");
  const FilterAnswer second =
      filter_body(R"({"Pod":)" + pod_text("q") + R"(,"Nodes":)" + nodes + "}");
  ASSERT_EQ(first.nodes.size(), 1U) << first.body;
  ASSERT_EQ(second.nodes.size(), 1U) << second.body;
  EXPECT_NE(first.nodes, second.nodes);
  EXPECT_EQ(metric("tessera_reservations"), 2);
}

TEST_F(ProtocolTest, Case9AnUnknownNodeIsNamedAsUnregisteredWhenNothingFits) {
  add_node("n1");
  start_server();
  add_pod("p");
  EXPECT_EQ(filter("p", {"n1", "ghost"}).names, std::vector<std::string>{"n1"});
  const FilterAnswer none = filter("p", {"ghost"});
  EXPECT_TRUE(none.names_null);
  EXPECT_EQ(none.unresolvable.at("ghost"), "node unregistered");
}

TEST_F(ProtocolTest, ExampleE13NothingFits) {
  add_node("n1", 2, 16'000);
  add_node("n3", 1, 40'000);
  start_server();
  add_pod("p", {.count = 2, .memory = 20'000});
  const FilterAnswer answer = filter("p", {"n1", "n2", "n3"});
  EXPECT_TRUE(answer.names_null);
  EXPECT_TRUE(answer.nodes_null);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.failed,
            (std::map<std::string, std::string>{{"n1", "2/2 CardInsufficientMemory"}}));
  EXPECT_EQ(answer.unresolvable,
            (std::map<std::string, std::string>{{"n2", "node unregistered"},
                                                {"n3", "NodeInsufficientDevice"}}));
  ASSERT_TRUE(eventually([&] { return events("FilteringFailed").size() == 1; }));
  EXPECT_EQ(events("FilteringFailed")[0],
            "no available node, 3 nodes do not meet: 1 nodes CardInsufficientMemory(n1), 1 nodes "
            "NodeInsufficientDevice(n3), 1 nodes node unregistered(n2). 0 of 3 nodes fit: 1 with "
            "fewer cards than asked for, 1 with too little free memory on the cards, 1 without "
            "registered devices; would fit: 16000 MiB per card instead of 20000 (node n1), or 1 "
            "cards instead of 2 (node n3)");
}

TEST_F(ProtocolTest, Case8AnswersAreJsonAlsoWhenTheyAreErrors) {
  start_server();
  for (const char* path : {"/filter", "/bind", "/webhook"}) {
    for (const char* body : {"{}", "x"}) {
      const auto response = http_->call({.method = "POST", .path = path, .body = body});
      EXPECT_EQ(response.status, 200) << path;
      json::Parser parser;
      EXPECT_TRUE(parser.parse(response.body)) << path << response.body;
    }
  }
}

TEST_F(ProtocolTest, TooLongABodyIsAnsweredWithTheLimitAndItsFlag) {
  options_.extender_max_body = 2000;
  options_.webhook_max_body = 3000;
  start_server();
  const std::string long_body(5000, ' ');
  const FilterAnswer answer = filter_body(long_body);
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.error.find("2000 bytes"), std::string::npos) << answer.error;
  EXPECT_NE(answer.error.find("--extender-max-body"), std::string::npos);
  const auto webhook = http_->call({.method = "POST", .path = "/webhook", .body = long_body});
  EXPECT_EQ(webhook.status, 200);
  EXPECT_NE(webhook.body.find("--webhook-max-body"), std::string::npos) << webhook.body;
  EXPECT_NE(webhook.body.find("\"allowed\":false"), std::string::npos);
}

TEST_F(ProtocolTest, Case66AnUnknownPolicyIsRefusedAtTheStartWithTheValidOnes) {
  options_.node_policy = "bin-pack";
  auto server = service::Server::start(options_, {.server = api_->url()}, clock_);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().what,
            "--node-scheduler-policy: \"bin-pack\" is none of: binpack, spread, label-priority");
  options_.node_policy = "spread";
  options_.device_policy = "foo";
  server = service::Server::start(options_, {.server = api_->url()}, clock_);
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().what.find("--gpu-scheduler-policy"), std::string::npos)
      << server.error().what;
  EXPECT_NE(server.error().what.find("foo"), std::string::npos);
  EXPECT_NE(server.error().what.find("spread"), std::string::npos);
}

TEST_F(ProtocolTest, BadOptionsNameTheirFlag) {
  const auto error_of = [&](auto&& change) {
    service::ServeOptions options = options_;
    change(options);
    const auto server = service::Server::start(options, {.server = api_->url()}, clock_);
    return server ? std::string("started") : server.error().what;
  };
  using Options = service::ServeOptions;
  EXPECT_NE(error_of([](Options& o) { o.nodes_form = "x"; }).find("--nodes-form"),
            std::string::npos);
  EXPECT_NE(error_of([](Options& o) { o.cert_file = "c"; }).find("--key_file") &
                error_of([](Options& o) { o.cert_file = "c"; }).find("--cert_file"),
            std::string::npos);
  EXPECT_NE(error_of([](Options& o) {
              o.node_lock_timeout = std::chrono::milliseconds(0);
            }).find("--node-lock-timeout"),
            std::string::npos);
  EXPECT_NE(error_of([](Options& o) { o.kube_burst = 0; }).find("--kube-burst"), std::string::npos);
  EXPECT_NE(
      error_of([](Options& o) { o.node_label_selector = "gpu"; }).find("--node-label-selector"),
      std::string::npos);
  EXPECT_NE(error_of([](Options& o) {
              o.device_config = "nvidia: {defaultMemory: x}";
            }).find("defaultMemory"),
            std::string::npos);
  EXPECT_NE(error_of([](Options& o) { o.http_bind = "127.0.0.1:99999"; }).find("--http_bind"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::test
