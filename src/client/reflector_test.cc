#include "client/reflector.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/reflector_test_fixture.h"

namespace tessera::client {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

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
  // The next page was asked for before the first object of this one was shown; nothing after it.
  EXPECT_LE(plain.seen().size(), 2U);
  EXPECT_EQ(plain.count("watch=true"), 0U);
}

TEST_F(ReflectorTest, TheNextPageIsAskedForWhileOneComesIn) {
  std::atomic<bool> next_asked = false;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (r.is_watch()) return c.stall();
        if (r.target.find("continue=more") != std::string::npos) {
          next_asked = true;
          return c.reply(200, page(10, object("c", 3)));
        }
        const std::string whole = page(10, object("a", 1) + "," + object("b", 2), "more");
        const std::size_t cut = whole.find(R"({"metadata":{"name":"b")");
        c.begin_chunks();
        c.chunk(whole.substr(0, cut));
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!next_asked && std::chrono::steady_clock::now() < end)
          std::this_thread::sleep_for(milliseconds(1));
        EXPECT_TRUE(next_asked) << "only after the end of the page before";
        c.chunk(whole.substr(cut));
        c.end_chunks();
      },
      5);
  std::vector<std::string> steps = journal.steps.all();
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps.front(), "begin");
  EXPECT_EQ(steps.back(), "end(first)") << "not before both pages have ended";
  std::sort(steps.begin(), steps.end());
  EXPECT_THAT(steps, ElementsAre("+a", "+b", "+c", "begin", "end(first)"));
}

TEST_F(ReflectorTest, MetadataMayComeBehindTheItems) {
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (r.is_watch()) return c.stall();
        if (r.target.find("continue=more") != std::string::npos)
          return c.reply(200, page(10, object("c", 3)));
        c.reply(200, R"({"items":[)" + object("a", 1) +
                         R"(],"metadata":{"resourceVersion":"10","continue":"more"}})");
      },
      4);
  EXPECT_THAT(journal.steps.all(), ElementsAre("begin", "+a", "+c", "end(first)"));
}

TEST_F(ReflectorTest, APageThatFailsMakesTheOtherOneVoid) {
  std::atomic<int> lists = 0;
  run(
      [&](const SeenRequest& r, Connection& c) {
        if (r.is_watch()) return c.stall();
        if (r.target.find("continue=") != std::string::npos) return c.reply(500, "{}");
        if (++lists > 1) return c.reply(200, page(11, object("x", 4)));
        c.begin_chunks();
        c.chunk(page(10, object("a", 1) + ",", "more").substr(0, 150));
        c.stall(milliseconds(200));
        c.cut();
      },
      5);
  EXPECT_EQ(journal.steps.all().back(), "end(first)");
  EXPECT_EQ(lists, 2) << "one new list, although both pages have failed";
}

}  // namespace
}  // namespace tessera::client
