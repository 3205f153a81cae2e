// Scored mode: all nodes that fit are answered, kube-scheduler picks, and what is held for the pod
// follows the bind. And prioritize, which answers in both modes.
#include <fmt/format.h>

#include <chrono>

#include "harness.h"
#include "json/writer.h"

namespace tessera::test {
namespace {

using Scores = std::map<std::string, std::int64_t>;
using Names = std::vector<std::string>;

constexpr const char* kReservations = "tessera_reservations";

class ScoredTest : public ClusterTest {
 protected:
  ScoredTest() { options_.answer = "scored"; }

  std::string args(const std::string& pod, const Names& names) {
    json::Writer w;
    w.begin_object().key("Pod").raw(pod).key("Nodes").null().key("NodeNames").begin_array();
    for (const std::string& name : names) w.string(name);
    w.end_array().end_object();
    return std::move(w).take();
  }

  client::ApiResponse post(const std::string& path, const std::string& body) {
    return http_->call(
        {.method = "POST", .path = path, .body = body, .timeout = std::chrono::seconds(40)});
  }

  Scores scores_of(const client::ApiResponse& response) {
    Scores scores;
    EXPECT_EQ(response.status, 200);
    json::Parser parser;
    const auto list = parser.parse(std::string_view(response.body));
    EXPECT_TRUE(list && list->kind() == json::Kind::kArray) << response.body;
    if (!list) return scores;
    list->for_each_element([&](json::Value entry) {
      const std::string host(entry["Host"].string_or("?"));
      EXPECT_TRUE(scores.emplace(host, entry["Score"].integer().value_or(-1)).second) << host;
    });
    return scores;
  }

  Scores prioritize(const std::string& pod, const Names& names,
                    const std::string& path = "/prioritize") {
    return scores_of(post(path, args(pod_text(pod), names)));
  }

  std::string uid_of(const std::string& pod) { return pod_field(pod, {"metadata", "uid"}); }
  double used(const std::string& node) {
    return metric(fmt::format(
        R"(hami_gpu_shared_count{{device_index="0",device_type="NVIDIA-Tesla T4",device_uuid="{}-card0",node="{}",zone="vGPU"}})",
        node, node));
  }
};

TEST_F(ScoredTest, FilterAnswersEveryNodeThatFitsAndWhyTheOthersDoNot) {
  for (const char* node : {"n1", "n2", "n3"}) add_node(node);
  add_node("small", 1, 1000);
  start_server();
  add_pod("p", {.memory = 5000});
  const FilterAnswer answer = filter("p", {"n3", "small", "ghost", "n1", "n2"});
  EXPECT_EQ(answer.names, (Names{"n3", "n1", "n2"})) << "the order of the call";
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.failed,
            (std::map<std::string, std::string>{{"small", "1/1 CardInsufficientMemory"}}));
  EXPECT_EQ(answer.unresolvable,
            (std::map<std::string, std::string>{{"ghost", "node unregistered"}}));
  ASSERT_TRUE(eventually([&] { return events("FilteringSucceed").size() == 1; }));
  const std::string text = events("FilteringSucceed").front();
  EXPECT_EQ(text.rfind("3 nodes fit(", 0), 0U) << text;
  EXPECT_NE(text.find(", 2 nodes not fit; kube-scheduler chooses among them, n1 is held meanwhile"),
            std::string::npos)
      << text;
}

TEST_F(ScoredTest, WhatIsHeldTentativelyCountsAgainstTheNextPod) {
  add_node("n1");
  add_node("n2");
  start_server();
  add_pod("a", {.memory = 20'000});
  add_pod("b", {.memory = 20'000});
  EXPECT_EQ(filter("a", {"n1", "n2"}).names, (Names{"n1", "n2"}));
  EXPECT_EQ(metric(kReservations), 1);
  EXPECT_EQ(filter("b", {"n1", "n2"}).names, Names{"n2"});
  EXPECT_EQ(metric(kReservations), 2);
  EXPECT_EQ(filter("a", {"n1", "n2"}).names, Names{"n1"}) << "its own does not stand in the way";
  EXPECT_EQ(metric(kReservations), 2) << "replaced, not added";
}

TEST_F(ScoredTest, TheBestNodeGetsTenTheOrderIsOursAndWhoDoesNotFitGetsNothing) {
  for (const char* node : {"n0", "n1", "n2"}) add_node(node);
  add_node("small", 1, 1000);
  add_running("r1", "n1", 5000);
  add_running("r2", "n2", 12'000);
  start_server();
  add_pod("p", {.memory = 5000});
  const Names all = {"n2", "ghost", "n0", "small", "n1"};
  Scores packed = prioritize("p", all);
  EXPECT_EQ(packed.size(), 5U) << "an answer for every host";
  EXPECT_EQ(packed["n2"], 10) << "binpack fills the fullest";
  EXPECT_EQ(packed["n0"], 0);
  EXPECT_GT(packed["n1"], packed["n0"]);
  EXPECT_LT(packed["n1"], packed["n2"]);
  EXPECT_EQ(packed["small"], 0);
  EXPECT_EQ(packed["ghost"], 0);
  EXPECT_EQ(prioritize("p", all, "/priority"), packed) << "the same under its other name";
  patch_pod("p", R"({"metadata":{"annotations":{"hami.io/node-scheduler-policy":"spread"}}})");
  Scores spread = prioritize("p", all);
  EXPECT_EQ(spread["n0"], 10);
  EXPECT_EQ(spread["n2"], 0);
  EXPECT_GT(spread["n1"], spread["n2"]);
  EXPECT_EQ(spread["small"] + spread["ghost"], 0);
  EXPECT_EQ(metric(kReservations), 0) << "a question holds nothing";
}

TEST_F(ScoredTest, EqualNodesGetTheSameAndSoDoNodesForAPodWithoutDevices) {
  add_node("n1");
  add_node("n2");
  start_server();
  add_pod("p", {.memory = 5000});
  EXPECT_EQ(prioritize("p", {"n1", "n2"}), (Scores{{"n1", 10}, {"n2", 10}}));
  EXPECT_EQ(prioritize("p", {"n2"}), (Scores{{"n2", 10}}));
  const std::string plain =
      R"({"metadata":{"name":"plain","uid":"u"},"spec":{"containers":[{"name":"c"}]}})";
  EXPECT_EQ(scores_of(post("/prioritize", args(plain, {"n1", "n2", "ghost"}))),
            (Scores{{"n1", 0}, {"n2", 0}, {"ghost", 0}}));
  EXPECT_EQ(metric(kReservations), 0);
}

TEST_F(ScoredTest, ThePodsOwnTentativeHoldCountsAsFree) {
  add_node("n1");
  add_node("n2");
  start_server();
  add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1", "n2"}).names.size(), 2U);
  EXPECT_EQ(prioritize("p", {"n1", "n2"}), (Scores{{"n1", 10}, {"n2", 10}}));
}

TEST_F(ScoredTest, ScoresFollowWhatHasChangedSinceTheFilterCall) {
  for (const char* node : {"n1", "n2", "n3"}) add_node(node);
  start_server();
  add_pod("p", {.memory = 8000});
  EXPECT_EQ(filter("p", {"n1", "n2", "n3"}).names.size(), 3U);
  add_running("r", "n2", 10'000);
  add_running("s", "n3", 24'000);
  settle();
  EXPECT_EQ(prioritize("p", {"n1", "n2", "n3"}), (Scores{{"n1", 0}, {"n2", 10}, {"n3", 0}}));
  EXPECT_EQ(prioritize("p", {"n3", "n1", "n2"}), (Scores{{"n1", 0}, {"n2", 10}, {"n3", 0}}))
      << "in any order";
  delete_pod("r");
  delete_pod("s");
  settle();
  EXPECT_EQ(prioritize("p", {"n1", "n2", "n3"}), (Scores{{"n1", 10}, {"n2", 10}, {"n3", 10}}));
}

TEST_F(ScoredTest, BadCallsGetNoScoresAndTheServerGoesOn) {
  add_node("n1");
  start_server();
  for (const char* body : {"", "{", "[]", "null", R"({"NodeNames":["n1"]})",
                           R"({"Pod":{"spec":{}},"NodeNames":null,"Nodes":null})",
                           R"({"Pod":{"spec":{}},"NodeNames":"n1"})"}) {
    const client::ApiResponse response = post("/prioritize", body);
    EXPECT_EQ(response.status, 200) << body;
    EXPECT_EQ(response.body, "[]") << body;
  }
  EXPECT_EQ(
      metric(R"(tessera_extender_request_duration_seconds_count{code="400",verb="prioritize"})"),
      7);
  EXPECT_EQ(post("/prioritize", R"({"Pod":{"spec":{}},"NodeNames":[]})").body, "[]");
  add_pod("p");
  EXPECT_EQ(prioritize("p", {"n1"}), (Scores{{"n1", 10}}));
}

TEST_F(ScoredTest, NoScoresBeforeTheCachesAreThere) {
  add_node("n1");
  api_->inject({.match = "GET /api/v1/pods", .times = -1, .status = 500});
  start_server(/*wait_ready=*/false);
  add_pod("p");
  EXPECT_EQ(prioritize("p", {"n1"}), Scores{});
  api_->clear_faults();
  ASSERT_TRUE(eventually([&] { return server_->ready(); }, std::chrono::seconds(30)));
  EXPECT_TRUE(eventually([&] { return prioritize("p", {"n1"}) == Scores{{"n1", 10}}; }));
}

TEST_F(ScoredTest, FullNodesOfALiveCallAreEchoedAndScored) {
  options_.nodes_form = "live";
  add_node("n1");
  add_node("n2");
  add_node("small", 1, 1000);
  add_running("r", "n2", 5000);
  start_server();
  add_pod("p", {.memory = 5000});
  const std::string body =
      fmt::format(R"({{"Pod":{},"NodeNames":null,"Nodes":{{"metadata":{{}},"items":[{},{},{}]}}}})",
                  pod_text("p"), node_json("n1", 1, 24'576), node_json("small", 1, 1000),
                  node_json("n2", 1, 24'576));
  const FilterAnswer answer = filter_body(body);
  EXPECT_EQ(answer.nodes, (Names{"n1", "n2"}));
  EXPECT_TRUE(answer.names_null);
  EXPECT_EQ(answer.failed.count("small"), 1U);
  EXPECT_NE(answer.body.find(node_json("n2", 1, 24'576)), std::string::npos) << "byte for byte";
  EXPECT_EQ(metric(kReservations), 1);
  EXPECT_EQ(scores_of(post("/prioritize", body)), (Scores{{"n1", 0}, {"n2", 10}, {"small", 0}}));
}

TEST_F(ScoredTest, FullNodesOfASimulationAreScoredAsReceivedAndEmpty) {
  add_node("n1");
  add_running("r", "n1", 24'000);
  start_server();
  add_pod("p", {.memory = 5000});
  const std::string body = fmt::format(
      R"({{"Pod":{},"Nodes":{{"items":[{},{},{}]}}}})", pod_text("p"), node_json("n1", 1, 24'576),
      node_json("template", 1, 40'000), node_json("small", 1, 1000));
  EXPECT_EQ(scores_of(post("/prioritize", body)),
            (Scores{{"n1", 10}, {"template", 0}, {"small", 0}}))
      << "binpack: the smaller card is fuller with the pod on it";
  EXPECT_EQ(metric(kReservations), 0);
}

TEST_F(ScoredTest, ABindElsewhereMovesWhatIsHeldInOneStep) {
  for (const char* node : {"n1", "n2", "n3"}) add_node(node);
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  EXPECT_EQ(filter("p", {"n1", "n2", "n3"}).names.size(), 3U);
  EXPECT_EQ(used("n1"), 1);
  EXPECT_EQ(bind("p", uid, "n3"), "");
  EXPECT_EQ(bound_node("p"), "n3");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-node"), "n3");
  EXPECT_EQ(annotation("p", "hami.io/vgpu-devices-to-allocate").rfind("n3-card0,", 0), 0U);
  EXPECT_EQ(used("n1"), 0);
  EXPECT_EQ(used("n3"), 1);
  EXPECT_EQ(metric(kReservations), 0);
  EXPECT_EQ(metric("tessera_bind_moved_total"), 1);
  EXPECT_EQ(bind("p", uid, "n3"), "") << "again: success that touches nothing";
  EXPECT_NE(bind("p", uid, "n1"), "") << "bound pods do not move";
}

TEST_F(ScoredTest, ABindToTheNodeThatIsHeldMovesNothing) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p");
  filter("p", {"n1", "n2"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  EXPECT_EQ(metric("tessera_bind_moved_total"), 0);
}

TEST_F(ScoredTest, ABindWhereThePodFitsNoMoreIsRefusedAndNothingIsLeft) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string a = add_pod("a", {.memory = 20'000});
  const std::string b = add_pod("b", {.memory = 20'000});
  EXPECT_EQ(filter("a", {"n1", "n2"}).names, (Names{"n1", "n2"}));
  EXPECT_EQ(filter("b", {"n1", "n2"}).names, Names{"n2"});
  // kube-scheduler sent a to n2, and only then b as well.
  EXPECT_EQ(bind("b", b, "n2"), "");
  const std::string problem = bind("a", a, "n2");
  EXPECT_EQ(problem, "pod default/a does not fit on node n2: 1/1 CardInsufficientMemory");
  EXPECT_EQ(bound_node("a"), "");
  EXPECT_EQ(metric(kReservations), 0) << "not on n1 either";
  EXPECT_EQ(used("n1"), 0);
  EXPECT_EQ(metric("tessera_bind_refused_full_total"), 1);
  ASSERT_TRUE(eventually([&] { return !events("BindingFailed").empty(); }));
  EXPECT_EQ(events("BindingFailed").front(), problem);
  EXPECT_FALSE(owns_lock("a", "n2"));
  EXPECT_EQ(filter("a", {"n1", "n2"}).names, Names{"n1"}) << "tried again";
  EXPECT_EQ(bind("a", a, "n1"), "");
}

TEST_F(ScoredTest, WhatIsHeldTentativelyEndsSoonAndABindDecidesAnew) {
  options_.tentative_ttl = std::chrono::milliseconds(100);
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  filter("p", {"n1", "n2"});
  ASSERT_TRUE(eventually([&] { return metric(kReservations) == 0; }));
  EXPECT_EQ(metric("tessera_reservations_expired_total"), 1);
  EXPECT_EQ(bind("p", uid, "n2"), "");
  EXPECT_EQ(metric("tessera_bind_moved_total"), 0) << "there was nothing to move";
}

TEST_F(ScoredTest, WhileABindWaitsNothingExpires) {
  options_.tentative_ttl = std::chrono::milliseconds(100);
  options_.reservation_ttl = std::chrono::milliseconds(200);
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  set_lock("n2", lock_text(std::chrono::seconds(1), "default,other"));
  add_running("other", "n2", 1000);
  settle();
  filter("p", {"n1", "n2"});
  auto waiting = bind_later("p", uid, "n2");
  ASSERT_TRUE(eventually([&] { return metric("tessera_bind_queue_length") == 1; }));
  add_pod("later");
  filter("later", {"n1"});
  ASSERT_TRUE(eventually([&] { return metric("tessera_reservations_expired_total") == 1; }))
      << "that of a pod without a bind";
  EXPECT_EQ(metric(kReservations), 1);
  add_pod("q", {.memory = 20'000});
  EXPECT_EQ(filter("q", {"n2"}).names, Names{}) << "the place is the waiting pod's";
  remove_lock("n2");
  EXPECT_EQ(waiting.get(), "");
  EXPECT_EQ(bound_node("p"), "n2");
}

TEST_F(ScoredTest, ADeletedPodHoldsNothingAndARestartForgetsTheGuess) {
  add_node("n1");
  add_node("n2");
  start_server();
  add_pod("p", {.memory = 20'000});
  const std::string uid = add_pod("q", {.memory = 20'000});
  filter("p", {"n1", "n2"});
  delete_pod("p");
  ASSERT_TRUE(eventually([&] { return metric(kReservations) == 0; }));
  filter("q", {"n1", "n2"});
  stop_server();
  start_server();
  EXPECT_EQ(metric(kReservations), 0);
  EXPECT_EQ(bind("q", uid, "n2"), "") << "decided on the node that the bind names";
}

TEST_F(ScoredTest, ARepeatedFilterWhileItsBindWaitsDoesNotMislead) {
  add_node("n1");
  add_node("n2");
  start_server();
  const std::string uid = add_pod("p", {.memory = 20'000});
  add_running("other", "n2", 1000);
  set_lock("n2", lock_text(std::chrono::seconds(1), "default,other"));
  settle();
  filter("p", {"n1", "n2"});
  auto waiting = bind_later("p", uid, "n2");
  ASSERT_TRUE(eventually([&] { return metric("tessera_bind_queue_length") == 1; }));
  filter("p", {"n1"});
  EXPECT_EQ(metric(kReservations), 1);
  remove_lock("n2");
  EXPECT_EQ(waiting.get(), "") << "the node of the bind counts";
  EXPECT_EQ(bound_node("p"), "n2");
  EXPECT_EQ(used("n1"), 0);
}

class SingleTest : public ScoredTest {
 protected:
  SingleTest() { options_.answer = "single"; }
};

TEST_F(SingleTest, PrioritizeAnswersInSingleModeToo) {
  add_node("n1");
  add_node("n2");
  add_running("r", "n2", 5000);
  start_server();
  const std::string uid = add_pod("p", {.memory = 5000});
  EXPECT_EQ(filter("p", {"n1", "n2"}).names, Names{"n2"});
  EXPECT_EQ(prioritize("p", {"n2"}), (Scores{{"n2", 10}}));
  EXPECT_EQ(prioritize("p", {"n1", "n2"}), (Scores{{"n1", 0}, {"n2", 10}}));
  EXPECT_EQ(bind("p", uid, "n1"), "pod default/p is reserved on node n2, not on node n1");
  EXPECT_EQ(metric(kReservations), 1) << "kept";
}

TEST_F(SingleTest, AnUnknownAnswerIsRefusedAtTheStart) {
  options_.answer = "several";
  const auto server = service::Server::start(options_, {.server = api_->url()}, clock_);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().what, "--answer: \"several\" is none of: single, scored");
}

}  // namespace
}  // namespace tessera::test
