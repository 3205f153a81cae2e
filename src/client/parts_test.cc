// The small parts of the client: line splitter, token bucket, back-off, addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/backoff.h"
#include "client/endpoint.h"
#include "client/lines.h"
#include "client/token_bucket.h"

namespace tessera::client {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LineSplitter, AnyCutGivesTheSameLines) {
  EXPECT_TRUE(rc::check("pieces of a text give the lines of the text", [] {
    const auto lines = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::inRange('a', 'e')));
    std::string text;
    std::vector<std::string> want;
    for (const std::string& line : lines) {
      text += line + "\n";
      if (!line.empty()) want.push_back(line);
    }
    LineSplitter splitter(1000);
    std::vector<std::string> got;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t size = *rc::gen::inRange<std::size_t>(1, 9);
      RC_ASSERT(splitter.feed(std::string_view(text).substr(at, size), [&](std::string_view line) {
        got.emplace_back(line);
        return true;
      }));
      at += size;
    }
    RC_ASSERT(got == want);
    RC_ASSERT(splitter.pending() == 0U);
  }));
}

TEST(LineSplitter, LineOverTheLimitEndsTheReading) {
  const auto ignore = [](std::string_view) { return true; };
  LineSplitter exact(5);
  EXPECT_TRUE(exact.feed("12345\n123", ignore));
  EXPECT_TRUE(exact.feed("45", ignore));
  EXPECT_FALSE(exact.feed("6", ignore));
  EXPECT_TRUE(exact.too_long());
  LineSplitter in_one_chunk(5);
  EXPECT_FALSE(in_one_chunk.feed("123456\n", ignore));
}

TEST(LineSplitter, HandlerEndsTheReading) {
  LineSplitter splitter(100);
  std::vector<std::string> got;
  EXPECT_FALSE(splitter.feed("a\nb\nc\n", [&](std::string_view line) {
    got.emplace_back(line);
    return line != "b";
  }));
  EXPECT_THAT(got, ElementsAre("a", "b"));
  EXPECT_FALSE(splitter.too_long());
}

TEST(TokenBucket, BurstThenRate) {
  const MonoTime start{};
  TokenBucket bucket(10, 3, start);
  EXPECT_TRUE(bucket.take(start));
  EXPECT_TRUE(bucket.take(start));
  EXPECT_TRUE(bucket.take(start));
  EXPECT_FALSE(bucket.take(start));
  EXPECT_EQ(bucket.wait(start), milliseconds(100));
  EXPECT_FALSE(bucket.take(start + milliseconds(99)));
  EXPECT_TRUE(bucket.take(start + milliseconds(101)));
  EXPECT_FALSE(bucket.take(start + milliseconds(101)));
}

TEST(TokenBucket, FillsUpToTheBurstOnly) {
  const MonoTime start{};
  TokenBucket bucket(1000, 2, start);
  const MonoTime later = start + std::chrono::hours(1);
  EXPECT_TRUE(bucket.take(later));
  EXPECT_TRUE(bucket.take(later));
  EXPECT_FALSE(bucket.take(later));
}

TEST(TokenBucket, TimeThatStandsStillOrGoesBackGivesNothing) {
  const MonoTime start{std::chrono::seconds(10)};
  TokenBucket bucket(1, 1, start);
  EXPECT_TRUE(bucket.take(start));
  EXPECT_FALSE(bucket.take(start - std::chrono::seconds(5)));
  EXPECT_FALSE(bucket.take(start + milliseconds(900)));
}

TEST(TokenBucket, RateOfZeroOrLessNeverRefuses) {
  for (const double rate : {0.0, -1.0}) {
    TokenBucket bucket(rate, 0, MonoTime{});
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(bucket.take(MonoTime{}));
    EXPECT_EQ(bucket.wait(MonoTime{}).count(), 0);
  }
}

TEST(TokenBucket, AfterItsWaitTakeSucceeds) {
  EXPECT_TRUE(rc::check("wait() is enough and no more than one period", [] {
    const double rate = *rc::gen::inRange(1, 5000);
    TokenBucket bucket(rate, *rc::gen::inRange(0, 10), MonoTime{});
    MonoTime now{};
    for (int i = 0; i < 50; ++i) {
      if (bucket.take(now)) continue;
      const auto wait = bucket.wait(now);
      RC_ASSERT(wait.count() > 0);
      RC_ASSERT(std::chrono::duration<double>(wait).count() <= 1.0 / rate + 1e-6);
      now += wait + std::chrono::nanoseconds(2);  // a hair for the rounding of doubles
      RC_ASSERT(bucket.take(now));
    }
  }));
}

TEST(Backoff, DoublesWithinItsBandUpToTheLimit) {
  Jitter jitter(7);
  Backoff backoff(milliseconds(100), milliseconds(1000));
  for (const int whole : {100, 200, 400, 800, 1000, 1000, 1000}) {
    const milliseconds wait = backoff.next(jitter);
    EXPECT_GE(wait.count(), whole / 2);
    EXPECT_LE(wait.count(), whole);
  }
  for (int i = 0; i < 200; ++i) EXPECT_LE(backoff.next(jitter), milliseconds(1000));
  backoff.reset();
  EXPECT_LE(backoff.next(jitter), milliseconds(100));
}

TEST(Backoff, SeedFixesTheSequenceAndSeedsDiffer) {
  const auto sequence = [](std::uint64_t seed) {
    Jitter jitter(seed);
    Backoff backoff(milliseconds(1000), milliseconds(100'000));
    std::vector<std::int64_t> waits;
    for (int i = 0; i < 5; ++i) waits.push_back(backoff.next(jitter).count());
    return waits;
  };
  EXPECT_EQ(sequence(1), sequence(1));
  EXPECT_NE(sequence(1), sequence(2));
}

struct ServerCase {
  const char* text;
  const char* want;  ///< "https host port prefix", or a part of the error
  bool good;
};

TEST(Endpoint, Servers) {
  const ServerCase cases[] = {
      {"https://10.0.0.1:6443", "https 10.0.0.1 6443 ", true},
      {"https://api.example.com", "https api.example.com 443 ", true},
      {"https://api.example.com/", "https api.example.com 443 ", true},
      {"https://api.example.com/k8s/clusters/c-1/", "https api.example.com 443 /k8s/clusters/c-1",
       true},
      {"https://[fd00::1]:6443", "https [fd00::1] 6443 ", true},
      {"https://[fd00::1]", "https [fd00::1] 443 ", true},
      {"http://127.0.0.1:8080", "http 127.0.0.1 8080 ", true},
      {"10.0.0.1:6443", "not a URL", false},
      {"ftp://a", "not a URL", false},
      {"", "not a URL", false},
      {"https://", "host \"\"", false},
      {"https://:6443", "host \"\"", false},
      {"https://user:pw@host:1", "port", false},
      {"https://a b", "host", false},
      {"https://[fd00::1", "host", false},
      {"https://[fd00::1]x", "port", false},
      {"https://a:0", "port \"0\" is not 1 to 65535", false},
      {"https://a:65536", "port \"65536\"", false},
      {"https://a:", "port \"\"", false},
      {"https://a:12x", "port \"12x\"", false},
      {"https://a/b?c=d", "query", false},
      {"https://a/b\nc", "query", false},
  };
  for (const ServerCase& row : cases) {
    const Result<Endpoint> got = parse_server(row.text);
    ASSERT_EQ(got.has_value(), row.good) << row.text;
    if (got) {
      EXPECT_EQ((got->https ? "https " : "http ") + got->host + " " + got->port + " " + got->prefix,
                row.want);
    } else {
      EXPECT_THAT(got.error().what, HasSubstr(row.want)) << row.text;
      EXPECT_THAT(got.error().what, HasSubstr(text::quote(row.text)));
    }
  }
}

TEST(Endpoint, Loopback) {
  for (const char* server :
       {"http://127.0.0.1:1", "https://127.8.9.1", "http://localhost:8080", "http://[::1]:80"})
    EXPECT_TRUE(is_loopback(server)) << server;
  for (const char* server : {"http://10.0.0.1", "https://127.evil.com", "http://localhost.evil.com",
                             "http://[fd00::1]", "nonsense"}) {
    EXPECT_FALSE(is_loopback(server)) << server;
  }
}

}  // namespace
}  // namespace tessera::client
