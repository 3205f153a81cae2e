// `tessera label-priority` over HTTP: every route with every kind of body, names by the node cache,
// binds against the embedded API server with its faults, life without credentials.
// Source: spec/label-priority-extender.md section 10.
#include "label_priority/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/api.h"
#include "json/reader.h"
#include "obs/metrics.h"
#include "sim/api_server.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;

constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kNotFoundWords = "not found";

class LabelPriorityTest : public testing::Test {
 protected:
  LabelPriorityTest() {
    auto api = sim::ApiServer::start({.bookmark_interval = milliseconds(200)}, clock_);
    if (!api) throw std::runtime_error(api.error().what);
    api_ = std::move(*api);
    options_.listen = "127.0.0.1:0";
  }

  void start() {
    auto server = label_priority::Server::start(
        options_,
        [this]() -> Result<client::Credentials> {
          if (!known_) return fail(Code::kNotFound, "no credentials in this test");
          return client::parse_kubeconfig(api_->kubeconfig(), "/");
        },
        clock_);
    ASSERT_TRUE(server) << server.error().what;
    server_ = std::move(*server);
    http_ = std::make_unique<client::ApiClient>(
        client::Credentials{.server = "http://127.0.0.1:" + std::to_string(server_->port())},
        client::ApiClientOptions{.user_agent = "kube-scheduler"}, metrics_);
  }

  client::ApiResponse call(const std::string& method, const std::string& path,
                           const std::string& body = {}) {
    return http_->call({.method = method, .path = path, .body = body});
  }
  client::ApiResponse post(const std::string& path, const std::string& body) {
    return call("POST", path, body);
  }
  /// One member of the answer as JSON.
  std::string member(const std::string& path, const std::string& body, const char* key) {
    const client::ApiResponse response = post(path, body);
    EXPECT_EQ(response.status, 200) << path;
    json::Parser parser;
    const auto value = parser.parse(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? (*value)[key].dump() : "";
  }
  std::string names(const std::string& path, const std::string& list) {
    return member(path, R"({"Pod":{},"Nodes":null,"NodeNames":)" + list + "}", "NodeNames");
  }
  std::string error_of_names(const std::string& list = R"(["a"])") {
    return member("/filter", R"({"Pod":{},"NodeNames":)" + list + "}", "Error");
  }

  void add_node(const std::string& name, const std::string& labels) {
    const auto made = api_->request("POST", "/api/v1/nodes",
                                    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" +
                                        name + R"(","labels":)" + labels + "}}");
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void label(const std::string& name, const std::string& value) {
    const auto done = api_->request(
        "PATCH", "/api/v1/nodes/" + name,
        R"({"metadata":{"labels":{"priority.lixueduan.com":)" + value + "}}}", kMerge);
    ASSERT_EQ(done.status, 200) << done.body;
  }
  std::string add_pod(const std::string& name) {
    const auto made =
        api_->request("POST", "/api/v1/namespaces/default/pods",
                      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                          R"("},"spec":{"containers":[{"name":"c","image":"none"}]}})");
    EXPECT_EQ(made.status, 201) << made.body;
    json::Parser parser;
    return std::string((*parser.parse(made.body))["metadata"]["uid"].string_or(""));
  }
  std::string bound_node(const std::string& name) {
    json::Parser parser;
    const auto pod =
        parser.parse(api_->request("GET", "/api/v1/namespaces/default/pods/" + name).body);
    return std::string((*pod)["spec"]["nodeName"].string_or(""));
  }
  /// The text in Error, without quotes.
  std::string bind(const std::string& pod, const std::string& uid, const std::string& node) {
    const client::ApiResponse response =
        post("/bind", R"({"PodName":")" + pod + R"(","PodNamespace":"default","PodUID":")" + uid +
                          R"(","Node":")" + node + R"("})");
    EXPECT_EQ(response.status, 200);
    EXPECT_TRUE(response.body.ends_with("}\n")) << response.body;
    json::Parser parser;
    const auto value = parser.parse(response.body);
    return value ? std::string((*value)["Error"].string_or("?")) : "not JSON: " + response.body;
  }
  double metric(const std::string& row) {
    const std::string page = "\n" + call("GET", "/metrics").body;
    const std::size_t at = page.find("\n" + row + " ");
    return at == std::string::npos ? -1 : std::stod(page.substr(at + row.size() + 2));
  }
  static bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
  }
  void wait_ready() {
    ASSERT_TRUE(eventually([&] { return call("GET", "/readyz").status == 200; }));
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  std::unique_ptr<sim::ApiServer> api_;
  std::atomic<bool> known_{true};  ///< credentials are there
  label_priority::Options options_;
  std::unique_ptr<label_priority::Server> server_;
  std::unique_ptr<client::ApiClient> http_;
};

const std::string kNodes = R"({"Pod":{},"Nodes":{"metadata":{},"items":[)"
                           R"({"metadata":{"name":"a","labels":{"priority.lixueduan.com":"10"}}},)"
                           R"({"metadata":{"name":"b","labels":{"priority.lixueduan.com":"20"}}},)"
                           R"({"metadata":{"name":"c"}}]},"NodeNames":null})";

TEST_F(LabelPriorityTest, EveryRouteWithEveryKindOfBody) {
  for (const bool compat : {false, true}) {
    options_.rules.compat = compat;
    start();
    EXPECT_EQ(member("/filter", kNodes, "NodeNames"), R"(["a","b"])");
    EXPECT_EQ(member("/filter_onlyone", kNodes, "NodeNames"), R"(["b"])");
    for (const char* path : {"/priority", "/prioritize"}) {
      const client::ApiResponse scores = post(path, kNodes);
      EXPECT_EQ(scores.status, 200);
      EXPECT_EQ(scores.body, "[{\"Host\":\"a\",\"Score\":10},{\"Host\":\"b\",\"Score\":20}]\n");
      for (const char* broken : {"", "{", "[]", "7"}) {
        const client::ApiResponse none = post(path, broken);
        EXPECT_EQ(none.status, 200);
        EXPECT_EQ(none.body, "[]\n") << broken;
      }
    }
    for (const char* path : {"/filter", "/filter_onlyone", "/bind"}) {
      EXPECT_EQ(member(path, "", "Error"), "\"EOF\"") << path;
      for (const char* broken : {"{", "[]", "7"}) EXPECT_NE(member(path, broken, "Error"), "\"\"");
    }
    for (const char* path : {"/filter", "/filter_onlyone", "/bind", "/priority", "/prioritize"}) {
      for (const char* method : {"GET", "PUT", "DELETE", "OPTIONS"}) {
        const client::ApiResponse other = call(method, path);
        EXPECT_EQ(other.status, 405) << method << path;
        EXPECT_EQ(other.body, "") << method << path;
      }
    }
    for (const char* path : {"/", "/filters", "/filter/", "/Filter", "/prioritise"})
      EXPECT_EQ(post(path, kNodes).status, 404) << path;
    EXPECT_EQ(call("GET", "/healthz").status, 200);
    EXPECT_EQ(post("/metrics", "").status, 405);
    server_->stop();
  }
}

TEST_F(LabelPriorityTest, ProbesAndMetricsMayHaveAListenerOfTheirOwn) {
  options_.metrics_bind = "127.0.0.1:0";
  start();
  client::ApiClient probe(
      client::Credentials{.server = "http://127.0.0.1:" + std::to_string(server_->metrics_port())},
      client::ApiClientOptions{.user_agent = "kubelet"}, metrics_);
  EXPECT_EQ(probe.call({.path = "/healthz"}).status, 200);
  EXPECT_TRUE(eventually([&] { return probe.call({.path = "/readyz"}).status == 200; }));
  EXPECT_NE(probe.call({.path = "/metrics"}).body.find("tessera_bind_total"), std::string::npos);
  for (const char* path : {"/filter", "/bind", "/prioritize"})
    EXPECT_EQ(probe.call({.method = "POST", .path = path, .body = kNodes}).status, 404) << path;
}

TEST_F(LabelPriorityTest, ABodyBeyondTheLimitIsAnErrorInTheAnswer) {
  options_.max_body = 64;
  start();
  const std::string words = "\"request body is longer than the limit of 64 bytes, see --max-body\"";
  EXPECT_EQ(member("/filter", kNodes, "Error"), words);
  EXPECT_EQ(member("/filter_onlyone", kNodes, "Error"), words);
  EXPECT_EQ(post("/prioritize", kNodes).body, "[]\n");
}

TEST_F(LabelPriorityTest, NamesAreAnsweredByTheNodeCacheThatFollowsTheCluster) {
  add_node("a", R"({"priority.lixueduan.com":"10"})");
  add_node("b", R"({"priority.lixueduan.com":"20"})");
  add_node("c", "{}");
  start();
  EXPECT_EQ(names("/filter", R"(["c","a","b"])"), R"(["a","b"])") << "the first call waits";
  wait_ready();
  EXPECT_EQ(names("/filter_onlyone", R"(["c","a","b"])"), R"(["b"])");
  EXPECT_EQ(post("/prioritize", R"({"Pod":{},"NodeNames":["a","b","c"]})").body,
            "[{\"Host\":\"a\",\"Score\":10},{\"Host\":\"b\",\"Score\":20}]\n");
  EXPECT_EQ(metric(R"(tessera_label_priority_nodes{state="number"})"), 2);
  EXPECT_EQ(metric(R"(tessera_label_priority_nodes{state="missing"})"), 1);
  label("c", "\"30\"");
  EXPECT_TRUE(
      eventually([&] { return names("/filter_onlyone", R"(["a","b","c"])") == R"(["c"])"; }));
  label("b", "null");
  EXPECT_TRUE(eventually([&] { return names("/filter", R"(["a","b"])") == R"(["a"])"; }));
  EXPECT_EQ(api_->request("DELETE", "/api/v1/nodes/a").status, 200);
  EXPECT_TRUE(eventually([&] {
    return member("/filter", R"({"NodeNames":["a"]})", "FailedNodes") ==
           R"({"a":"node is not known yet"})";
  }));
  api_->forget_history();  // a new list is the whole picture
  api_->drop_watches();
  add_node("d", R"({"priority.lixueduan.com":"1"})");
  EXPECT_TRUE(eventually([&] { return names("/filter", R"(["d","c"])") == R"(["d","c"])"; }));
}

TEST_F(LabelPriorityTest, CallsByNameWaitForTheList) {
  add_node("a", R"({"priority.lixueduan.com":"10"})");
  api_->inject({.match = "GET /api/v1/nodes", .times = 1, .delay = milliseconds(700)});
  start();
  const client::ApiResponse early = call("GET", "/readyz");
  EXPECT_EQ(early.status, 503);
  EXPECT_NE(early.body.find("nodes are not listed yet"), std::string::npos) << early.body;
  EXPECT_EQ(member("/filter", kNodes, "NodeNames"), R"(["a","b"])") << "full nodes never wait";
  EXPECT_EQ(names("/filter", R"(["a"])"), R"(["a"])");
}

TEST_F(LabelPriorityTest, CallsByNameAreTurnedAwayWhenTheListDoesNotCome) {
  options_.cache_wait = milliseconds(50);
  api_->inject({.match = "/api/v1/nodes", .times = -1, .status = 500});
  start();
  EXPECT_EQ(error_of_names(), "\"NodeNames without Nodes: nodes are not listed yet\"");
  EXPECT_EQ(post("/prioritize", R"({"NodeNames":["a"]})").body, "[]\n");
  options_.cache_wait = milliseconds(60'000);
  server_->stop();
  start();
  auto waiting = std::async(std::launch::async, [&] { return error_of_names(); });
  std::this_thread::sleep_for(milliseconds(100));  // so that it usually waits already
  server_->stop();
  const std::string turned_away = waiting.get();
  EXPECT_TRUE(turned_away == "\"NodeNames without Nodes: shutting down\"" || turned_away.empty())
      << turned_away;
}

TEST_F(LabelPriorityTest, WithoutTheRightToListNodesFullNodesAreServed) {
  api_->inject({.match = "/api/v1/nodes", .times = -1, .status = 403});
  start();
  EXPECT_EQ(error_of_names(),
            "\"NodeNames without Nodes: the API server refuses to list nodes (code 403)\"");
  const client::ApiResponse ready = call("GET", "/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.body,
            "ready for full nodes only: the API server refuses to list nodes (code 403)");
  EXPECT_EQ(member("/filter", kNodes, "NodeNames"), R"(["a","b"])");
  api_->clear_faults();  // the right is given: the reflector asks again by itself
  add_node("a", R"({"priority.lixueduan.com":"10"})");
  EXPECT_TRUE(eventually([&] { return call("GET", "/readyz").body.empty(); }));
  EXPECT_EQ(names("/filter", R"(["a"])"), R"(["a"])");
}

TEST_F(LabelPriorityTest, CredentialsAreLookedForWhenSomethingNeedsThem) {
  known_ = false;
  start();
  EXPECT_EQ(member("/filter", kNodes, "NodeNames"), R"(["a","b"])");
  EXPECT_EQ(member("/filter", kNodes, "Error"), "\"\"");
  EXPECT_EQ(error_of_names(),
            "\"NodeNames without Nodes needs the API server: no credentials in this test\"");
  EXPECT_EQ(bind("p", "", "a"), "no credentials in this test");
  const client::ApiResponse ready = call("GET", "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, "not ready: bind needs the API server: no credentials in this test");
  add_node("a", R"({"priority.lixueduan.com":"10"})");
  const std::string uid = add_pod("p");
  known_ = true;
  EXPECT_EQ(bind("p", uid, "a"), "");
  EXPECT_EQ(names("/filter", R"(["a"])"), R"(["a"])");
  wait_ready();
  server_->stop();
  known_ = false;
  options_.bind = false;
  start();
  EXPECT_EQ(call("GET", "/readyz").status, 200) << "nothing that is served needs them";
}

TEST_F(LabelPriorityTest, BindWritesOneBinding) {
  add_node("a", "{}");
  const std::string uid = add_pod("p");
  start();
  EXPECT_EQ(bind("p", uid, "a"), "");
  EXPECT_EQ(bound_node("p"), "a");
  EXPECT_EQ(metric(R"(tessera_bind_total{result="bound"})"), 1);
  EXPECT_EQ(api_->request_counts().at("tessera-label-priority|POST pods/binding"), 1U);
}

TEST_F(LabelPriorityTest, BindSaysWhatTheServerSays) {
  add_node("a", "{}");
  add_node("b", "{}");
  const std::string uid = add_pod("p");
  for (const bool compat : {false, true}) {
    options_.rules.compat = compat;
    start();
    EXPECT_NE(bind("ghost", uid, "a").find(kNotFoundWords), std::string::npos);
    const std::string other = bind("p", "another-uid", "a");
    EXPECT_NE(other, "") << "the pod was made anew under its name";
    EXPECT_EQ(bound_node("p"), "");
    for (const char* name : {"../x", "a/b", "", "a?b"}) EXPECT_NE(bind(name, uid, "a"), "") << name;
    EXPECT_NE(bind("p", uid, "../a"), "");
    EXPECT_EQ(bound_node("p"), "");
    server_->stop();
  }
  start();
  EXPECT_EQ(bind("p", uid, "a"), "");
  EXPECT_NE(bind("p", uid, "b"), "") << "it is bound to another node";
  EXPECT_EQ(bound_node("p"), "a");
}

TEST_F(LabelPriorityTest, BindWhoseAnswerIsLostAsksThePod) {
  add_node("a", "{}");
  const std::string p = add_pod("p"), q = add_pod("q");
  start();
  api_->inject({.match = "/binding", .times = 1, .drop_after_effect = true});
  EXPECT_EQ(bind("p", p, "a"), "") << "it did happen";
  EXPECT_EQ(bind("p", p, "a"), "") << "and once more is no fault of anybody";
  api_->inject({.match = "/binding", .times = -1, .cut = true});
  EXPECT_NE(bind("q", q, "a"), "") << "it did not";
  api_->clear_faults();
  EXPECT_EQ(bound_node("q"), "");
  server_->stop();
  options_.rules.compat = true;
  start();
  EXPECT_NE(bind("p", p, "a"), "") << "the original looks no further than the first answer";
}

TEST_F(LabelPriorityTest, BindWithoutAnApiServerIsAnErrorInTime) {
  options_.bind_timeout = milliseconds(300);
  const std::string uid = add_pod("p");
  start();
  api_->inject({.match = "/binding", .times = -1, .cut = true});
  api_->inject({.match = "/pods/p", .times = -1, .cut = true});
  EXPECT_NE(bind("p", uid, "a"), "");
  api_.reset();
  EXPECT_NE(bind("p", uid, "a"), "") << "nobody listens there any more";
  EXPECT_EQ(metric(R"(tessera_bind_total{result="failed"})"), 2);
}

TEST_F(LabelPriorityTest, BindCanBeSwitchedOff) {
  options_.bind = false;
  add_node("a", "{}");
  const std::string uid = add_pod("p");
  start();
  EXPECT_NE(bind("p", uid, "a").find("--bind=false"), std::string::npos);
  EXPECT_EQ(bound_node("p"), "");
}

TEST_F(LabelPriorityTest, ALabelThatIsNoNumberIsToldOncePerChange) {
  add_node("a", R"({"priority.lixueduan.com":"high"})");
  start();
  wait_ready();
  const char* told = "tessera_priority_label_problems_total";
  EXPECT_EQ(metric(told), 1);
  const std::string bad =
      R"({"Nodes":{"items":[{"metadata":{"name":"a","labels":{"priority.lixueduan.com":"VALUE"}}}]}})";
  const auto with = [&](const std::string& value) {
    std::string body = bad;
    return body.replace(body.find("VALUE"), 5, value);
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(post("/priority", with("high")).body, "[{\"Host\":\"a\",\"Score\":0}]\n");
    EXPECT_EQ(member("/filter", with("high"), "NodeNames"), R"(["a"])");
  }
  EXPECT_EQ(metric(told), 1) << "nothing has changed";
  post("/priority", with("1.5"));
  post("/priority", with("1.5"));
  EXPECT_EQ(metric(told), 2);
  post("/priority", with("7"));
  post("/priority", with("1.5"));
  EXPECT_EQ(metric(told), 3) << "it was in order in between";
}

TEST_F(LabelPriorityTest, WhatCannotWorkIsToldAtTheStart) {
  start();
  const auto refusal = [&](const label_priority::Options& options) {
    const auto server = label_priority::Server::start(
        options, [] { return Result<client::Credentials>(fail(Code::kNotFound, "none")); }, clock_);
    return server ? std::string() : server.error().what;
  };
  label_priority::Options taken = options_;
  taken.listen = "127.0.0.1:" + std::to_string(server_->port());
  EXPECT_EQ(refusal(taken).substr(0, 10), "--listen: ");
  const auto changed = [&](const std::function<void(label_priority::Options&)>& change) {
    label_priority::Options options = options_;
    change(options);
    return refusal(options);
  };
  EXPECT_EQ(changed([](auto& o) { o.rules.label = "a b"; }),
            "--label: \"a b\" is not the key of a label");
  EXPECT_EQ(changed([](auto& o) { o.scores = "best"; }),
            "--scores: \"best\" is none of: raw, normalised");
  EXPECT_EQ(changed([](auto& o) { o.rules.weight = 0; }), "--weight: 0 is not above 0");
  EXPECT_EQ(changed([](auto& o) { o.cert_file = "x"; }), "--cert_file is given without --key_file");
  EXPECT_EQ(changed([](auto& o) {
              o.rules.compat = true;
              o.rules.label_required = false;
            }),
            "--label-required=false with --compat: the original extender has no such rule");
  EXPECT_EQ(changed([](auto& o) {
              o.rules.compat = true;
              o.scores = "normalised";
            }),
            "--scores=normalised with --compat: the original extender has no such rule");
}

}  // namespace
}  // namespace tessera::test
