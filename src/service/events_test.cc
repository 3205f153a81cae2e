// Events against a server that is healthy, silent or unwilling.
#include "service/events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "client/test_server.h"

namespace tessera::service {
namespace {

using namespace std::chrono_literals;
using client::SeenRequest;
using client::TestServer;

class EventsTest : public testing::Test {
 protected:
  void begin(TestServer::Answer answer, const EventLimits& limits = {}) {
    server_ = std::make_unique<TestServer>(std::move(answer));
    client::Credentials credentials;
    credentials.server = server_->url();
    api_ = std::make_unique<client::ApiClient>(
        credentials, client::ApiClientOptions{.low_qps = -1, .background = true}, metrics_);
    events_ = std::make_unique<Events>(*api_, clock_, "us", metrics_,
                                       Events::Options{.enabled = true, .limits = limits});
  }
  void TearDown() override {
    api_.reset();  // before what its callbacks use
    if (server_ != nullptr) server_->stop();
  }
  void say(EventType type, const std::string& pod) {
    events_->write({"Pod", "default", pod, "uid-" + pod}, type, "Reason", "because");
  }
  /// No beat falls between what is said.
  template <class F>
  void at_one_time(F&& say_it_all) {
    std::promise<void> said;
    api_->after(0ms, [done = said.get_future().share()] { done.wait(); });
    say_it_all();
    said.set_value();
  }
  double count(const char* what) {
    return metrics_.counter(fmt::format("tessera_events_{}_total", what), "").value();
  }
  template <class F>
  static bool eventually(F&& so) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < end) {
      if (so()) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }

  static bool warned(const SeenRequest& request) {
    return request.body.find("Warning") != std::string::npos;
  }
  static void accept(const SeenRequest&, TestServer::Connection& c) { c.reply(201, "{}"); }

  SystemClock clock_;
  obs::Metrics metrics_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<client::ApiClient> api_;
};

TEST_F(EventsTest, TheFirstGoesAtOnceAndTheOthersTogetherASecondLater) {
  begin(accept);
  const auto start = std::chrono::steady_clock::now();
  say(EventType::kNormal, "a");
  ASSERT_TRUE(eventually([&] { return server_->seen().size() == 1; }));
  for (const char* pod : {"b", "c", "d", "e", "f", "g", "h", "i", "j", "k"})
    say(EventType::kNormal, pod);
  ASSERT_TRUE(eventually([&] { return server_->seen().size() >= 2; }));
  EXPECT_GE(std::chrono::steady_clock::now() - start, Events::kTogether);
  EXPECT_TRUE(eventually([&] { return server_->seen().size() == 11; }));
  EXPECT_EQ(count("written"), 11);
}

TEST_F(EventsTest, TheBudgetIsKeptAndWarningsGoFirst) {
  begin(accept, {.per_second = 0.001, .burst = 5, .most_waiting = 8});
  say(EventType::kNormal, "first");
  ASSERT_TRUE(eventually([&] { return server_->seen().size() == 1; }));
  at_one_time([&] {
    for (int i = 0; i < 20; ++i) say(EventType::kNormal, fmt::format("s{}", i));
    for (int i = 0; i < 3; ++i) say(EventType::kWarning, fmt::format("w{}", i));
  });
  ASSERT_TRUE(eventually([&] { return count("written") == 5; }));
  ASSERT_TRUE(eventually([&] { return server_->seen().size() == 5; }));
  int warnings = 0;
  for (const SeenRequest& request : server_->seen()) warnings += warned(request) ? 1 : 0;
  EXPECT_EQ(warnings, 3);
  EXPECT_EQ(count("dropped"), 15) << "20 + 3, and room for 8";
}

TEST_F(EventsTest, BeforeTheEndNothingWaitsForABeat) {
  begin(accept);
  say(EventType::kNormal, "a");
  ASSERT_TRUE(eventually([&] { return server_->seen().size() == 1; }));
  for (int i = 0; i < 40; ++i) say(EventType::kNormal, fmt::format("s{}", i));
  events_->finish(30s);
  EXPECT_EQ(server_->seen().size(), 41U);
  EXPECT_EQ(count("dropped"), 0);
}

TEST_F(EventsTest, WhatTheEndLeavesUnwrittenIsCounted) {
  begin(accept, {.per_second = 0.001, .burst = 2, .most_waiting = 100});
  at_one_time([&] {
    for (int i = 0; i < 9; ++i) say(EventType::kNormal, fmt::format("s{}", i));
    say(EventType::kWarning, "w");
  });
  events_->finish(200ms);
  ASSERT_EQ(server_->seen().size(), 2U);
  EXPECT_TRUE(warned(server_->seen()[0]) || warned(server_->seen()[1]));
  EXPECT_EQ(count("written"), 2);
  EXPECT_EQ(count("dropped"), 8);
}

TEST_F(EventsTest, WhatTheClientDidNotComeToIsCountedToo) {
  begin(accept);
  at_one_time([&] {
    for (int i = 0; i < 5; ++i) say(EventType::kNormal, fmt::format("s{}", i));
    events_->finish(20ms);
  });
  EXPECT_EQ(count("dropped"), 5);
  events_->finish(30s);
  EXPECT_EQ(count("written"), 0) << "what counts as dropped does not go out after all";
}

TEST_F(EventsTest, TheEndDoesNotWaitForAServerThatIsSilent) {
  begin([](const SeenRequest&, TestServer::Connection& c) { c.stall(); });
  for (int i = 0; i < 20; ++i) say(EventType::kNormal, fmt::format("s{}", i));
  const auto start = std::chrono::steady_clock::now();
  events_->finish(50ms);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  EXPECT_EQ(count("written") + count("dropped"), 20);
  EXPECT_GT(count("dropped"), 0) << "few are on their way at a time";
}

TEST_F(EventsTest, AnUnwillingServerIsCountedAndStopsNothing) {
  begin([](const SeenRequest&, TestServer::Connection& c) { c.reply(403, "{}"); });
  for (int i = 0; i < 20; ++i) say(EventType::kNormal, fmt::format("s{}", i));
  EXPECT_TRUE(eventually([&] { return count("failed") == 20; }));
  EXPECT_EQ(count("written"), 20);
}

TEST_F(EventsTest, SwitchedOffNothingIsWritten) {
  begin(accept);
  Events off(*api_, clock_, "us", metrics_, {.enabled = false, .limits = {}});
  off.write({"Pod", "default", "p", "u"}, EventType::kWarning, "Reason", "because");
  off.finish(1s);
  EXPECT_TRUE(server_->seen().empty());
}

}  // namespace
}  // namespace tessera::service
