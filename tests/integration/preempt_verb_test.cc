// The preempt verb: kube-scheduler's victims, completed so that the devices suffice.
#include <algorithm>
#include <map>
#include <optional>

#include "json/reader.h"
#include "json/writer.h"
#include "preempt_world.h"

namespace tessera::test {
namespace {

using Names = std::vector<std::string>;
struct Victims {
  Names uids;
  std::int64_t violations = 0;
};
using Nodes = std::map<std::string, Victims>;

class PreemptVerbTest : public PreemptTest {
 protected:
  PreemptVerbTest() { options_.preemption = "off"; }

  std::string body(const std::string& pod, const Nodes& nodes, bool full = false) {
    json::Writer w;
    w.begin_object().key("Pod").raw(pod_text(pod));
    w.key(full ? "NodeNameToVictims" : "NodeNameToMetaVictims").begin_object();
    for (const auto& [node, victims] : nodes) {
      w.key(node).begin_object().key("Pods").begin_array();
      for (const std::string& uid : victims.uids) {
        w.begin_object();
        if (full) w.key("metadata").begin_object();
        w.key(full ? "uid" : "UID").string(uid);
        if (full) w.end_object();
        w.end_object();
      }
      w.end_array().key("NumPDBViolations").integer(victims.violations).end_object();
    }
    w.end_object().end_object();
    return std::move(w).take();
  }
  std::optional<Nodes> ask(const std::string& text) {
    const client::ApiResponse response =
        http_->call({.method = "POST", .path = "/preempt", .body = text});
    EXPECT_EQ(response.status, 200) << response.body;
    json::Parser parser;
    const auto object = parser.parse(response.body);
    if (!object) return std::nullopt;
    Nodes out;
    (*object)["NodeNameToMetaVictims"].for_each_member(
        [&](std::string_view node, json::Value value) {
          Victims& victims = out[std::string(node)];
          value["Pods"].for_each_element(
              [&](json::Value pod) { victims.uids.emplace_back(pod["UID"].string_or("?")); });
          victims.violations = value["NumPDBViolations"].integer().value_or(-1);
        });
    return out;
  }
};

TEST_F(PreemptVerbTest, VictimsAreCompletedAndUselessNodesLeftOut) {
  add_node("n1", 2);
  add_node("n2");
  add_node("n3", 1, 8'000);
  const std::string a = add("a", {.node = "n1", .card = 0});
  const std::string b = add("b", {.priority = 7, .node = "n1", .card = 1});
  const std::string c = add("c", {.priority = 2000, .node = "n2"});
  const std::string d = add("d", {.memory = 7'000, .node = "n3"});
  start_server();
  add("high", {.priority = 1000});
  settle();
  const auto answer = ask(body("high", {{"n1", {{"cpu-only"}, 3}},
                                        {"n2", {{"cpu-only"}, 0}},
                                        {"n3", {{d}, 0}},
                                        {"n9", {{"x"}, 0}}}));
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->size(), 1U)
      << "n2: the holder is not of lower priority, n3: too small, n9: unknown";
  EXPECT_EQ(answer->at("n1").uids, (Names{"cpu-only", a})) << "the cheaper of the two";
  EXPECT_EQ(answer->at("n1").violations, 3);
}

TEST_F(PreemptVerbTest, WhatSufficesIsKeptInBothForms) {
  add_node("n1");
  const std::string low = add("low", {.node = "n1"});
  start_server();
  add("high", {.priority = 1000});
  settle();
  for (const bool full : {false, true}) {
    const auto answer = ask(body("high", {{"n1", {{low}, 1}}}, full));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->at("n1").uids, Names{low});
    EXPECT_EQ(answer->at("n1").violations, 1);
  }
  const auto nobody = ask(body("high", {{"n1", {}}}));
  ASSERT_TRUE(nobody);
  EXPECT_EQ(nobody->at("n1").uids, Names{low});
}

TEST_F(PreemptVerbTest, ANodeNeverHasAnEmptyList) {
  add_node("n1");
  start_server();
  add("high", {.priority = 1000});
  settle();
  const auto answer = ask(body("high", {{"n1", {}}}));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->empty()) << "it fits there as it is";
}

TEST_F(PreemptVerbTest, PodsWithoutDevicesGetTheirVictimsBack) {
  start_server();
  const std::string plain =
      R"({"Pod":{"metadata":{"name":"p","namespace":"default","uid":"u"},"spec":{"priority":5,"containers":[{"name":"c"}]}},"NodeNameToMetaVictims":{"unknown":{"Pods":[{"UID":"x"}],"NumPDBViolations":2}}})";
  const auto answer = ask(plain);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("unknown").uids, Names{"x"});
  EXPECT_EQ(answer->at("unknown").violations, 2);
}

TEST_F(PreemptVerbTest, BudgetsAreCountedWhereTheyAreRead) {
  options_.preemption = "own";
  add_node("n1");
  const std::string low = add("low", {.node = "n1", .app = "db"});
  add_budget("db", "db", 0);
  start_server();
  add("high", {.priority = 1000});
  settle();
  const auto answer = ask(body("high", {{"n1", {{"other"}, 1}}}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("n1").uids, (Names{"other", low}));
  EXPECT_EQ(answer->at("n1").violations, 2);
}

TEST_F(PreemptVerbTest, WhatCannotBeReadOrAnsweredIsNot200) {
  start_server();
  for (const char* text : {"", "{}", "[]", R"({"Pod":{},"NodeNameToMetaVictims":3})"})
    EXPECT_EQ(http_->call({.method = "POST", .path = "/preempt", .body = text}).status, 400)
        << text;
  stop_server();
  options_.leader_elect = true;
  options_.leader_elect_name = "hami-scheduler";
  options_.leader_elect_namespace = "kube-system";
  options_.leader_elect_host = "h1";
  start_server();
  const auto follower =
      http_->call({.method = "POST", .path = "/preempt", .body = R"({"Pod":{}})"});
  EXPECT_EQ(follower.status, 503);
  EXPECT_NE(follower.body.find("not the leader"), std::string::npos) << follower.body;
}

}  // namespace
}  // namespace tessera::test
