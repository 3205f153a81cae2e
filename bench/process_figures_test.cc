#include "process_figures.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "free_port.h"
#include "http/server.h"

namespace tessera::bench {
namespace {

TEST(ProcessFigures, OfThisProcess) {
  EXPECT_GT(memory_kb(getpid(), "VmRSS"), 1000);
  EXPECT_GE(memory_kb(getpid(), "VmHWM"), memory_kb(getpid(), "VmRSS"));
  EXPECT_EQ(memory_kb(getpid(), "VmNothing"), 0);
  const auto before = processor_time(getpid());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (processor_time(getpid()) <= before && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_GT(processor_time(getpid()), before);
}

TEST(ProcessFigures, NoProcessTakesNothing) {
  constexpr pid_t kNone = 0x7fffffff;
  EXPECT_EQ(memory_kb(kNone, "VmRSS"), 0);
  EXPECT_EQ(processor_time(kNone).count(), 0);
}

TEST(ProcessFigures, WhoListens) {
  EXPECT_EQ(process_listening_on(free_port()), 0);
  const auto server = http::Server::start({}, {});
  ASSERT_TRUE(server) << server.error().what;
  EXPECT_EQ(process_listening_on((*server)->port()), getpid());
}

}  // namespace
}  // namespace tessera::bench
