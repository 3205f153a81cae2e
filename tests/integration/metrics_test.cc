// A page of metrics over HTTP as Prometheus reads it, what filters and binds leave on it, and pages
// fetched while decisions are made.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/text.h"
#include "harness.h"

namespace tessera::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class MetricsTest : public ClusterTest {
 protected:
  std::string page() { return get("/metrics").body; }
};

/// The rules of the exposition format that a scraper insists on.
void expect_valid(const std::string& page) {
  std::set<std::string> families, series;
  std::string family;
  for (const std::string_view line : text::split(page, '\n')) {
    if (line.empty() || line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      family = std::string(line.substr(7, line.rfind(' ') - 7));
      EXPECT_TRUE(families.insert(family).second) << family << " comes twice";
      continue;
    }
    const std::size_t blank = line.rfind(' ');
    ASSERT_NE(blank, std::string_view::npos) << line;
    EXPECT_TRUE(line.starts_with(family)) << line << " stands under " << family;
    EXPECT_TRUE(series.emplace(line.substr(0, blank)).second) << line << " comes twice";
    const std::string value(line.substr(blank + 1));
    std::size_t read = 0;
    EXPECT_NO_THROW(std::stod(value, &read)) << line;
    EXPECT_EQ(read, value.size()) << line;
  }
  EXPECT_GT(series.size(), 100U);
}

TEST_F(MetricsTest, ThePageIsValidAndHoldsEveryKind) {
  add_node("n1", 2);
  add_running("r", "n1", 5000);
  start_server();
  const std::string uid = add_pod("p");
  EXPECT_EQ(filter("p", {"n1"}).names, std::vector<std::string>{"n1"});
  EXPECT_EQ(bind("p", uid, "n1"), "");
  settle();
  const std::string text = page();
  expect_valid(text);
  for (const std::string_view part :
       {"hami_build_info{", "hami_gpu_memory_limit_bytes{", "hami_vgpu_memory_allocated_bytes{",
        "tessera_container_memory_allocated_bytes{container=\"", "tessera_leader 1\n",
        "tessera_api_requests_total{code=\"201\",resource=\"pods/binding\",verb=\"POST\"} 1\n",
        "tessera_cache_synced{resource=\"nodes\"} 1\n", "process_resident_memory_bytes ",
        "tessera_node_registered{node=\"n1\",vendor=\"NVIDIA\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(std::string(part)));
  }
  EXPECT_THAT(text, Not(HasSubstr("GPUDeviceMemoryLimit")));
}

TEST_F(MetricsTest, Case165LegacyNamesByFlag) {
  add_node("n1");
  options_.legacy_metrics = true;
  start_server();
  const std::string text = page();
  expect_valid(text);
  EXPECT_THAT(text, HasSubstr("GPUDeviceMemoryLimit{"));
  EXPECT_THAT(text, HasSubstr("hami_gpu_memory_limit_bytes{"));
}

TEST_F(MetricsTest, Case166OutcomesReasonsAndTimesAreCounted) {
  add_node("n1");
  start_server();
  for (int i = 0; i < 7; ++i) {
    add_pod(fmt::format("ok-{}", i), {.memory = 100});
    EXPECT_EQ(filter(fmt::format("ok-{}", i), {"n1"}).names.size(), 1U);
  }
  for (int i = 0; i < 3; ++i) {
    add_pod(fmt::format("big-{}", i), {.memory = 25'000});
    EXPECT_EQ(filter(fmt::format("big-{}", i), {"n1"}).names.size(), 0U);
  }
  EXPECT_NE(bind("ok-0", "another-uid", "n1"), "");
  EXPECT_EQ(metric(R"(tessera_schedule_attempts_total{result="scheduled",vendor="NVIDIA"})"), 7);
  EXPECT_EQ(metric(R"(tessera_schedule_attempts_total{result="unschedulable",vendor="NVIDIA"})"),
            3);
  EXPECT_EQ(metric(R"(tessera_node_reject_total{reason="CardInsufficientMemory"})"), 3);
  EXPECT_EQ(metric(R"(tessera_extender_request_duration_seconds_count{code="200",verb="filter"})"),
            10);
  EXPECT_EQ(metric(R"(tessera_extender_request_duration_seconds_count{code="500",verb="bind"})"),
            1);
}

TEST_F(MetricsTest, Case104APodBoundWithoutDevicesIsShownWithAnEvent) {
  add_node("n1");
  start_server();
  add_pod("stray");
  const auto bound = api_->request(
      "POST", "/api/v1/namespaces/default/pods/stray/binding",
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"stray"},"target":{"kind":"Node","name":"n1"}})");
  ASSERT_LT(bound.status, 300) << bound.body;
  EXPECT_TRUE(eventually([&] { return metric("tessera_unassigned_pods") == 1; }));
  EXPECT_TRUE(eventually([&] { return events("DevicesNotAssigned").size() == 1; }));
  delete_pod("stray");
  EXPECT_TRUE(eventually([&] { return metric("tessera_unassigned_pods") == 0; }));
}

TEST_F(MetricsTest, Case167PagesWhileDecisionsAreMade) {
  for (int n = 0; n < 20; ++n) add_node(fmt::format("n{}", n), 4);
  start_server();
  std::atomic<bool> done{false};
  std::atomic<int> pages{0};
  std::thread scraper([&] {
    while (!done) {
      const client::ApiResponse answer = http_->call({.path = "/metrics"});
      EXPECT_EQ(answer.status, 200);
      ++pages;
    }
  });
  std::vector<std::string> names;
  for (int n = 0; n < 20; ++n) names.push_back(fmt::format("n{}", n));
  for (int i = 0; i < 40; ++i) {
    const std::string pod = fmt::format("p{}", i);
    const std::string uid = add_pod(pod, {.memory = 500});
    const FilterAnswer answer = filter(pod, names);
    ASSERT_EQ(answer.names.size(), 1U) << answer.body;
  }
  done = true;
  scraper.join();
  EXPECT_GT(pages, 0);
  expect_valid(page());
}

}  // namespace
}  // namespace tessera::test
