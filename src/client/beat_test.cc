// Calls of low priority that start together.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/api.h"
#include "client/test_server.h"
#include "obs/metrics.h"

namespace tessera::client {
namespace {

using std::chrono::milliseconds;
using Instant = std::chrono::steady_clock::time_point;

class BeatTest : public ::testing::Test {
 protected:
  static Credentials at(const TestServer& server) {
    Credentials credentials;
    credentials.server = server.url();
    return credentials;
  }
  void send(ApiClient& client) {
    client.send({.path = "/event",
                 .low_priority = true,
                 .still_wanted =
                     [this] {
                       const std::lock_guard guard(mutex_);
                       starts_.push_back(std::chrono::steady_clock::now());
                       return true;
                     }},
                [this](const ApiResponse& response) {
                  EXPECT_TRUE(response.ok());
                  ++answered_;
                });
  }
  void wait_for(int answers) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (answered_ < answers && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(milliseconds(1));
    ASSERT_GE(answered_, answers);
  }

  std::mutex mutex_;
  std::vector<Instant> starts_;
  std::atomic<int> answered_{0};
  obs::Metrics metrics_;
};

TEST_F(BeatTest, TheFirstGoesAtOnceAndTheOthersWaitForTheNextBeat) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, "{}"); });
  ApiClientOptions options;
  options.low_beat = milliseconds(300);
  ApiClient client(at(server), options, metrics_);
  send(client);
  wait_for(1);
  for (int i = 0; i < 6; ++i) send(client);
  EXPECT_TRUE(client.call({.path = "/ordinary"}).ok());
  wait_for(7);
  ASSERT_EQ(starts_.size(), 7U);
  for (std::size_t i = 1; i < starts_.size(); ++i)
    EXPECT_GE(starts_[i] - starts_[0], options.low_beat) << i;
}

TEST_F(BeatTest, WhatTheBucketDoesNotLetThroughStaysForALaterBeat) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, "{}"); });
  ApiClientOptions options;
  options.low_beat = milliseconds(200);
  options.low_qps = 20;
  options.low_burst = 2;
  options.background = true;
  ApiClient client(at(server), options, metrics_);
  for (int i = 0; i < 5; ++i) send(client);
  wait_for(5);
  ASSERT_EQ(starts_.size(), 5U);
  EXPECT_GE(starts_[4] - starts_[0], options.low_beat) << "two at once, the others later";
}

TEST_F(BeatTest, BeforeTheEndNothingWaitsForABeat) {
  TestServer server([](const SeenRequest&, TestServer::Connection& c) { c.reply(200, "{}"); });
  ApiClientOptions options;
  options.low_beat = std::chrono::hours(1);
  ApiClient client(at(server), options, metrics_);
  send(client);
  wait_for(1);
  for (int i = 0; i < 6; ++i) send(client);
  EXPECT_TRUE(client.finish_low_priority(std::chrono::seconds(30)));
  EXPECT_EQ(answered_, 7);
}

TEST_F(BeatTest, TheEndDoesNotWaitForAServerThatIsSilent) {
  TestServer server([](const SeenRequest&, TestServer::Connection&) {});
  ApiClient client(at(server), {}, metrics_);
  send(client);
  EXPECT_FALSE(client.finish_low_priority(milliseconds(50)));
}

}  // namespace
}  // namespace tessera::client
