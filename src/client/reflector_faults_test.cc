// What the reflector does when the server does not: versions that expire, cuts, silence, refusals,
// lines that are no events.
#include "client/reflector_test_fixture.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace tessera::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

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

}  // namespace
}  // namespace tessera::client
