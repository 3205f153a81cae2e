/// A webhook behind the embedded API server: what it answers decides what is stored.
#include "sim/api_admission.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "http/server.h"
#include "sim/api_server.h"

namespace tessera::sim {
namespace {

using api::Value;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kPod = R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}]}})";

std::string allowed_with(std::string_view patch) {
  return R"({"response":{"uid":"1","allowed":true,"patchType":"JSONPatch","patch":")" +
         text::base64_encode(patch) + R"("}})";
}

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    http::Route route{.method = "POST", .path = "/webhook"};
    route.handler = [this](http::Request&& request, const http::Responder& responder) {
      seen_ = Value::parse(request.body).value_or(Value());
      responder({.status = status_, .content_type = "application/json", .body = answer_});
    };
    webhook_ = http::Server::start({.address = "127.0.0.1:0"}, {route}).value();
    api_ = ApiServer::start({}, clock_).value();
    url_ = "http://127.0.0.1:" + std::to_string(webhook_->port()) + "/webhook";
    api_->set_webhook(url_);
    client_ = std::make_unique<client::ApiClient>(
        client::Credentials{.server = api_->url()},
        client::ApiClientOptions{.user_agent = "tester", .qps = -1}, metrics_);
  }
  ~AdmissionTest() override {
    client_.reset();
    api_.reset();
    webhook_->stop();
  }

  client::ApiResponse create(std::string_view body = kPod) {
    return client_->call({.method = "POST", .path = kPods, .body = std::string(body)});
  }
  Value stored(const std::string& name = "a") {
    return Value::parse(api_->request("GET", std::string(kPods) + "/" + name).body)
        .value_or(Value());
  }

  SystemClock clock_;
  obs::Metrics metrics_;
  std::string answer_ = R"({"response":{"uid":"1","allowed":true}})", url_;
  int status_ = 200;
  Value seen_;
  std::unique_ptr<http::Server> webhook_;
  std::unique_ptr<ApiServer> api_;
  std::unique_ptr<client::ApiClient> client_;
};

TEST_F(AdmissionTest, TheReviewCarriesThePodAndItsNamespace) {
  EXPECT_EQ(create().status, 201);
  EXPECT_EQ(seen_["kind"].text(), "AdmissionReview");
  EXPECT_EQ(seen_["request"]["operation"].text(), "CREATE");
  EXPECT_EQ(seen_["request"]["namespace"].text(), "default");
  EXPECT_EQ(seen_["request"]["object"]["metadata"]["namespace"].text(), "default");
  EXPECT_EQ(seen_["request"]["object"]["metadata"]["name"].text(), "a");
}

TEST_F(AdmissionTest, ThePatchIsAppliedBeforeThePodIsStored) {
  answer_ = allowed_with(R"([{"op":"add","path":"/spec/schedulerName","value":"ours"}])");
  EXPECT_EQ(create().status, 201);
  EXPECT_EQ(stored()["spec"]["schedulerName"].text(), "ours");
}

TEST_F(AdmissionTest, ARefusalIsPassedOnWithItsWords) {
  answer_ = R"({"response":{"uid":"1","allowed":false,"status":{"message":"too much"}}})";
  const client::ApiResponse response = create();
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.message(), "admission webhook denied the request: too much");
  EXPECT_TRUE(stored()["spec"].is_null());
}

TEST_F(AdmissionTest, APatchThatDoesNotApplyIsAnError) {
  answer_ = allowed_with(R"([{"op":"remove","path":"/spec/nothing"}])");
  EXPECT_EQ(create().status, 500);
  EXPECT_TRUE(stored()["spec"].is_null());
}

TEST_F(AdmissionTest, AWebhookThatDoesNotAnswerIsIgnored) {
  status_ = 500;
  EXPECT_EQ(create().status, 201);
  webhook_->stop();
  EXPECT_EQ(create(R"({"metadata":{"name":"b"},"spec":{"containers":[{"name":"c"}]}})").status,
            201);
  api_->set_webhook("");
  EXPECT_EQ(create(R"({"metadata":{"name":"d"},"spec":{"containers":[{"name":"c"}]}})").status,
            201);
}

TEST_F(AdmissionTest, OnlyNewPodsAreShown) {
  EXPECT_EQ(client_
                ->call({.method = "POST",
                        .path = "/api/v1/namespaces/default/resourcequotas",
                        .body = R"({"metadata":{"name":"q"}})"})
                .status,
            201);
  EXPECT_TRUE(seen_.is_null());
}

}  // namespace
}  // namespace tessera::sim
