#include "obs/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera::log {
namespace {

/// Runs `work` and gives back what it wrote to standard error.
template <class F>
std::string captured(F&& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesOneObjectALine) {
  set_level(Level::kInfo);
  const std::string line = captured([] {
    info("bound", {{"pod", "d/p"}, {"tries", 2}, {"bytes", std::uint64_t{18446744073709551615U}}});
  });
  EXPECT_THAT(
      line,
      testing::MatchesRegex(
          "\\{\"time\":\"....-..-..T..:..:..\\.......Z\",\"level\":\"info\",\"msg\":\"bound\","
          "\"pod\":\"d/p\",\"tries\":2,\"bytes\":18446744073709551615\\}\n"));
}

TEST(Log, EscapesWhatWouldBreakTheLine) {
  const std::string line = captured([] { error("a\"b\\c\n\x01\xff\u00e4", {{"k\"", "v\n%v{}"}}); });
  EXPECT_THAT(line, testing::HasSubstr("\"msg\":\"a\\\"b\\\\c\\n\\u0001\\ufffd\u00e4\""));
  EXPECT_THAT(line, testing::EndsWith(",\"k\\\"\":\"v\\n%v{}\"}\n"));
}

TEST(Log, LevelsBelowTheSetOneAreSilent) {
  set_level(Level::kWarn);
  EXPECT_EQ(captured([] { info("no"); }), "");
  EXPECT_THAT(captured([] { warn("yes"); }), testing::HasSubstr(R"("level":"warn","msg":"yes"})"));
  set_level(Level::kOff);
  EXPECT_EQ(captured([] { error("no"); }), "");
  set_level(Level::kDebug);
  EXPECT_THAT(captured([] { debug("yes"); }), testing::HasSubstr(R"("level":"debug")"));
  set_level(Level::kInfo);
}

TEST(Log, LinesOfThreadsDoNotMix) {
  const std::string text = captured([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) info("tick", {{"i", i}});
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(text[at], '{');
    EXPECT_EQ(text[end - 1], '}');
    EXPECT_EQ(text.substr(at, end - at).find("\"time\"", 2), std::string::npos);
    at = end + 1;
    ++lines;
  }
  EXPECT_EQ(lines, 400U);
}

}  // namespace
}  // namespace tessera::log
