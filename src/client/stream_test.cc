#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "client/api.h"
#include "client/test_server.h"

namespace tessera::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

using Connection = TestServer::Connection;

/// What a stream gave: #200 for headers, the lines, and "end STATUS error body".
struct Log {
  Collected<std::string> steps;
  ApiClient::StreamHandlers handlers() {
    ApiClient::StreamHandlers h;
    h.on_headers = [this](int status) { steps.add("#" + std::to_string(status)); };
    h.on_line = [this](std::string_view line) { steps.add(std::string(line)); };
    h.on_end = [this](const ApiResponse& r) {
      steps.add("end " + std::to_string(r.status) + " " + r.error + r.body);
    };
    return h;
  }
};

struct StreamTest : testing::Test {
  void start(TestServer::Answer answer) {
    server = std::make_unique<TestServer>(std::move(answer));
    Credentials credentials;
    credentials.server = server->url();
    ApiClientOptions options;
    options.qps = -1;
    client = std::make_unique<ApiClient>(credentials, options, metrics);
  }
  obs::Metrics metrics;
  Log log;
  std::unique_ptr<TestServer> server;
  std::unique_ptr<ApiClient> client;
};

TEST_F(StreamTest, HeadersThenLinesThenEnd) {
  start([](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    c.chunk("one\ntw");
    c.chunk("o\r\n\nthree\n");
    c.end_chunks();
  });
  client->stream({.path = "/w"}, log.handlers());
  ASSERT_TRUE(log.steps.wait_for(5));
  EXPECT_THAT(log.steps.all(), ElementsAre("#200", "one", "two", "three", "end 200 "));
  EXPECT_EQ(metrics
                .counter("tessera_api_requests_total", "calls to the API server",
                         {{"verb", "WATCH"}, {"resource", "other"}, {"code", "200"}})
                .value(),
            1);
}

TEST_F(StreamTest, HeadersAreToldBeforeTheFirstLine) {
  start([](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    c.stall();
  });
  client->stream({.path = "/w"}, log.handlers());
  EXPECT_TRUE(log.steps.wait_for(1));
}

TEST_F(StreamTest, ErrorAnswerIsABodyAndNoLine) {
  start([](const SeenRequest&, Connection& c) {
    c.reply(410, "{\"message\":\"too old\"}\n", "Retry-After: 7\r\n");
  });
  Collected<ApiResponse> ends;
  ApiClient::StreamHandlers handlers = log.handlers();
  handlers.on_end = [&](ApiResponse r) { ends.add(std::move(r)); };
  client->stream({.path = "/w"}, std::move(handlers));
  ASSERT_TRUE(ends.wait_for(1));
  EXPECT_THAT(log.steps.all(), ElementsAre("#410"));
  EXPECT_EQ(ends.all()[0].message(), "too old");
  EXPECT_EQ(ends.all()[0].retry_after, milliseconds(7'000));
}

TEST_F(StreamTest, CutConnectionEndsWithAnError) {
  start([](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    c.chunk("one\nhalf");
    c.cut();
  });
  client->stream({.path = "/w"}, log.handlers());
  ASSERT_TRUE(log.steps.wait_for(3));
  EXPECT_THAT(log.steps.all(), ElementsAre("#200", "one", testing::MatchesRegex("end 200 .+")));
}

TEST_F(StreamTest, SilenceEndsIt) {
  start([](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    for (int i = 0; i < 6; ++i) {  // pieces of a line count as life
      c.chunk("x");
      c.stall(milliseconds(60));
    }
    c.stall();
  });
  const auto begin = steady_clock::now();
  client->stream({.path = "/w"}, log.handlers(), milliseconds(200));
  ASSERT_TRUE(log.steps.wait_for(2));
  EXPECT_THAT(log.steps.all(), ElementsAre("#200", "end 200 silent"));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(490));
}

TEST_F(StreamTest, ServerThatNeverAnswersIsSilentToo) {
  start([](const SeenRequest&, Connection& c) { c.stall(); });
  client->stream({.path = "/w"}, log.handlers(), milliseconds(80));
  ASSERT_TRUE(log.steps.wait_for(1));
  EXPECT_THAT(log.steps.all(), ElementsAre("end 0 silent"));
}

TEST_F(StreamTest, EveryStreamHasItsOwnConnectionAndCallsAnother) {
  start([](const SeenRequest& r, Connection& c) {
    if (r.target == "/call") return c.reply(200, "");
    c.begin_chunks();
    c.line("x");
    c.stall();
  });
  client->call({.path = "/call"});
  client->stream({.path = "/w1"}, log.handlers());
  client->stream({.path = "/w2"}, log.handlers());
  ASSERT_TRUE(log.steps.wait_for(4));
  EXPECT_TRUE(client->call({.path = "/call"}).ok());
  std::vector<std::pair<std::string, int>> used;
  for (const SeenRequest& r : server->seen()) used.emplace_back(r.target, r.connection);
  EXPECT_THAT(used, testing::UnorderedElementsAre(std::pair("/call", 1), std::pair("/w1", 2),
                                                  std::pair("/w2", 3), std::pair("/call", 1)));
}

TEST_F(StreamTest, CancelFromOutsideClosesTheConnectionAndSaysNothing) {
  std::atomic<bool> closed = false;
  start([&](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    c.line("one");
    c.stall();
    closed = c.closed_by_client();
    c.cut();
  });
  const std::uint64_t id = client->stream({.path = "/w"}, log.handlers());
  ASSERT_TRUE(log.steps.wait_for(2));
  client->cancel(id);
  client->cancel(id);         // twice is harmless
  client->cancel(id + 1000);  // so is a number that nobody has
  for (int i = 0; i < 2'000 && !closed; ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(closed);
  server->stop();
  EXPECT_THAT(log.steps.all(), ElementsAre("#200", "one"));
}

TEST_F(StreamTest, CancelFromItsOwnHandlerStopsInTheMiddleOfAChunk) {
  start([](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    c.chunk("one\ntwo\nthree\n");
    c.stall();
    c.cut();
  });
  std::atomic<std::uint64_t> id = 0;
  ApiClient::StreamHandlers handlers = log.handlers();
  handlers.on_line = [&](std::string_view line) {
    while (id == 0) std::this_thread::yield();
    log.steps.add(std::string(line));
    if (line == "two") client->cancel(id);
  };
  id = client->stream({.path = "/w"}, std::move(handlers));
  ASSERT_TRUE(log.steps.wait_for(3));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_THAT(log.steps.all(), ElementsAre("#200", "one", "two"));
}

TEST_F(StreamTest, CancelWaitsForAHandlerThatIsRunning) {
  start([](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    c.line("one");
    c.stall();
    c.cut();
  });
  std::atomic<bool> inside = false, left = false;
  ApiClient::StreamHandlers handlers;
  handlers.on_line = [&](std::string_view) {
    inside = true;
    std::this_thread::sleep_for(milliseconds(80));
    left = true;
  };
  const std::uint64_t id = client->stream({.path = "/w"}, std::move(handlers));
  while (!inside) std::this_thread::yield();
  client->cancel(id);
  EXPECT_TRUE(left);
}

TEST_F(StreamTest, CancelBeforeTheAnswer) {
  start([](const SeenRequest&, Connection& c) {
    c.stall(milliseconds(20));
    c.begin_chunks();
    c.line("late");
    c.stall(milliseconds(20));
    c.cut();
  });
  for (int i = 0; i < 30; ++i) client->cancel(client->stream({.path = "/w"}, log.handlers()));
  EXPECT_TRUE(client->call({.path = "/x", .timeout = milliseconds(5'000)}).status != 0);
  EXPECT_EQ(log.steps.size(), 0U);
}

TEST_F(StreamTest, AnEndedStreamMayStartTheNextFromItsHandler) {
  std::atomic<int> n = 0;
  start([&](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    c.line(std::to_string(++n));
    c.end_chunks();
  });
  std::function<void()> again = [&] {
    ApiClient::StreamHandlers handlers;
    handlers.on_line = [&](std::string_view line) { log.steps.add(std::string(line)); };
    handlers.on_end = [&](const ApiResponse&) {
      if (n < 3) return again();
      log.steps.add("end");  // the last use of what lives in this test
    };
    client->stream({.path = "/w"}, std::move(handlers));
  };
  again();
  ASSERT_TRUE(log.steps.wait_for(4));
  client.reset();
  server->stop();
  EXPECT_THAT(log.steps.all(), ElementsAre("1", "2", "3", "end"));
}

TEST_F(StreamTest, LongStreamKeepsEveryLine) {
  constexpr int kLines = 20'000;
  start([](const SeenRequest&, Connection& c) {
    c.begin_chunks();
    std::string many;
    for (int i = 0; i < kLines; ++i) {
      many += std::to_string(i) + std::string(200, 'x') + "\n";
      if (many.size() > 50'000) {
        c.chunk(many);
        many.clear();
      }
    }
    if (!many.empty()) c.chunk(many);
    c.end_chunks();
  });
  int next = 0;
  bool ordered = true;
  ApiClient::StreamHandlers handlers = log.handlers();
  handlers.on_line = [&](std::string_view line) {
    ordered = ordered && line.starts_with(std::to_string(next++) + "x") && line.ends_with("x");
  };
  client->stream({.path = "/w"}, std::move(handlers));
  ASSERT_TRUE(log.steps.wait_for(2));
  EXPECT_EQ(next, kLines);
  EXPECT_TRUE(ordered);
}

}  // namespace
}  // namespace tessera::client
