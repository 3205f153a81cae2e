/// Evictions and priorities of the embedded API server, as the real one treats them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sim/api_server.h"
#include "sim/api_value.h"

namespace tessera::sim {
namespace {

using api::Value;
using testing::HasSubstr;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
constexpr std::string_view kMerge = "application/merge-patch+json";

class ApiEvictionTest : public testing::Test {
 protected:
  struct Answer {
    int status = 0;
    Value body;
  };
  Answer call(std::string_view method, const std::string& path, std::string_view body = {},
              std::string_view type = "application/json") {
    const ApiServer::Answer answer = server_->request(method, path, body, type);
    auto parsed = Value::parse(answer.body);
    EXPECT_TRUE(parsed) << answer.body;
    return {answer.status, parsed ? *parsed : Value()};
  }
  std::string add_running(const std::string& name, const std::string& app, int grace = 0) {
    const std::string path = std::string(kPods) + "/" + name;
    const Answer made = call("POST", std::string(kPods),
                             R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + app +
                                 R"("}},"spec":{"nodeName":"n1","terminationGracePeriodSeconds":)" +
                                 std::to_string(grace) + R"(,"containers":[{"name":"c"}]}})");
    EXPECT_EQ(made.status, 201);
    call("PATCH", path + "/status", R"({"status":{"phase":"Running"}})", kMerge);
    return made.body["metadata"]["uid"].text();
  }
  void add_budget(const std::string& name, const std::string& selector, int allowed) {
    EXPECT_EQ(
        call("POST", std::string(kBudgets),
             R"({"metadata":{"name":")" + name + R"("},"spec":{"selector":)" + selector + "}}")
            .status,
        201);
    EXPECT_EQ(call("PATCH", std::string(kBudgets) + "/" + name + "/status",
                   R"({"status":{"disruptionsAllowed":)" + std::to_string(allowed) + "}}", kMerge)
                  .status,
              200);
  }
  Answer evict(const std::string& name, const std::string& options = "{}") {
    return call("POST", std::string(kPods) + "/" + name + "/eviction",
                R"({"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":")" + name +
                    R"("},"deleteOptions":)" + options + "}");
  }
  bool exists(const std::string& name) {
    return call("GET", std::string(kPods) + "/" + name).status == 200;
  }
  std::int64_t allowed(const std::string& budget) {
    return call("GET", std::string(kBudgets) + "/" + budget)
        .body["status"]["disruptionsAllowed"]
        .integer()
        .value_or(-1);
  }

  ManualClock clock_{WallTime(std::chrono::seconds(1'800'000'000))};
  std::unique_ptr<ApiServer> server_ = ApiServer::start({}, clock_).value();
};

TEST_F(ApiEvictionTest, ABudgetWithNothingLeftRefusesWithItsCause) {
  add_running("a", "db");
  add_budget("db", R"({"matchLabels":{"app":"db"}})", 0);
  for (const char* options : {"{}", R"({"dryRun":["All"]})"}) {
    const Answer refused = evict("a", options);
    EXPECT_EQ(refused.status, 429);
    EXPECT_THAT(refused.body["message"].text(), HasSubstr("disruption budget"));
    ASSERT_EQ(refused.body["details"]["causes"].items().size(), 1U);
    EXPECT_EQ(refused.body["details"]["causes"].items()[0]["reason"].text(), "DisruptionBudget");
  }
  EXPECT_TRUE(exists("a"));
}

TEST_F(ApiEvictionTest, EachEvictionCostsItsBudgetADryRunNothing) {
  add_running("a", "db");
  add_running("b", "db");
  add_budget("db", R"({"matchExpressions":[{"key":"app","operator":"Exists"}]})", 1);
  EXPECT_EQ(evict("a", R"({"dryRun":["All"]})").status, 201);
  EXPECT_TRUE(exists("a"));
  EXPECT_EQ(allowed("db"), 1);
  EXPECT_EQ(evict("a").status, 201);
  EXPECT_FALSE(exists("a"));
  EXPECT_EQ(allowed("db"), 0);
  EXPECT_EQ(evict("b").status, 429);
}

TEST_F(ApiEvictionTest, PodsThatDoNotRunNeedNoBudgetTwoBudgetsAreTooMany) {
  add_budget("all", "{}", 0);
  add_running("a", "x");
  call("PATCH", std::string(kPods) + "/a/status", R"({"status":{"phase":"Pending"}})", kMerge);
  EXPECT_EQ(evict("a").status, 201);
  add_running("b", "x");
  add_budget("more", R"({"matchLabels":{"app":"x"}})", 5);
  EXPECT_EQ(evict("b").status, 500);
  EXPECT_TRUE(exists("b"));
}

TEST_F(ApiEvictionTest, TheUidIsAPreconditionAndThePodHasItsGrace) {
  const std::string uid = add_running("a", "x", 30);
  EXPECT_EQ(evict("a", R"({"preconditions":{"uid":"another"}})").status, 409);
  EXPECT_EQ(evict("a", R"({"preconditions":{"uid":")" + uid + R"("}})").status, 201);
  const Answer leaving = call("GET", std::string(kPods) + "/a");
  ASSERT_EQ(leaving.status, 200);
  EXPECT_EQ(leaving.body["metadata"]["deletionGracePeriodSeconds"].integer(), 30);
  EXPECT_EQ(evict("nobody").status, 404);
}

TEST_F(ApiEvictionTest, APriorityClassByNameGivesPriorityAndPolicy) {
  call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
       R"({"metadata":{"name":"high"},"value":1000,"preemptionPolicy":"Never"})");
  const Answer made = call(
      "POST", std::string(kPods),
      R"({"metadata":{"name":"p"},"spec":{"priorityClassName":"high","containers":[{"name":"c"}]}})");
  EXPECT_EQ(made.body["spec"]["priority"].integer(), 1000);
  EXPECT_EQ(made.body["spec"]["preemptionPolicy"].text(), "Never");
}

}  // namespace
}  // namespace tessera::sim
