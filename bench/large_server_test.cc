#include "large_server.h"

#include <gmock/gmock.h>

namespace tessera::bench {
namespace {

using testing::HasSubstr;

/// Two nodes of one card; the first one's is held by two pods, the second one's by one.
sim::SyntheticCluster cluster() {
  sim::SyntheticOptions options{.nodes = 2, .device_pods = 3};
  options.cards.front().count = 1;
  options.cards.front().id_prefix = "";
  auto made = sim::SyntheticCluster::make(options);
  if (!made) throw std::runtime_error(made.error().what);
  return std::move(*made);
}

std::string right_page() {
  return R"(tessera_cache_objects{resource="pods"} 3
tessera_cache_objects{resource="nodes"} 2
tessera_undecodable_objects_total{resource="pods"} 0
tessera_undecodable_objects_total{resource="nodes"} 0
tessera_pod_annotation_problems_total 0
tessera_self_check_differences_total 0
tessera_self_check_runs_total 1
hami_gpu_memory_allocated_bytes{device_uuid="000000000000",node="node-00000"} 4194304000
hami_gpu_memory_allocated_bytes{device_uuid="000000000100",node="node-00001"} 2097152000
)";
}

TEST(LargeServer, APageThatIsRight) { EXPECT_EQ(page_fault(right_page(), cluster()), ""); }

TEST(LargeServer, PagesThatAreWrong) {
  struct Case {
    const char *instead_of, *stands, *what;
  };
  const Case cases[] = {
      {R"({resource="pods"} 3)", R"({resource="pods"} 2)", R"({resource="pods"} is 2, not 3)"},
      {R"({resource="nodes"} 2)", R"({resource="nodes"} 3)", R"({resource="nodes"} is 3, not 2)"},
      {R"(total{resource="pods"} 0)", R"(total{resource="pods"} 1)", "undecodable_objects"},
      {R"(total{resource="nodes"} 0)", R"(total{resource="nodes"} 1)", "undecodable_objects"},
      {"annotation_problems_total 0", "annotation_problems_total 1", "is 1, not 0"},
      {"differences_total 0", "differences_total 1", "is 1, not 0"},
      {"differences_total 0", "other_total 0", "is -1, not 0"},
      {"runs_total 1", "runs_total 0", "no self-check"},
      {" 4194304000", " 2097152000", "of node-00000 000000000000 2097152000 bytes are promised"},
      {"hami_gpu_memory_allocated_bytes", "hami_other", "1 cards are shown, not 2"},
      {R"("000000000100",node="node-00001")", R"("000000000100",node="node-00000")",
       "there is no card node-00000 000000000100"},
      {R"("000000000000",node)", R"("000000000009",node)", "there is no card"},
  };
  for (const Case& c : cases) {
    std::string page = right_page();
    const auto at = page.find(c.instead_of);
    ASSERT_NE(at, std::string::npos) << c.instead_of;
    page.replace(at, std::string_view(c.instead_of).size(), c.stands);
    EXPECT_THAT(page_fault(page, cluster()), HasSubstr(c.what)) << c.stands;
  }
}

}  // namespace
}  // namespace tessera::bench
