#include "closed_loop.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>

#include "http/server.h"

namespace tessera::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kPlaced = R"({"NodeNames":["n1"],"FailedNodes":{},"Error":""})";
constexpr const char* kBound = R"({"Error":""})";

/// An extender that says what it is told to; the last answer of a list for ever.
class FakeExtender {
 public:
  struct Answers {
    std::vector<http::Response> filter, bind;
  };
  explicit FakeExtender(Answers answers) : answers_(std::move(answers)) {
    auto server = http::Server::start(
        {}, {route("/filter", answers_.filter, filters), route("/bind", answers_.bind, binds)});
    if (!server) throw std::runtime_error(server.error().what);
    server_ = std::move(*server);
  }
  ~FakeExtender() { server_->stop(); }

  Result<ClosedLoopResult> drive(std::size_t pods) {
    std::vector<LivePod> all;
    for (std::size_t i = 0; i < pods; ++i) {
      const std::string name = "p" + std::to_string(i);
      all.push_back({.name = name, .uid = "uid-of-" + name, .object = "{}", .ask = {}});
    }
    return run_closed_loop({.port = server_->port(),
                            .in_flight = 2,
                            .names = {"n0", "n1"},
                            .patience = std::chrono::milliseconds(pods == 1 ? 300 : 60'000)},
                           all);
  }
  /// For ever with that answer to bind, or to filter: what the loop says of its one pod.
  static std::string fault(http::Response filter, http::Response bind) {
    FakeExtender extender({{std::move(filter)}, {std::move(bind)}});
    const auto result = extender.drive(1);
    return result ? std::string("bound") : result.error().what;
  }

  std::vector<std::string> filters, binds;  ///< bodies; to be read after drive()

 private:
  http::Route route(std::string path, const std::vector<http::Response>& answers,
                    std::vector<std::string>& bodies) {
    return {.method = "POST",
            .path = std::move(path),
            .handler =
                [this, &answers, &bodies](http::Request&& request, const http::Responder& respond) {
                  // Noted before it is answered: the answer may end the run.
                  std::unique_lock lock(mutex_);
                  const http::Response& answer =
                      answers[std::min(bodies.size(), answers.size() - 1)];
                  bodies.push_back(std::move(request.body));
                  lock.unlock();
                  respond(answer);
                },
            .admit = {},
            .too_large = {}};
  }

  std::mutex mutex_;
  const Answers answers_;
  std::unique_ptr<http::Server> server_;
};

http::Response good(std::string body) {
  return {
      .status = 200, .content_type = "application/json", .body = std::move(body), .headers = {}};
}

TEST(ClosedLoop, BindsWhereTheFilterSaid) {
  FakeExtender extender({{good(kPlaced)}, {good(kBound)}});
  const auto result = extender.drive(2);
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_THAT(result->nodes, ElementsAre(Pair("p0", "n1"), Pair("p1", "n1")));
  EXPECT_EQ(result->refused + result->failed_binds, 0u);
  EXPECT_EQ(result->bound.count(), 2u);
  EXPECT_THAT(extender.filters,
              testing::Each(HasSubstr(R"("Nodes":null,"NodeNames":["n0","n1"])")));
  EXPECT_THAT(extender.binds,
              testing::Contains(
                  R"({"PodName":"p1","PodNamespace":"default","PodUID":"uid-of-p1","Node":"n1"})"));
}

TEST(ClosedLoop, WhatFailedOnceIsTriedAgainAndCounted) {
  FakeExtender extender(
      {{good(R"({"NodeNames":[],"FailedNodes":{"n0":"full"},"Error":"none"})"), good(kPlaced)},
       {good(R"({"Error":"the node is locked"})"), good(kBound)}});
  const auto result = extender.drive(2);
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->nodes.size(), 2u);
  EXPECT_EQ(result->refused, 1u);
  EXPECT_EQ(result->failed_binds, 1u);
  EXPECT_EQ(extender.filters.size(), 4u) << "a failed bind begins with the filter again";
  EXPECT_EQ(extender.binds.size(), 3u);
  EXPECT_EQ(result->bound.count(), 2u) << "a failed bind is not a bound pod";
  EXPECT_GE(result->seconds, 1.0) << "after kube-scheduler's pause";
}

TEST(ClosedLoop, SaysWhyAPodIsNotBound) {
  struct Case {
    http::Response filter, bind;
    const char* what;
  };
  const Case cases[] = {
      {good(kPlaced), good(R"({"Error":"the node is locked"})"),
       "0 of 1 pods are bound after 300 ms; the last problem: the node is locked"},
      {good(kPlaced), http::plain_text(500, "broken"), "the last problem: code 500: broken"},
      {good(kPlaced), good("no JSON"), "the last problem: code 200: no JSON"},
      {good(R"({"NodeNames":[],"Error":"nothing fits"})"), good(kBound), "nothing fits"},
      {good(R"({"NodeNames":["n0","n1"],"Error":""})"), good(kBound), "placed nothing"},
      {good(R"({"NodeNames":["n1"],"Error":"but no"})"), good(kBound), "but no"},
      {http::plain_text(503, "not ready"), good(kBound), "filter: 503 not ready"},
      {good(R"({"NodeNames":["n7"],"Error":""})"), good(kBound),
       "filter of pod p0 names \"n7\", which was not asked"},
      {good(R"({"NodeNames":[""],"Error":""})"), good(kBound), "names \"\""},
      {good(kPlaced), good(kBound), "bound"},
  };
  for (const Case& c : cases) EXPECT_THAT(FakeExtender::fault(c.filter, c.bind), HasSubstr(c.what));
}

TEST(ClosedLoop, ANodeThatWasNotAskedIsNotBound) {
  FakeExtender extender({{good(R"({"NodeNames":["n7"],"Error":""})")}, {good(kBound)}});
  EXPECT_FALSE(extender.drive(2));
  EXPECT_TRUE(extender.binds.empty());
}

}  // namespace
}  // namespace tessera::bench
