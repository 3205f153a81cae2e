// The list of worked examples is complete and names tests that exist; examples that no other test
// plays are here.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/place.h"
#include "policies/registry.h"
#include "vendors/config.h"
#include "vendors/vendors.h"

namespace tessera::golden {
namespace {

constexpr auto kRoot = TESSERA_SOURCE_DIR "/";

std::string content_of(const std::string& path) {
  std::ifstream in(kRoot + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Waits for something that is named, or names a test that exists.
void check_entry(const std::string& line, const std::string& where, const std::string& rest) {
  if (where == "later" || where == "agent") {
    EXPECT_GT(rest.size(), 3u) << "waits for nothing: " << line;
    return;
  }
  const std::size_t open = rest.find('"'), close = rest.find('"', open + 1);
  ASSERT_NE(close, std::string::npos) << line;
  const std::string marker = rest.substr(open + 1, close - open - 1);
  EXPECT_NE(content_of(where).find(marker), std::string::npos) << "no such test: " << line;
}

TEST(Cases, EveryOneIsNamedByATestOrWaitsForSomethingNamed) {
  constexpr std::size_t kCases = 152;
  std::set<int> numbers;
  std::istringstream lines(content_of("tests/data/cases.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string where, rest;
    int number = 0;
    words >> number >> where;
    std::getline(words, rest);
    EXPECT_TRUE(numbers.insert(number).second) << "twice: " << line;
    check_entry(line, where, rest);
  }
  EXPECT_EQ(numbers.size(), kCases);
}

TEST(WorkedExamples, EveryOneIsPlayedOrWaitsForSomethingNamed) {
  std::map<std::string, std::set<int>> numbers;
  std::istringstream lines(content_of("tests/data/worked_examples.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string page, where, rest;
    int number = 0;
    words >> page >> number >> where;
    std::getline(words, rest);
    EXPECT_TRUE(numbers[page].insert(number).second) << "twice: " << line;
    check_entry(line, where, rest);
  }
  const std::map<std::string, int> last = {
      {"ascend", 12}, {"device-model", 19}, {"kunlun", 24}, {"nvidia", 20}, {"scheduler", 22}};
  ASSERT_EQ(numbers.size(), last.size());
  for (const auto& [page, count] : last) {
    EXPECT_EQ(numbers[page].size(), static_cast<std::size_t>(count)) << page;
    EXPECT_EQ(*numbers[page].begin(), 1) << page;
    EXPECT_EQ(*numbers[page].rbegin(), count) << page;
  }
}

k8s::Pod asking(const std::string& device_policy) {
  k8s::Pod pod;
  pod.uid = "u";
  pod.annotations = {{"hami.io/gpu-scheduler-policy", device_policy}};
  k8s::Container container;
  container.name = "c";
  container.limits = {{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem", "4000"}};
  pod.containers = {container};
  return pod;
}

TEST(WorkedExamples, E7TiesGoToTheLowestIndex) {
  const auto vendors = *vendors::Vendors::make(
      vendors::parse_device_config(vendors::default_device_config()).config);
  k8s::Node node;
  node.name = "n";
  node.allocatable = {{"nvidia.com/gpu", "30"}};
  node.annotations = {
      {"hami.io/node-nvidia-register",
       R"([{"id":"g0","count":10,"devmem":16000,"devcore":100,"type":"T","health":true},)"
       R"({"id":"g1","index":1,"count":10,"devmem":16000,"devcore":100,"type":"T","health":true},)"
       R"({"id":"g2","index":2,"count":10,"devmem":16000,"devcore":100,"type":"T","numa":1,"health":true}])"}};
  core::Cluster cluster(vendors.rules());
  const std::vector<NodeId> candidates = {cluster.set_node(vendors.read_node(node).spec)};
  const vendors::PolicyDefaults defaults{policies::find_node_policy("binpack"),
                                         {policies::find_device_policy("spread")}};
  for (const char* policy : {"spread", "binpack"}) {
    const auto demand = vendors.demand(asking(policy), defaults);
    ASSERT_TRUE(demand);
    const auto outcome = core::place(cluster, demand->request, candidates);
    ASSERT_TRUE(outcome.decision) << policy;
    EXPECT_EQ(vendors.encode(outcome.decision->allocation, WallTime{}).front().second,
              "g0,NVIDIA,4000,0:g1,NVIDIA,4000,0:;")
        << policy;
  }
}

}  // namespace
}  // namespace tessera::golden
