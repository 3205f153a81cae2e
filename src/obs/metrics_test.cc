#include "obs/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::obs {
namespace {

using testing::HasSubstr;

TEST(Metrics, RendersWhatIsRegistered) {
  Metrics metrics;
  const Counter calls = metrics.counter("tessera_calls_total", "Calls.", {{"route", "filter"}});
  const Gauge ready = metrics.gauge("tessera_ready", "Ready.");
  const Histogram latency = metrics.histogram("tessera_latency_seconds", "Latency.", {0.1, 1});
  calls.increment();
  calls.increment(2);
  ready.set(1);
  latency.observe(0.05);
  latency.observe(0.5);
  latency.observe(5);
  EXPECT_EQ(calls.value(), 3);
  EXPECT_EQ(ready.value(), 1);
  const std::string text = metrics.render();
  EXPECT_THAT(text,
              HasSubstr("# HELP tessera_calls_total Calls.\n# TYPE tessera_calls_total counter\n"
                        "tessera_calls_total{route=\"filter\"} 3"));
  EXPECT_THAT(text, HasSubstr("# TYPE tessera_ready gauge\ntessera_ready 1"));
  EXPECT_THAT(text, HasSubstr("tessera_latency_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tessera_latency_seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tessera_latency_seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("tessera_latency_seconds_count 3\n"));
}

TEST(Metrics, TheSameNameAndLabelsAreOneCounter) {
  Metrics metrics;
  metrics.counter("tessera_x_total", "X.", {{"a", "1"}}).increment();
  metrics.counter("tessera_x_total", "X.", {{"a", "1"}}).increment();
  metrics.counter("tessera_x_total", "X.", {{"a", "2"}}).increment();
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("tessera_x_total{a=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tessera_x_total{a=\"2\"} 1\n"));
  EXPECT_EQ(text.find("# TYPE"), text.rfind("# TYPE"));
}

TEST(Metrics, CollectedFamiliesAreRenderedToo) {
  const Metrics metrics;
  const std::string text = metrics.render(
      {{"tessera_device_memory", "Memory.", {{{{"node", "n\"1\\"}, {"index", "0"}}, 1073741824}}}});
  EXPECT_THAT(
      text,
      HasSubstr("# HELP tessera_device_memory Memory.\n# TYPE tessera_device_memory gauge\n"));
  EXPECT_THAT(text, HasSubstr(R"(tessera_device_memory{index="0",node="n\"1\\"} 1073741824)"));
}

TEST(Metrics, AHandleWithoutRegistryCountsNothing) {
  Counter().increment();
  Gauge().set(3);
  Histogram().observe(1);
  EXPECT_EQ(Counter().value(), 0);
  EXPECT_EQ(Gauge().value(), 0);
}

TEST(Metrics, LatencyBoundsRise) {
  const std::vector<double> bounds = latency_bounds();
  EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
  EXPECT_EQ(bounds.front(), 0.00005);
  EXPECT_EQ(bounds.back(), 10);
}

}  // namespace
}  // namespace tessera::obs
