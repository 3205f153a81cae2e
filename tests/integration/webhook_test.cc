// The webhook over HTTP: limits of the body, quotas as the watch brings them, many reviews at once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "harness.h"

namespace tessera::test {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

class WebhookTest : public ClusterTest {
 protected:
  static std::string review(int memory, const std::string& ns = "default") {
    return fmt::format(
        R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u",)"
        R"("namespace":"{}","operation":"CREATE","object":{{"kind":"Pod","metadata":{{"name":"p"}},)"
        R"("spec":{{"containers":[{{"name":"c","resources":{{"limits":{{"nvidia.com/gpu":"1",)"
        R"("nvidia.com/gpumem":"{}"}}}}}}]}}}}}}}})",
        ns, memory);
  }
  client::ApiResponse post(std::string body) {
    return http_->call({.method = "POST", .path = "/webhook", .body = std::move(body)});
  }
  bool allowed(int memory) {
    return post(review(memory)).body.find(R"("allowed":true)") != std::string::npos;
  }
  void set_quota(const std::string& method, const std::string& hard) {
    const bool create = method == "POST";
    const std::string path = "/api/v1/namespaces/default/resourcequotas";
    const auto answer = api_->request(
        method, create ? path : path + "/q",
        R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":)" +
            hard + "}}");
    ASSERT_LT(answer.status, 300) << answer.body;
  }
};

TEST_F(WebhookTest, Case114QuotaChangesReachAdmissionWithinASecond) {
  start_server();
  const auto soon = std::chrono::seconds(1);
  EXPECT_TRUE(allowed(12'000));
  set_quota("POST", R"({"limits.nvidia.com/gpumem":"10000"})");
  EXPECT_TRUE(eventually([&] { return !allowed(12'000); }, soon));
  EXPECT_TRUE(allowed(8000));
  EXPECT_THAT(post(review(12'000)).body,
              HasSubstr("exceeding resource quota: limits.nvidia.com/gpumem of ResourceQuota "
                        "default/q is 10000, 0 in use, this pod needs 12000"));
  set_quota("PUT", R"({"limits.nvidia.com/gpumem":"5000"})");
  EXPECT_TRUE(eventually([&] { return !allowed(8000); }, soon));
  set_quota("PUT", R"({"pods":"100"})");
  EXPECT_TRUE(eventually([&] { return allowed(12'000); }, soon));
  set_quota("PUT", R"({"limits.nvidia.com/gpumem":"0"})");
  EXPECT_TRUE(eventually([&] { return !allowed(1); }, soon));
  EXPECT_EQ(api_->request("DELETE", "/api/v1/namespaces/default/resourcequotas/q").status, 200);
  EXPECT_TRUE(eventually([&] { return allowed(12'000); }, soon));
}

TEST_F(WebhookTest, WhatIsReservedCountsAtAdmission) {
  add_node("n1");
  start_server();
  set_quota("POST", R"({"limits.nvidia.com/gpumem":"10000"})");
  EXPECT_TRUE(eventually([&] { return !allowed(12'000); }));
  add_pod("a", {.memory = 6000});
  EXPECT_EQ(filter("a", {"n1"}).names.size(), 1U);
  EXPECT_TRUE(eventually([&] { return !allowed(6000); }));
  EXPECT_TRUE(allowed(4000));
  delete_pod("a");
  EXPECT_TRUE(eventually([&] { return allowed(6000); }));
}

TEST_F(WebhookTest, ABodyThatIsTooLongIsDeniedWithTheLimitAndItsFlag) {
  options_.webhook_max_body = 4096;
  start_server();
  const client::ApiResponse answer = post(review(1, std::string(5000, 'x')));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("request entity is too large; limit is 4096 bytes"));
  EXPECT_THAT(answer.body, HasSubstr("--webhook-max-body"));
  EXPECT_THAT(answer.body, HasSubstr(R"("code":413)"));
}

TEST_F(WebhookTest, ReviewsAreAnsweredBeforeTheCachesAreFilled) {
  api_->inject({.match = "/api/v1/pods", .times = -1, .status = 500});
  start_server(false);
  EXPECT_TRUE(allowed(1000));
}

TEST_F(WebhookTest, Case193ABurstIsAnsweredInTime) {
  start_server();
  constexpr int kClients = 10, kEach = 50;
  std::vector<std::vector<double>> times(kClients);
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      for (int k = 0; k < kEach; ++k) {
        const auto begin = steady_clock::now();
        const client::ApiResponse answer = post(review(1000));
        EXPECT_EQ(answer.status, 200) << answer.error;
        times[static_cast<std::size_t>(i)].push_back(
            std::chrono::duration<double>(steady_clock::now() - begin).count());
      }
    });
  }
  for (std::thread& client : clients) client.join();
  std::vector<double> all;
  for (const auto& some : times) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kClients * kEach));
  EXPECT_LT(all[all.size() * 99 / 100], 1.0);
  EXPECT_EQ(metric(R"(tessera_webhook_requests_total{result="mutated"})"), kClients * kEach);
}

}  // namespace
}  // namespace tessera::test
