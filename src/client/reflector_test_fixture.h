/// What the tests of the reflector share: a server that answers as told, a journal of what the
/// handlers saw. Thread rule: the journal may be written by any thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "client/reflector.h"
#include "client/test_server.h"

namespace tessera::client {

using Connection = TestServer::Connection;

inline std::string object(const std::string& name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + std::to_string(version) +
         R"("}})";
}
inline std::string event(const std::string& type, const std::string& name, int version) {
  return R"({"type":")" + type + R"(","object":)" + object(name, version) + "}";
}
inline std::string page(int version, const std::string& items, const std::string& next = "") {
  return R"({"kind":"PodList","metadata":{"resourceVersion":")" + std::to_string(version) +
         R"(","continue":")" + next + R"("},"items":[)" + items + "]}";
}
inline std::string gone_event() {
  return R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}})";
}

/// What the handlers saw, one word each: begin, +a, -a, end, end(first), !problem.
struct Journal {
  Collected<std::string> steps;
  Collected<std::string> problems;
  ReflectorHandlers handlers() {
    ReflectorHandlers h;
    const auto name = [](json::Value v) {
      return std::string(v["metadata"]["name"].string_or("?"));
    };
    h.on_list_begin = [this] { steps.add("begin"); };
    h.on_object = [this, name](json::Value v) { steps.add("+" + name(v)); };
    h.on_delete = [this, name](json::Value v) { steps.add("-" + name(v)); };
    h.on_list_end = [this](bool first) { steps.add(first ? "end(first)" : "end"); };
    h.on_problem = [this](std::string_view problem) { problems.add(std::string(problem)); };
    return h;
  }
};

struct ReflectorTest : testing::Test {
  static Credentials at(const TestServer& server) {
    Credentials credentials;
    credentials.server = server.url();
    return credentials;
  }
  static ApiClientOptions client_options() {
    ApiClientOptions options;
    options.user_agent = "tessera/test";
    options.qps = -1;
    options.max_retries_429 = 0;  // here the reflector's own waiting is looked at
    return options;
  }
  static ReflectorOptions quick() {
    ReflectorOptions options;
    options.path = "/api/v1/pods";
    options.backoff_first = std::chrono::milliseconds(10);
    options.backoff_max = std::chrono::milliseconds(50);
    return options;
  }
  /// Runs a reflector against `answer` until the journal has n steps, then ends both.
  void run(TestServer::Answer answer, std::size_t n, ReflectorOptions options) {
    server = std::make_unique<TestServer>(std::move(answer));
    client = std::make_unique<ApiClient>(at(*server), client_options(), metrics);
    {
      Reflector reflector(*client, std::move(options), journal.handlers());
      reflector.start();
      EXPECT_TRUE(journal.steps.wait_for(n)) << testing::PrintToString(journal.steps.all())
                                             << testing::PrintToString(journal.problems.all());
    }
    server->stop();
  }
  void run(TestServer::Answer answer, std::size_t n) { run(std::move(answer), n, quick()); }

  obs::Metrics metrics;
  Journal journal;
  std::unique_ptr<TestServer> server;
  std::unique_ptr<ApiClient> client;
};

}  // namespace tessera::client
