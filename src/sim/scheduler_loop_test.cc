// The loop against the embedded API server and an extender that answers as the test says.
#include "sim/scheduler_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "http/server.h"
#include "json/reader.h"
#include "obs/log.h"
#include "sim/api_server.h"
#include "sim/scheduler_run.h"

namespace tessera::sim {
namespace {

using namespace std::chrono_literals;

/// Records what it is asked; answers are set by the test.
class ScriptedExtender {
 public:
  ScriptedExtender() {
    const auto route = [this](std::string path, std::string ScriptedExtender::*answer,
                              std::vector<std::string> ScriptedExtender::*calls) {
      return http::Route{
          .method = "POST",
          .path = std::move(path),
          .max_body = 1 << 20,
          .handler = [this, answer, calls](http::Request&& request, http::Responder respond) {
            const std::lock_guard lock(mutex_);
            (this->*calls).push_back(request.body);
            respond({.body = this->*answer});
          }};
    };
    server_ = std::move(*http::Server::start(
        {}, {route("/filter", &ScriptedExtender::filter_answer_, &ScriptedExtender::filters_),
             route("/prioritize", &ScriptedExtender::scores_, &ScriptedExtender::prioritized_),
             route("/bind", &ScriptedExtender::bind_answer_, &ScriptedExtender::binds_)}));
  }
  std::string url() const { return fmt::format("http://127.0.0.1:{}", server_->port()); }
  void answer_filter(std::string answer) {
    const std::lock_guard lock(mutex_);
    filter_answer_ = std::move(answer);
  }
  void answer_scores(std::string answer) {
    const std::lock_guard lock(mutex_);
    scores_ = std::move(answer);
  }
  void answer_bind(std::string answer) {
    const std::lock_guard lock(mutex_);
    bind_answer_ = std::move(answer);
  }
  std::vector<std::string> filters() const {
    const std::lock_guard lock(mutex_);
    return filters_;
  }
  std::vector<std::string> prioritized() const {
    const std::lock_guard lock(mutex_);
    return prioritized_;
  }
  std::vector<std::string> binds() const {
    const std::lock_guard lock(mutex_);
    return binds_;
  }

 private:
  mutable std::mutex mutex_;
  std::string filter_answer_ = R"({"NodeNames":["n2"],"Error":""})", scores_ = "[]",
              bind_answer_ = R"({"Error":""})";
  std::vector<std::string> filters_, prioritized_, binds_;
  std::unique_ptr<http::Server> server_;
};

class LoopTest : public testing::Test {
 protected:
  LoopTest() {
    log::set_level(log::Level::kError);
    api_ = std::move(*ApiServer::start({}, clock_));
    client_ = std::make_unique<client::ApiClient>(
        client::Credentials{.server = api_->url()},
        client::ApiClientOptions{.user_agent = "loop", .qps = -1}, metrics_);
    for (const char* node : {"n1", "n2"})
      create(
          "/api/v1/nodes",
          fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", node));
  }
  void start(SchedulerLoopOptions options = {}) {
    options.extender_url = extender_.url();
    options.backoff_first = 20ms;
    options.backoff_max = 40ms;
    loop_ = std::make_unique<SchedulerLoop>(*client_, options);
    loop_->start();
  }
  void create(const std::string& path, const std::string& body) {
    ASSERT_EQ(api_->request("POST", path, body).status, 201) << body;
  }
  void create_pod(const std::string& name, std::string_view scheduler = "hami-scheduler",
                  std::string_view limits = R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"1000")",
                  std::string_view node = "") {
    create(
        "/api/v1/namespaces/default/pods",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}","schedulerName":"{}","containers":[{{"name":"c","image":"i","resources":{{"limits":{{{}}}}}}}]}}}})",
            name, node, scheduler, limits));
  }
  std::string pod(const std::string& name) {
    return api_->request("GET", "/api/v1/namespaces/default/pods/" + name).body;
  }
  bool has(const std::string& name, std::string_view text) {
    return pod(name).find(text) != std::string::npos;
  }

  template <class F>
  static bool soon(F f, std::chrono::milliseconds limit = 5s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!f()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  ScriptedExtender extender_;
  std::unique_ptr<ApiServer> api_;
  std::unique_ptr<client::ApiClient> client_;
  std::unique_ptr<SchedulerLoop> loop_;
};

TEST_F(LoopTest, SendsThePodWithAllNamesThenBindsToTheAnswer) {
  start();
  create_pod("a");
  ASSERT_TRUE(soon([&] { return loop_->stats().binds == 1; }));
  json::Parser parser;
  const std::string filter = extender_.filters().at(0);
  const json::Value args = *parser.parse(std::string_view(filter));
  EXPECT_EQ(args["Pod"]["metadata"]["name"].string_or(""), "a");
  EXPECT_EQ(args["Nodes"].kind(), json::Kind::kNull);
  EXPECT_EQ(args["NodeNames"].dump(), R"(["n1","n2"])");
  const std::string uid(args["Pod"]["metadata"]["uid"].string_or(""));
  EXPECT_EQ(
      extender_.binds().at(0),
      fmt::format(R"({{"PodName":"a","PodNamespace":"default","PodUID":"{}","Node":"n2"}})", uid));
  EXPECT_EQ(loop_->stats().filters, 1U);
}

TEST_F(LoopTest, AsksForScoresWhenSeveralNodesFitAndTakesTheBest) {
  extender_.answer_filter(R"({"NodeNames":["n1","n2"],"Error":""})");
  extender_.answer_scores(R"([{"Host":"n1","Score":3},{"Host":"n2","Score":10}])");
  start();
  create_pod("a");
  ASSERT_TRUE(soon([&] { return loop_->stats().binds == 1; }));
  EXPECT_EQ(extender_.prioritized(), extender_.filters()) << "both nodes are asked about";
  EXPECT_NE(extender_.binds().at(0).find(R"("Node":"n2")"), std::string::npos);
  EXPECT_EQ(loop_->stats().prioritized, 1U);
  extender_.answer_filter(R"({"NodeNames":["n1"],"Error":""})");
  create_pod("b");
  ASSERT_TRUE(soon([&] { return loop_->stats().binds == 2; }));
  EXPECT_EQ(loop_->stats().prioritized, 1U) << "one node: nothing to ask";
}

TEST(BestNode, HighestScoreThenTheFirstAndWithoutScoresTheFirst) {
  const auto best = [](int status, std::string body) {
    client::ApiResponse response;
    response.status = status;
    response.body = std::move(body);
    return best_node({"n1", "n2", "n3"}, response);
  };
  EXPECT_EQ(best(200, R"([{"Host":"n3","Score":10},{"Host":"n2","Score":10}])"), "n2");
  EXPECT_EQ(best(200, R"([{"Host":"n1","Score":-1}])"), "n2");
  EXPECT_EQ(best(200, R"([{"host":"n3","score":1}])"), "n3") << "keys in any case";
  EXPECT_EQ(
      best(200, R"([{"Host":"n2","Score":4},{"Host":"n3","Score":3},{"Host":"n3","Score":3}])"),
      "n3")
      << "twice: the sum";
  for (const char* nothing : {"[]", "null", "", "{"})
    EXPECT_EQ(best(200, nothing), "n1") << nothing;
  EXPECT_EQ(best(404, R"([{"Host":"n3","Score":10}])"), "n1");
}

TEST_F(LoopTest, SendsWholeNodesWhenTheExtenderKeepsNoCache) {
  extender_.answer_filter(
      R"({"Nodes":{"items":[{"metadata":{"name":"n1"}}]},"NodeNames":["n2"],"Error":""})");
  start({.full_nodes = true});
  create_pod("a");
  ASSERT_TRUE(soon([&] { return loop_->stats().binds == 1; }));
  json::Parser parser;
  const std::string filter = extender_.filters().at(0);
  const json::Value args = *parser.parse(std::string_view(filter));
  EXPECT_EQ(args["NodeNames"].kind(), json::Kind::kNull);
  EXPECT_EQ(args["Nodes"]["items"].size(), 2U);
  EXPECT_NE(extender_.binds().at(0).find(R"("Node":"n1")"), std::string::npos)
      << "names are not looked at in this form";
}

TEST_F(LoopTest, PodThatFitsNowhereGetsTheReasonsAndIsTriedAgainWhenRoomAppears) {
  extender_.answer_filter(
      R"({"NodeNames":null,"FailedNodes":{"n1":"2/2 CardInsufficientMemory"},"FailedAndUnresolvableNodes":{"n2":"node unregistered"},"Error":""})");
  create_pod("holder", "hami-scheduler", "", "n1");
  start();
  create_pod("a");
  ASSERT_TRUE(soon([&] {
    return has("a", "0/2 nodes are available: 1 2/2 CardInsufficientMemory, 1 node unregistered.");
  }));
  EXPECT_TRUE(has("a", R"("reason":"Unschedulable")"));
  std::this_thread::sleep_for(100ms);
  const std::size_t before = extender_.filters().size();
  EXPECT_LE(before, 2U) << "no change, no further try";
  ASSERT_EQ(loop_->waiting(5).size(), 1U);
  EXPECT_EQ(loop_->waiting(5)[0].asks, "gpu=1 gpumem=1000");
  EXPECT_EQ(loop_->waiting(5)[0].reason,
            "0/2 nodes are available: 1 2/2 CardInsufficientMemory, 1 node unregistered.");
  extender_.answer_filter(R"({"NodeNames":["n1"],"Error":""})");
  api_->request("DELETE", "/api/v1/namespaces/default/pods/holder", R"({"gracePeriodSeconds":0})");
  EXPECT_TRUE(soon([&] { return loop_->stats().binds == 1; }));
}

TEST_F(LoopTest, NewNodeWakesPodsButTheLockOfANodeDoesNot) {
  extender_.answer_filter(R"({"NodeNames":null,"FailedNodes":{},"Error":""})");
  start();
  create_pod("a");
  ASSERT_TRUE(soon([&] { return loop_->stats().unschedulable >= 1; }));
  std::this_thread::sleep_for(100ms);
  const std::size_t before = extender_.filters().size();
  api_->request("PATCH", "/api/v1/nodes/n1",
                R"({"metadata":{"annotations":{"hami.io/mutex.lock":"x"}}})",
                "application/merge-patch+json");
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(extender_.filters().size(), before);
  create("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n3"}})");
  EXPECT_TRUE(soon([&] { return extender_.filters().size() > before; }));
  EXPECT_NE(extender_.filters().back().find(R"(["n1","n2","n3"])"), std::string::npos);
}

TEST_F(LoopTest, ErrorOfTheExtenderIsToldAndTriedAgainAfterAPause) {
  extender_.answer_filter(R"({"Error":"not now"})");
  start();
  create_pod("a");
  ASSERT_TRUE(
      soon([&] { return has("a", R"("reason":"SchedulerError")") && has("a", "not now"); }));
  EXPECT_EQ(loop_->stats().last_error, "not now");
  extender_.answer_filter("not json");
  ASSERT_TRUE(soon([&] { return loop_->stats().errors >= 3; }));
  extender_.answer_filter(R"({"NodeNames":["n1"],"Error":""})");
  EXPECT_TRUE(soon([&] { return loop_->stats().binds == 1; }));
}

TEST_F(LoopTest, RefusedBindGoesBackToTheQueue) {
  extender_.answer_bind(R"({"Error":"node n2 has been locked within 5m0s: node lock contention"})");
  start();
  create_pod("a");
  ASSERT_TRUE(soon([&] { return loop_->stats().bind_errors >= 2; }));
  EXPECT_GE(loop_->stats().filters, 2U) << "a new bind needs a new filter";
  extender_.answer_bind(R"({"Error":""})");
  EXPECT_TRUE(soon([&] { return loop_->stats().binds == 1; }));
}

TEST_F(LoopTest, OtherSchedulersPodsAreLeftAlone) {
  start();
  create_pod("theirs", "volcano");
  create_pod("default", "default-scheduler");
  create_pod("ours");
  ASSERT_TRUE(soon([&] { return loop_->stats().binds == 1; }));
  EXPECT_EQ(extender_.filters().size(), 1U);
}

TEST_F(LoopTest, PodWithoutDevicesIsBoundWithoutTheExtender) {
  start({.default_scheduler_too = true});
  create_pod("a", "default-scheduler", R"("cpu":"1")");
  ASSERT_TRUE(soon([&] { return has("a", R"("nodeName":"n)"); }));
  EXPECT_TRUE(extender_.filters().empty());
}

}  // namespace
}  // namespace tessera::sim
