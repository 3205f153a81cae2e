// The cards of a pod chosen once more on its node (case 140): for a reservation, for a bound pod
// that its agent has not served yet, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "harness.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kDevices = "hami.io/vgpu-devices-allocated";
constexpr const char* kToAllocate = "hami.io/vgpu-devices-to-allocate";

class Refit : public test::ClusterTest {
 protected:
  Refit() {
    std::string name = (std::filesystem::temp_directory_path() / "tessera-refit-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "tokens") << "agent";
    options_.extender_token_file = (folder_ / "tokens").string();
  }
  ~Refit() override { std::filesystem::remove_all(folder_); }

  void call_as(const std::string& token) {
    http_ = std::make_unique<client::ApiClient>(
        client::Credentials{.server = fmt::format("http://127.0.0.1:{}", server_->port()),
                            .token = token},
        client::ApiClientOptions{.qps = -1}, metrics_);
  }
  void start() {
    start_server();
    call_as("agent");
  }
  /// Cards 0 and 1 on NUMA node 0, cards 2 and 3 on NUMA node 1.
  void add_two_sides(const std::string& name) {
    add_node(name, 4);
    std::string cards;
    for (int i = 0; i < 4; ++i) {
      cards += fmt::format(
          R"({}{{"id":"{}-card{}","index":{},"count":10,"devmem":24576,"devcore":100,"type":"NVIDIA-Tesla T4","mode":"hami-core","numa":{},"health":true}})",
          i == 0 ? "" : ",", name, i, i, i / 2);
    }
    std::string quoted;
    for (const char c : cards) {
      if (c == '"') quoted += '\\';
      quoted += c;
    }
    patch_node(
        name,
        fmt::format(R"({{"metadata":{{"annotations":{{"hami.io/node-nvidia-register":"[{}]"}}}}}})",
                    quoted));
  }
  struct Answer {
    int status = 0;
    std::string state, error, devices;
    bool changed = false;
  };
  Answer refit(const std::string& body) {
    const client::ApiResponse response =
        http_->call({.method = "POST", .path = "/v1/refit", .body = body});
    json::Parser parser;
    const auto object = parser.parse(response.body);
    EXPECT_TRUE(object) << response.body;
    if (!object) return {};
    return {.status = response.status,
            .state = std::string((*object)["state"].string_or("")),
            .error = std::string((*object)["error"].string_or("")),
            .devices = std::string((*object)["annotations"][kDevices].string_or("")),
            .changed = (*object)["changed"].boolean().value_or(false)};
  }
  Answer to_numa(const std::string& pod, int numa, const std::string& node = "n1") {
    return refit(fmt::format(R"({{"name":"{}","node":"{}","numa":{}}})", pod, node, numa));
  }
  std::string bound_pod(const std::string& name, const test::Ask& ask = {}) {
    const std::string uid = add_pod(name, ask);
    settle();
    EXPECT_EQ(filter(name, {"n1"}).error, "");
    EXPECT_EQ(bind(name, uid, "n1"), "");
    settle();
    return uid;
  }

  std::filesystem::path folder_;
};

TEST_F(Refit, Case140ABoundPodGetsCardsOfTheNumaNodeThatKubeletAllows) {
  add_two_sides("n1");
  start();
  bound_pod("a");
  ASSERT_THAT(annotation("a", kDevices), HasSubstr("n1-card0"));
  const std::uint64_t before = calls("PATCH pods");
  const Answer moved = to_numa("a", 1);
  EXPECT_EQ(moved.status, 200) << moved.error;
  EXPECT_TRUE(moved.changed);
  EXPECT_EQ(moved.state, "bound");
  EXPECT_THAT(moved.devices, HasSubstr("n1-card2"));
  EXPECT_EQ(annotation("a", kDevices), moved.devices) << "the agent reads what it was answered";
  EXPECT_EQ(annotation("a", kToAllocate), moved.devices);
  EXPECT_EQ(annotation("a", "hami.io/bind-phase"), "allocating");
  EXPECT_EQ(calls("PATCH pods") - before, 1U);
  EXPECT_EQ(server_->self_check(), "");

  const Answer again = to_numa("a", 1);
  EXPECT_EQ(again.status, 200);
  EXPECT_FALSE(again.changed) << "it is there already";
  EXPECT_EQ(calls("PATCH pods") - before, 1U);

  // The books follow: all of card 0 is free again, all of card 2 is not.
  agent_serves("a", "n1");
  settle();
  bound_pod("whole", {.count = 3, .memory = 24'576});
  EXPECT_THAT(annotation("whole", kDevices), Not(HasSubstr("n1-card2")));
}

TEST_F(Refit, AReservationIsReplacedWithoutAWrite) {
  add_two_sides("n1");
  start();
  const std::string uid = add_pod("a");
  settle();
  ASSERT_EQ(filter("a", {"n1"}).error, "");
  const std::uint64_t before = calls("PATCH pods");
  const Answer moved = refit(fmt::format(
      R"({{"uid":"{}","node":"n1","exclude":["n1-card0","n1-card1","n1-card2"]}})", uid));
  EXPECT_EQ(moved.status, 200) << moved.error;
  EXPECT_EQ(moved.state, "reserved");
  EXPECT_THAT(moved.devices, HasSubstr("n1-card3"));
  EXPECT_EQ(calls("PATCH pods"), before);
  EXPECT_EQ(bind("a", uid, "n1"), "");
  EXPECT_THAT(annotation("a", kDevices), HasSubstr("n1-card3"));
}

TEST_F(Refit, NothingChangesWhenNothingFits) {
  add_two_sides("n1");
  start();
  bound_pod("full", {.count = 2, .memory = 24'576});
  agent_serves("full", "n1");
  settle();
  ASSERT_THAT(annotation("full", kDevices), HasSubstr("n1-card0"));
  bound_pod("a");
  const std::string devices = annotation("a", kDevices);
  const Answer full = to_numa("a", 0);
  EXPECT_EQ(full.status, 409);
  EXPECT_THAT(full.error, HasSubstr("nothing fits on node n1 within the limits given"));
  EXPECT_EQ(annotation("a", kDevices), devices);
  EXPECT_EQ(server_->self_check(), "");
}

TEST_F(Refit, WhatIsTooLateOrMeansNothingIsRefusedInWords) {
  add_two_sides("n1");
  add_node("n2");
  start();
  bound_pod("a");
  struct Row {
    const char* body;
    int status;
    const char* words;
  };
  const Row rows[] = {
      {R"({"name":"a","node":"n1","numa":7})", 400, "no card on NUMA node 7"},
      {R"({"name":"a","node":"n1","devices":["x"]})", 400, "node n1 has no device \"x\""},
      {R"({"name":"a","node":"n1","devices":[]})", 400, "devices: expected an array"},
      {R"({"name":"a","node":"n1","numa":"0"})", 400, "numa: \"0\" is not a whole number"},
      {R"({"name":"a","node":"n1"})", 400, "numa, devices or exclude: missing"},
      {R"({"name":"a","numa":0})", 400, "node: missing"},
      {R"({"node":"n1","numa":0})", 400, "name or uid: missing"},
      {R"({"name":"../a","node":"n1","numa":0})", 400, "not a name"},
      {"[", 400, "not JSON"},
      {R"({"name":"b","node":"n1","numa":0})", 404, "not known here"},
      {R"({"name":"a","node":"n2","numa":0})", 409, "is bound to node n1"},
  };
  for (const Row& row : rows) {
    const Answer answer = refit(row.body);
    EXPECT_EQ(answer.status, row.status) << row.body;
    EXPECT_THAT(answer.error, HasSubstr(row.words)) << row.body;
  }
  patch_pod("a", fmt::format(R"({{"metadata":{{"annotations":{{"{}":";"}}}}}})", kToAllocate));
  EXPECT_THAT(to_numa("a", 1).error, HasSubstr("the node agent has begun to serve the pod"));
  agent_serves("a", "n1");
  EXPECT_THAT(to_numa("a", 1).error, HasSubstr("its devices have been handed out"));
  patch_pod("a", R"({"status":{"phase":"Running"}})", "status");
  EXPECT_THAT(to_numa("a", 1).error, HasSubstr("the pod is running"));
}

TEST_F(Refit, OnlyKnownCallersAreServed) {
  add_two_sides("n1");
  start();
  bound_pod("a");
  call_as("");
  EXPECT_EQ(to_numa("a", 1).status, 401);
  stop_server();
  options_.extender_token_file.clear();
  start_server();
  const Answer open = to_numa("a", 1);
  EXPECT_EQ(open.status, 403);
  EXPECT_THAT(open.error, HasSubstr("only with --extender-client-ca or --extender-token-file"));
  EXPECT_THAT(annotation("a", kDevices), HasSubstr("n1-card0"));
}

}  // namespace
}  // namespace tessera
