#include "client/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "client/test_server.h"
#include "obs/metrics.h"

namespace tessera::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

milliseconds since(steady_clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
}

ApiClientOptions plain_options() {
  ApiClientOptions options;
  options.user_agent = "tessera/test";
  options.qps = -1;
  return options;
}

Credentials at(const TestServer& server) {
  Credentials credentials;
  credentials.server = server.url();
  return credentials;
}

struct ApiTest : testing::Test {
  obs::Metrics metrics;
};

TEST_F(ApiTest, SendsMethodPathBodyAndHeaders) {
  TestServer server(
      [](const SeenRequest&, TestServer::Connection& c) { c.reply(200, "{\"a\":1}"); });
  Credentials credentials = at(server);
  credentials.token = "secret-token";
  ApiClient client(credentials, plain_options(), metrics);
  const ApiResponse response = client.call({.method = "PATCH",
                                            .path = "/api/v1/nodes/n1?x=y",
                                            .body = "{\"p\":1}",
                                            .content_type = "application/merge-patch+json"});
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.ok());
  EXPECT_EQ(response.body, "{\"a\":1}");
  EXPECT_GE(response.body.capacity(), response.body.size() + 64);
  const SeenRequest seen = server.seen().at(0);
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.target, "/api/v1/nodes/n1?x=y");
  EXPECT_EQ(seen.body, "{\"p\":1}");
  EXPECT_THAT(seen.headers, HasSubstr("Content-Type: application/merge-patch+json\r\n"));
  EXPECT_THAT(seen.headers, HasSubstr("Authorization: Bearer secret-token\r\n"));
  EXPECT_THAT(seen.headers, HasSubstr("User-Agent: tessera/test\r\n"));
  EXPECT_THAT(seen.headers, HasSubstr("Accept: application/json\r\n"));
  EXPECT_THAT(seen.headers, Not(HasSubstr("Expect:")));
}

TEST_F(ApiTest, ServerPathIsPutBeforeThePath) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  Credentials credentials = at(server);
  credentials.server += "/k8s/clusters/a";
  ApiClient client(credentials, plain_options(), metrics);
  EXPECT_TRUE(client.call({.path = "/version"}).ok());
  EXPECT_EQ(server.seen().at(0).target, "/k8s/clusters/a/version");
}

TEST_F(ApiTest, DeleteAndEmptyPostKeepTheirMethod) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  ApiClient client(at(server), plain_options(), metrics);
  client.call({.method = "DELETE", .path = "/a"});
  client.call({.method = "DELETE", .path = "/b", .body = "{}"});
  client.call({.method = "POST", .path = "/c"});
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].method + seen[0].body, "DELETE");
  EXPECT_EQ(seen[1].method + seen[1].body, "DELETE{}");
  EXPECT_EQ(seen[2].method + seen[2].body, "POST");
}

TEST_F(ApiTest, OneConnectionServesCallsInARow) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, "x"); });
  ApiClient client(at(server), plain_options(), metrics);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(client.call({.path = "/a"}).ok());
  for (const SeenRequest& request : server.seen()) EXPECT_EQ(request.connection, 1);
}

TEST_F(ApiTest, ConnectionClosedWhileIdleIsReplacedUnseen) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) {
    c.reply(200, "x");
    c.cut();
  });
  ApiClient client(at(server), plain_options(), metrics);
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(client.call({.method = "POST", .path = "/a", .body = "b"}).ok()) << i;
}

TEST_F(ApiTest, CallFromAnotherThreadWakesTheLoopAtOnce) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, "x"); });
  ApiClient client(at(server), plain_options(), metrics);
  client.call({.path = "/warm"});
  milliseconds best{1'000'000};
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(milliseconds(20));  // the loop sleeps in poll
    const auto start = steady_clock::now();
    client.call({.path = "/a"});
    best = std::min(best, since(start));
  }
  EXPECT_LT(best, milliseconds(50));
}

struct ErrorCase {
  const char* name;
  int status;
  const char* body;
  const char* message;
};

TEST_F(ApiTest, MessageOfAnAnswer) {
  const ErrorCase cases[] = {
      {"status object", 404, R"({"kind":"Status","message":"pods \"a\" not found","code":404})",
       "pods \"a\" not found"},
      {"status without message", 409, R"({"kind":"Status","code":409})", "code 409"},
      {"empty message", 403, R"({"message":""})", "code 403"},
      {"message of the wrong kind", 500, R"({"message":7})", "code 500"},
      {"text", 502, "bad gateway", "code 502"},
      {"empty", 500, "", "code 500"},
      {"array", 500, "[1]", "code 500"},
      {"broken", 500, "{\"message\":\"x", "code 500"},
  };
  for (const ErrorCase& row : cases) {
    TestServer server(
        [&](const SeenRequest&, TestServer::Connection& c) { c.reply(row.status, row.body); });
    ApiClient client(at(server), plain_options(), metrics);
    const ApiResponse response = client.call({.path = "/x"});
    EXPECT_EQ(response.status, row.status) << row.name;
    EXPECT_FALSE(response.ok()) << row.name;
    EXPECT_EQ(response.message(), row.message) << row.name;
  }
}

TEST_F(ApiTest, NobodyListensIsAnErrorInWords) {
  Credentials credentials;
  {
    TestServer gone([](const SeenRequest&, TestServer::Connection&) {});
    credentials = at(gone);
  }
  ApiClient client(credentials, plain_options(), metrics);
  const ApiResponse response = client.call({.path = "/x"});
  EXPECT_EQ(response.status, 0);
  EXPECT_FALSE(response.ok());
  EXPECT_THAT(response.message(), HasSubstr("127.0.0.1"));
}

TEST_F(ApiTest, RedirectsAreNotFollowed) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) {
    c.reply(302, "", "Location: /other\r\n");
  });
  ApiClient client(at(server), plain_options(), metrics);
  EXPECT_EQ(client.call({.path = "/x"}).status, 302);
  EXPECT_EQ(server.seen().size(), 1U);
}

TEST_F(ApiTest, AnswerThatBreaksOffIsNotOk) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) {
    c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly a part");
    c.cut();
  });
  ApiClient client(at(server), plain_options(), metrics);
  const ApiResponse response = client.call({.path = "/x"});
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(response.ok());
  EXPECT_NE(response.error, "");
}

TEST_F(ApiTest, GarbageInsteadOfHttpIsAnError) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) {
    c.send("SSH-2.0-server\r\n\r\n");
    c.cut();
  });
  ApiClient client(at(server), plain_options(), metrics);
  const ApiResponse response = client.call({.path = "/x"});
  EXPECT_FALSE(response.ok());
  EXPECT_NE(response.error, "");
}

TEST_F(ApiTest, DeadlineEndsASlowAnswer) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.stall(); });
  ApiClient client(at(server), plain_options(), metrics);
  const auto start = steady_clock::now();
  const ApiResponse response = client.call({.path = "/x", .timeout = milliseconds(150)});
  EXPECT_EQ(response.status, 0);
  EXPECT_THAT(response.error, HasSubstr("timed out"));
  EXPECT_GE(since(start), milliseconds(140));
  EXPECT_LT(since(start), milliseconds(5'000));
}

// Else an overloaded client sends each call with the rest of its time, breaks it off, and the
// server has worked for nobody.
TEST_F(ApiTest, WhatHasWaitedLongStillHasHalfOfItsTimeOnTheWire) {
  TestServer server([](const SeenRequest& request, TestServer::Connection& c) {
    std::this_thread::sleep_for(milliseconds(request.target == "/first" ? 2'400 : 900));
    c.reply(200, "");
  });
  ApiClientOptions options = plain_options();
  options.max_parallel = 1;
  ApiClient client(at(server), options, metrics);
  std::promise<ApiResponse> answered;
  client.send({.path = "/first", .timeout = milliseconds(60'000)}, [](const ApiResponse&) {});
  client.send({.path = "/second", .timeout = milliseconds(3'000)},
              [&](ApiResponse response) { answered.set_value(std::move(response)); });
  EXPECT_EQ(answered.get_future().get().error, "");
}

TEST_F(ApiTest, DefaultTimeoutReplacesTheRequestsOwn) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.stall(); });
  ApiClientOptions options = plain_options();
  options.default_timeout = milliseconds(100);
  ApiClient client(at(server), options, metrics);
  const auto start = steady_clock::now();
  EXPECT_EQ(client.call({.path = "/x", .timeout = milliseconds(60'000)}).status, 0);
  EXPECT_LT(since(start), milliseconds(10'000));
}

TEST_F(ApiTest, TooManyRequestsIsRetriedAfterTheTimeAsked) {
  std::atomic<int> n = 0;
  TestServer server([&](const SeenRequest&, TestServer::Connection& c) {
    if (++n == 1) return c.reply(429, "", "Retry-After: 1\r\n");
    c.reply(200, "done");
  });
  ApiClient client(at(server), plain_options(), metrics);
  const auto start = steady_clock::now();
  const ApiResponse response = client.call({.method = "POST", .path = "/x", .body = "b"});
  EXPECT_EQ(response.body, "done");
  EXPECT_GE(since(start), milliseconds(990));
  EXPECT_EQ(server.seen().at(1).body, "b");
  EXPECT_EQ(metrics
                .counter("tessera_api_requests_total", "calls to the API server",
                         {{"verb", "POST"}, {"resource", "other"}, {"code", "429"}})
                .value(),
            1);
  EXPECT_EQ(metrics
                .counter("tessera_api_requests_total", "calls to the API server",
                         {{"verb", "POST"}, {"resource", "other"}, {"code", "200"}})
                .value(),
            1);
}

TEST_F(ApiTest, AWriteThatIsNoLongerWantedIsNotSent) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  ApiClient client(at(server), plain_options(), metrics);
  const ApiResponse refused =
      client.call({.method = "PATCH", .path = "/x", .still_wanted = [] { return false; }});
  EXPECT_EQ(refused.status, 0);
  EXPECT_EQ(refused.error, "no longer wanted");
  EXPECT_TRUE(client.call({.path = "/y", .still_wanted = [] { return true; }}).ok());
  EXPECT_EQ(server.seen().size(), 1U);
}

TEST_F(ApiTest, AWriteThatIsNoLongerWantedIsNotSentAgain) {
  std::atomic<bool> wanted = true;
  TestServer server([&](const SeenRequest&, TestServer::Connection& c) {
    wanted = false;  // the right to write ends while the client waits
    c.reply(429, "", "Retry-After: 1\r\n");
  });
  ApiClient client(at(server), plain_options(), metrics);
  const ApiResponse answer = client.call(
      {.method = "POST", .path = "/x", .still_wanted = [&wanted] { return wanted.load(); }});
  EXPECT_EQ(answer.error, "no longer wanted");
  EXPECT_EQ(server.seen().size(), 1U);
}

TEST_F(ApiTest, UnavailableIsRetriedOnlyWhenAskedTo) {
  std::atomic<int> n = 0;
  TestServer server([&](const SeenRequest& r, TestServer::Connection& c) {
    if (r.target == "/plain") return c.reply(503, "");
    c.reply(++n == 1 ? 503 : 200, "", "Retry-After: 1\r\n");
  });
  ApiClient client(at(server), plain_options(), metrics);
  EXPECT_EQ(client.call({.path = "/plain"}).status, 503);
  EXPECT_EQ(server.count("/plain"), 1U);
  EXPECT_EQ(client.call({.path = "/asked"}).status, 200);
}

TEST_F(ApiTest, RetriesEndWithTheAnswerThatTheCallerSees) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) {
    c.reply(429, R"({"message":"slow down"})", "Retry-After: 1\r\n");
  });
  ApiClientOptions options = plain_options();
  options.max_retries_429 = 1;
  ApiClient client(at(server), options, metrics);
  const ApiResponse response = client.call({.path = "/x"});
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.message(), "slow down");
  EXPECT_EQ(response.retry_after, milliseconds(1000));
  EXPECT_EQ(server.seen().size(), 2U);
}

TEST_F(ApiTest, NoRetryBeyondTheDeadline) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) {
    c.reply(429, "", "Retry-After: 20\r\n");
  });
  ApiClient client(at(server), plain_options(), metrics);
  const auto start = steady_clock::now();
  EXPECT_EQ(client.call({.path = "/x", .timeout = milliseconds(3'000)}).status, 429);
  EXPECT_LT(since(start), milliseconds(2'500));
}

TEST_F(ApiTest, BucketSpreadsCallsBeyondTheBurst) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  ApiClientOptions options = plain_options();
  options.qps = 50;
  options.burst = 5;
  ApiClient client(at(server), options, metrics);
  Collected<int> answers;
  const auto start = steady_clock::now();
  for (int i = 0; i < 15; ++i)
    client.send({.path = "/x"}, [&](const ApiResponse& r) { answers.add(r.status); });
  ASSERT_TRUE(answers.wait_for(15));
  EXPECT_GE(since(start), milliseconds(180));  // 10 calls beyond the burst at 20 ms each
}

TEST_F(ApiTest, CallThatWaitsTooLongForTheBucketEndsAtItsDeadline) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  ApiClientOptions options = plain_options();
  options.qps = 0.01;
  options.burst = 1;
  ApiClient client(at(server), options, metrics);
  EXPECT_TRUE(client.call({.path = "/first"}).ok());
  const auto start = steady_clock::now();
  const ApiResponse second = client.call({.path = "/second", .timeout = milliseconds(200)});
  EXPECT_EQ(second.status, 0);
  EXPECT_THAT(second.error, HasSubstr("no answer within 200 ms"));
  EXPECT_LT(since(start), milliseconds(5'000));
  EXPECT_EQ(server.count("/second"), 0U);
}

TEST_F(ApiTest, AtMostSoManyCallsAreOnTheWire) {
  std::atomic<int> now = 0, most = 0;
  TestServer server([&](const SeenRequest&, TestServer::Connection& c) {
    const int running = ++now;
    int seen = most;
    while (running > seen && !most.compare_exchange_weak(seen, running)) {
    }
    c.stall(milliseconds(20));
    --now;
    c.reply(200, "");
  });
  ApiClientOptions options = plain_options();
  options.max_parallel = 4;
  ApiClient client(at(server), options, metrics);
  Collected<int> answers;
  for (int i = 0; i < 40; ++i)
    client.send({.path = "/x"}, [&](const ApiResponse& r) { answers.add(r.status); });
  ASSERT_TRUE(answers.wait_for(40));
  EXPECT_EQ(most.load(), 4);
}

// Case 188: events have a budget of their own and never hold up the calls that bind pods.
TEST_F(ApiTest, LowPriorityIsDroppedWhenItsQueueIsFull) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  ApiClientOptions options = plain_options();
  options.low_qps = 0.01;
  options.low_burst = 1;
  options.low_queue = 2;
  ApiClient client(at(server), options, metrics);
  Collected<std::string> answers;
  EXPECT_TRUE(client.call({.path = "/event", .low_priority = true}).ok());
  for (int i = 0; i < 5; ++i) {
    client.send({.path = "/event", .low_priority = true},
                [&](const ApiResponse& r) { answers.add(std::to_string(r.status) + r.error); });
  }
  ASSERT_TRUE(answers.wait_for(3));  // two still wait for their turn
  EXPECT_THAT(answers.all(), ElementsAre("0dropped", "0dropped", "0dropped"));
  EXPECT_TRUE(client.call({.path = "/urgent"}).ok()) << "ordinary calls do not wait behind events";
}

TEST_F(ApiTest, CallbackMaySendAgain) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  ApiClient client(at(server), plain_options(), metrics);
  Collected<int> answers;
  std::function<void(int)> next = [&](int left) {
    client.send({.path = "/" + std::to_string(left)}, [&, left](const ApiResponse& r) {
      answers.add(r.status);
      if (left > 1) next(left - 1);
    });
  };
  next(10);
  ASSERT_TRUE(answers.wait_for(10));
}

TEST_F(ApiTest, BlockingCallOnTheClientsThreadIsRefused) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  ApiClient client(at(server), plain_options(), metrics);
  std::promise<ApiResponse> inner;
  client.after(milliseconds(0), [&] { inner.set_value(client.call({.path = "/x"})); });
  EXPECT_THAT(inner.get_future().get().error, HasSubstr("own thread"));
}

TEST_F(ApiTest, CallbacksOfOpenCallsAreNotRunAtTheEnd) {
  std::atomic<int> ran = 0;
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.stall(); });
  const auto start = steady_clock::now();
  {
    ApiClientOptions options = plain_options();
    options.max_parallel = 2;
    ApiClient client(at(server), options, metrics);
    for (int i = 0; i < 6; ++i) client.send({.path = "/x"}, [&](const ApiResponse&) { ++ran; });
    client.stream({.path = "/s"}, {.on_end = [&](const ApiResponse&) { ++ran; }});
    client.after(milliseconds(60'000), [&] { ++ran; });
    while (server.seen().size() < 3) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(ran.load(), 0);
  EXPECT_LT(since(start), milliseconds(10'000));
}

TEST_F(ApiTest, TimersRunInTheOrderOfTheirTime) {
  TestServer server([](const SeenRequest&, TestServer::Connection&) {});
  ApiClient client(at(server), plain_options(), metrics);
  Collected<int> order;
  client.after(milliseconds(90), [&] { order.add(3); });
  client.after(milliseconds(10), [&] { order.add(1); });
  client.after(milliseconds(50), [&] { order.add(2); });
  ASSERT_TRUE(order.wait_for(3));
  EXPECT_THAT(order.all(), ElementsAre(1, 2, 3));
}

TEST_F(ApiTest, MissingTokenFileIsAnErrorThatNamesIt) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, ""); });
  Credentials credentials = at(server);
  credentials.token_file = "/nonexistent/token";
  ApiClient client(credentials, plain_options(), metrics);
  EXPECT_THAT(client.call({.path = "/x"}).error, HasSubstr("/nonexistent/token"));
  EXPECT_EQ(server.seen().size(), 0U);
}

TEST_F(ApiTest, ManyThreadsAtOnce) {
  TestServer server(
      [](const SeenRequest& r, TestServer::Connection& c) { c.reply(200, r.target); });
  ApiClient client(at(server), plain_options(), metrics);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
        good += client.call({.path = path}).body == path ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good.load(), 400);
}

}  // namespace
}  // namespace tessera::client
