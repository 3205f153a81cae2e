#include "client/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "client/test_server.h"

namespace tessera::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Connection = TestServer::Connection;

std::string object(const std::string& name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + std::to_string(version) +
         R"("}})";
}
std::string event(const std::string& type, const std::string& name, int version) {
  return R"({"type":")" + type + R"(","object":)" + object(name, version) + "}";
}
std::string page(int version, const std::string& items, const std::string& next = "") {
  return R"({"kind":"PodList","metadata":{"resourceVersion":")" + std::to_string(version) +
         R"(","continue":")" + next + R"("},"items":[)" + items + "]}";
}
std::string gone_event() {
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
    options.backoff_first = milliseconds(10);
    options.backoff_max = milliseconds(50);
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

TEST_F(ReflectorTest, ListsInPagesThenWatchesFromTheListsVersion) {
  ReflectorOptions options = quick();
  options.query = "labelSelector=a%3Db";
  options.page_size = 2;
  run(
      [](const SeenRequest& r, Connection& c) {
        if (r.is_watch()) {
          c.begin_chunks();
          c.line(event("MODIFIED", "b", 12));
          c.line(event("DELETED", "a", 13));
          return c.stall();
        }
        if (r.target.find("continue=") == std::string::npos)
          return c.reply(200, page(10, object("a", 1) + "," + object("b", 2), "to/k=n"));
        c.reply(200, page(11, object("c", 3)));
      },
      7, options);
  EXPECT_THAT(journal.steps.all(),
              ElementsAre("begin", "+a", "+b", "+c", "end(first)", "+b", "-a"));
  EXPECT_EQ(journal.problems.size(), 0U);
  const auto seen = server->seen();
  EXPECT_EQ(seen[0].target, "/api/v1/pods?labelSelector=a%3Db&limit=2");
  EXPECT_EQ(seen[1].target, "/api/v1/pods?labelSelector=a%3Db&limit=2&continue=to%2Fk%3Dn");
  EXPECT_THAT(seen[2].target, HasSubstr("/api/v1/"
                                        "pods?labelSelector=a%3Db&watch=true&allowWatchBookmarks="
                                        "true&resourceVersion=11&timeoutSeconds="));
}

TEST_F(ReflectorTest, ListWithoutItemsIsAnEmptyPicture) {
  run(
      [](const SeenRequest& r, Connection& c) {
        r.is_watch() ? c.stall()
                     : c.reply(200, R"({"metadata":{"resourceVersion":"4"},"items":null})");
      },
      2);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "end(first)"));
}

TEST_F(ReflectorTest, WatchThatEndsIsResumedFromTheLastVersionBookmarksIncluded) {
  std::atomic<int> watches = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch()) return c.reply(200, page(10, ""));
        c.begin_chunks();
        if (++watches == 1) {
          c.line(event("ADDED", "a", 11));
          c.line(
              R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"50"}}})");
          return c.end_chunks();
        }
        c.line(event("ADDED", "b", 51));
        c.stall();
      },
      4);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "end(first)", "+a", "+b"));
  EXPECT_EQ(server->count("resourceVersion=50"), 1U);
  EXPECT_EQ(server->count("limit="), 1U) << "no second list";
  EXPECT_EQ(journal.problems.size(), 0U);
}

TEST_F(ReflectorTest, WatchThatIsCutIsResumedWithoutAList) {
  std::atomic<int> watches = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch()) return c.reply(200, page(10, ""));
        const int n = ++watches;
        c.begin_chunks();
        c.line(event("ADDED", "w" + std::to_string(n), 10 + n));
        if (n > 3) return c.stall();
        c.chunk(R"({"type":"ADDED","object":{"meta)");  // half a line is never an event
        c.cut();
      },
      6);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "end(first)", "+w1", "+w2", "+w3", "+w4"));
  EXPECT_EQ(server->count("limit="), 1U);
  EXPECT_EQ(server->count("resourceVersion=13"), 1U);
}

TEST_F(ReflectorTest, LinesMayComeInAnyPieces) {
  run(
      [](const SeenRequest& r, Connection& c) {
        if (!r.is_watch()) return c.reply(200, page(10, ""));
        c.begin_chunks();
        const std::string text = event("ADDED", "a", 11) + "\r\n\n" + event("ADDED", "b", 12) +
                                 "\n" + event("ADDED", "c", 13) + "\n";
        for (std::size_t at = 0; at < text.size(); at += 7) c.chunk(text.substr(at, 7));
        c.stall();
      },
      5);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "end(first)", "+a", "+b", "+c"));
}

TEST_F(ReflectorTest, ExpiredEventMeansANewList) {
  std::atomic<int> lists = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch())
          return ++lists == 1 ? c.reply(200, page(10, object("a", 1)))
                              : c.reply(200, page(20, object("b", 2)));
        c.begin_chunks();
        if (r.target.find("resourceVersion=10") != std::string::npos) c.line(gone_event());
        c.stall();
      },
      6);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "+a", "end(first)", "begin", "+b", "end"));
  EXPECT_THAT(journal.problems.all(), ElementsAre(HasSubstr("too old resource version")));
}

TEST_F(ReflectorTest, ExpiredStatusMeansANewList) {
  std::atomic<int> lists = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch()) return c.reply(200, page(10 * ++lists, ""));
        if (lists == 1) return c.reply(410, R"({"kind":"Status","message":"gone","code":410})");
        c.stall();
      },
      4);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "end(first)", "begin", "end"));
}

TEST_F(ReflectorTest, ListThatExpiresBetweenPagesBeginsAgain) {
  std::atomic<int> tries = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (r.is_watch()) return c.stall();
        if (r.target.find("continue=") == std::string::npos)
          return c.reply(200, page(10, object("a", 1), "t"));
        if (++tries == 1)
          return c.reply(410, R"({"message":"the provided continue parameter is too old"})");
        c.reply(200, page(10, object("b", 1)));
      },
      6);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "+a", "begin", "+a", "+b", "end(first)"));
}

TEST_F(ReflectorTest, PagesThatKeepExpiringEndInOneWholeList) {
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (r.is_watch()) return c.stall();
        if (r.target.find("continue=") != std::string::npos) return c.reply(410, "");
        if (r.target.find("limit=") != std::string::npos)
          return c.reply(200, page(10, object("a", 1), "t"));
        c.reply(200, page(10, object("a", 1) + "," + object("b", 1)));
      },
      8);
  EXPECT_THAT(journal.steps.all(),
              ElementsAre("begin", "+a", "begin", "+a", "begin", "+a", "+b", "end(first)"));
}

TEST_F(ReflectorTest, ListIsTriedUntilTheServerAnswers) {
  std::atomic<int> n = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (r.is_watch()) return c.stall();
        switch (++n) {
          case 1:
            return c.reply(500, R"({"message":"etcd is away"})");
          case 2:
            return c.cut();
          case 3:
            return c.reply(403, R"({"message":"pods is forbidden"})");
          case 4:
            return c.reply(200, "<html>");
          case 5:
            return c.reply(200, R"({"metadata":{}})");
          case 6:
            return c.reply(200, R"({"metadata":{"resourceVersion":"1"},"items":{"a":1}})");
          default:
            return c.reply(200, page(10, ""));
        }
      },
      7);
  EXPECT_THAT(journal.steps.all(),
              ElementsAre("begin", "begin", "begin", "begin", "begin", "begin", "end(first)"))
      << "a list begins when it is asked for: what happens meanwhile is newer than it";
  const auto problems = journal.problems.all();
  ASSERT_EQ(problems.size(),
            5U);  // the cut hit a connection in use before: libcurl itself tried again
  EXPECT_THAT(problems[0], HasSubstr("etcd is away"));
  EXPECT_THAT(problems[1], HasSubstr("pods is forbidden"));
  EXPECT_THAT(problems[4], HasSubstr("not a list"));
}

TEST_F(ReflectorTest, TooManyRequestsWaitsAsLongAsAsked) {
  std::atomic<int> lists = 0, watches = 0;
  const auto start = steady_clock::now();
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch())
          return ++lists == 1 ? c.reply(429, "", "Retry-After: 1\r\n") : c.reply(200, page(10, ""));
        if (++watches == 1) return c.reply(429, "", "Retry-After: 1\r\n");
        c.begin_chunks();
        c.line(event("ADDED", "a", 11));
        c.stall();
      },
      4);
  EXPECT_GE(steady_clock::now() - start, milliseconds(1'980));
  EXPECT_EQ(server->count("limit="), 2U);
}

TEST_F(ReflectorTest, AListAskedForReplacesTheWatch) {
  std::atomic<int> lists = 0;
  server = std::make_unique<TestServer>([&](const SeenRequest& r, Connection& c) {
    if (!r.is_watch()) return c.reply(200, page(10 * ++lists, object("a", lists)));
    c.begin_chunks();
    c.line(event("MODIFIED", "b", 10 * lists + 1));
    c.stall();
  });
  client = std::make_unique<ApiClient>(at(*server), client_options(), metrics);
  Reflector reflector(*client, quick(), journal.handlers());
  reflector.start();
  ASSERT_TRUE(journal.steps.wait_for(4));
  reflector.list_again();
  ASSERT_TRUE(journal.steps.wait_for(8));
  EXPECT_THAT(journal.steps.all(),
              ElementsAre("begin", "+a", "end(first)", "+b", "begin", "+a", "end", "+b"));
  EXPECT_EQ(journal.problems.size(), 0U);
  reflector.stop();
  server->stop();
}

TEST_F(ReflectorTest, AListAskedForReplacesTheListUnderWay) {
  std::atomic<int> lists = 0;
  server = std::make_unique<TestServer>([&](const SeenRequest& r, Connection& c) {
    if (r.is_watch()) return c.stall();
    if (++lists == 1) std::this_thread::sleep_for(milliseconds(300));
    c.reply(200, page(10 * lists, object(lists == 1 ? "old" : "new", 1)));
  });
  client = std::make_unique<ApiClient>(at(*server), client_options(), metrics);
  Reflector reflector(*client, quick(), journal.handlers());
  reflector.start();
  ASSERT_TRUE(journal.steps.wait_for(1));
  reflector.list_again();
  ASSERT_TRUE(journal.steps.wait_for(4));
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "begin", "+new", "end(first)"));
  reflector.stop();
  server->stop();
}

struct BadLine {
  const char* name;
  std::string line;
};

TEST_F(ReflectorTest, BadLineIsReportedAndTheListIsTakenAgain) {
  const BadLine cases[] = {
      {"not JSON", "{\"type\":\"ADDED\",\"object\":{"},
      {"not an object", "[1,2]"},
      {"no object", R"({"type":"ADDED"})"},
      {"object of the wrong kind", R"({"type":"ADDED","object":7})"},
      {"no version", R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"},
      {"version is a number", R"({"type":"ADDED","object":{"metadata":{"resourceVersion":11}}})"},
      {"unknown type", R"({"type":"RENAMED","object":{"metadata":{"resourceVersion":"11"}}})"},
      {"no type", R"({"object":{"metadata":{"resourceVersion":"11"}}})"},
      {"error without code", R"({"type":"ERROR"})"},
      {"error of the server", R"({"type":"ERROR","object":{"code":500,"message":"etcd"}})"},
  };
  for (const BadLine& row : cases) {
    SCOPED_TRACE(row.name);
    Journal fresh;
    std::atomic<int> lists = 0;
    TestServer bad([&](const SeenRequest& r, Connection& c) {
      if (!r.is_watch()) return c.reply(200, page(10 * ++lists, ""));
      c.begin_chunks();
      if (lists == 1) c.line(row.line);
      if (lists == 1)
        c.line(event("ADDED", "late", 12));  // nothing of a broken watch is used any more
      c.stall();
    });
    ApiClient api(at(bad), client_options(), metrics);
    Reflector reflector(api, quick(), fresh.handlers());
    reflector.start();
    ASSERT_TRUE(fresh.steps.wait_for(4));
    reflector.stop();
    EXPECT_THAT(fresh.steps.all(), ElementsAre("begin", "end(first)", "begin", "end"));
    EXPECT_EQ(fresh.problems.size(), 1U);
  }
}

TEST_F(ReflectorTest, SilentWatchIsResumedOnANewConnection) {
  ReflectorOptions options = quick();
  options.watch_silence = milliseconds(100);
  std::atomic<int> watches = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch()) return c.reply(200, page(10, ""));
        const int n = ++watches;
        c.begin_chunks();
        c.line(event("ADDED", "w" + std::to_string(n), 10 + n));
        c.stall();
      },
      4, options);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "end(first)", "+w1", "+w2"));
  EXPECT_THAT(journal.problems.all(), ElementsAre(HasSubstr("silent")));
  EXPECT_EQ(server->count("resourceVersion=11"), 1U);
  EXPECT_EQ(server->count("limit="), 1U);
}

TEST_F(ReflectorTest, WatchesThatEndAtOnceAreSlowedDown) {
  ReflectorOptions options = quick();
  options.backoff_first = milliseconds(40);
  options.backoff_max = milliseconds(5'000);
  std::atomic<int> watches = 0;
  const auto start = steady_clock::now();
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch()) return c.reply(200, page(10, ""));
        c.begin_chunks();
        if (++watches == 4) c.line(event("ADDED", "a", 11));
        c.end_chunks();
      },
      3, options);
  EXPECT_GE(steady_clock::now() - start,
            milliseconds(20 + 40 + 80));  // at least half of 40, 80, 160
  EXPECT_EQ(server->count("limit="), 1U);
}

TEST_F(ReflectorTest, WatchThatIsRefusedAgainAndAgainEndsInANewList) {
  std::atomic<int> lists = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (!r.is_watch()) return c.reply(200, page(++lists == 1 ? 900 : 7, ""));
        if (lists == 1)
          return c.reply(504, R"({"message":"Too large resource version: 900, current: 7"})");
        c.stall();
      },
      4);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "end(first)", "begin", "end"));
  EXPECT_THAT(journal.problems.all(), testing::Each(HasSubstr("Too large resource version")));
}

TEST_F(ReflectorTest, ServerThatGoesAwayAndComesBackIsFollowed) {
  std::atomic<bool> away = false;
  Journal fresh;
  TestServer flaky([&](const SeenRequest& r, Connection& c) {
    if (away) return c.cut();
    if (!r.is_watch()) return c.reply(200, page(10, ""));
    c.begin_chunks();
    c.line(event("ADDED", "a", 11));
    while (!away && !c.closed_by_client()) std::this_thread::sleep_for(milliseconds(1));
    c.cut();
  });
  ApiClient api(at(flaky), client_options(), metrics);
  Reflector reflector(api, quick(), fresh.handlers());
  reflector.start();
  ASSERT_TRUE(fresh.steps.wait_for(3));
  away = true;
  ASSERT_TRUE(fresh.problems.wait_for(4));
  away = false;
  ASSERT_TRUE(fresh.steps.wait_for(4));
  reflector.stop();
  EXPECT_THAT(fresh.steps.all(), ElementsAre("begin", "end(first)", "+a", "+a"));
}

TEST_F(ReflectorTest, AfterStopNoHandlerRuns) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> stopped = false, late = false;
    TestServer chatty([](const SeenRequest& r, Connection& c) {
      if (!r.is_watch()) return c.reply(200, page(10, ""));
      c.begin_chunks();
      for (int n = 11; !c.closed_by_client() && n < 200'000; ++n) c.line(event("MODIFIED", "a", n));
      c.stall();
    });
    ApiClient api(at(chatty), client_options(), metrics);
    std::atomic<int> seen = 0;
    ReflectorHandlers handlers;
    handlers.on_object = [&](json::Value) {
      if (stopped) late = true;
      ++seen;
    };
    Reflector reflector(api, quick(), std::move(handlers));
    reflector.start();
    while (seen < 10 * (round + 1)) std::this_thread::yield();
    reflector.stop();
    stopped = true;
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_FALSE(late);
  }
}

TEST_F(ReflectorTest, HandlerMayStopItsReflector) {
  std::unique_ptr<Reflector> reflector;
  Journal fresh;
  TestServer plain([](const SeenRequest& r, Connection& c) {
    if (!r.is_watch()) return c.reply(200, page(10, object("a", 1) + "," + object("b", 2), "more"));
    c.stall();
  });
  ApiClient api(at(plain), client_options(), metrics);
  ReflectorHandlers handlers = fresh.handlers();
  handlers.on_object = [&](json::Value v) {
    fresh.steps.add("+" + std::string(v["metadata"]["name"].string_or("?")));
    reflector->stop();
  };
  reflector = std::make_unique<Reflector>(api, quick(), std::move(handlers));
  reflector->start();
  ASSERT_TRUE(fresh.steps.wait_for(2));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_THAT(fresh.steps.all(), ElementsAre("begin", "+a"));
  EXPECT_EQ(plain.seen().size(), 1U);
}

}  // namespace
}  // namespace tessera::client
