// Plays the 400 recorded NVIDIA scenarios. All of them are run and counted; those that need nothing
// but what is served already (nvidia_scope.txt) must agree in fit, except the ones that a named
// rule of docs/differences-golden.txt explains.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "policies/registry.h"
#include "recorded.h"
#include "scene.h"
#include "scope.h"
#include "vendors/config.h"

namespace tessera::golden {
namespace {

struct Tally {
  int scenarios = 0, fit = 0, placed = 0, node = 0, devices = 0, refused = 0, reasons = 0;

  void add(const Comparison& c) {
    ++scenarios;
    if (!c.fit) return;
    ++fit;
    ++(c.placed ? placed : refused);
    node += c.node;
    devices += c.devices;
    reasons += c.reasons;
  }
  void print(const char* name) const {
    std::printf(
        "%s: %d scenarios, fit %d; placed by both %d, same node %d, same devices %d; refused by "
        "both %d, same reasons %d\n",
        name, scenarios, fit, placed, node, devices, refused, reasons);
  }
};

/// id -> rule, from docs/differences-golden.txt: "nvidia-100-0042 fit W-1 words".
std::map<std::string, std::string> explained(const std::string& what) {
  std::map<std::string, std::string> out;
  std::ifstream in(TESSERA_SOURCE_DIR "/docs/differences-golden.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (line.substr(first + 1, second - first - 1) == what)
      out[line.substr(0, first)] = line.substr(second + 1);
  }
  return out;
}

class GoldenPlacement : public testing::Test {
 protected:
  GoldenPlacement()
      : scenarios_(read_recorded("nvidia.jsonl.gz")),
        vendors_(*vendors::Vendors::make(
            vendors::parse_device_config(vendors::default_device_config()).config)),
        defaults_{policies::find_node_policy("binpack"), {policies::find_device_policy("spread")}} {
  }

  std::vector<nlohmann::json> scenarios_;
  vendors::Vendors vendors_;
  vendors::PolicyDefaults defaults_;
};

TEST_F(GoldenPlacement, TheScopeFileSaysWhatTheDataSay) {
  const auto committed = committed_scope();
  std::map<std::string, std::string> want;
  for (const auto& s : scenarios_) want[s["id"].get<std::string>()] = scope_words(s);
  EXPECT_EQ(committed.size(), scenarios_.size());
  EXPECT_EQ(committed, want);
  int counted = 0;
  for (const auto& [id, words] : committed) counted += words == "counted";
  EXPECT_GE(counted, 150) << "D19 expects about 180 scenarios in the first issue";
}

TEST_F(GoldenPlacement, CountedScenariosAgreeInFit) {
  const auto scope = committed_scope();
  const auto rules = explained("fit");
  const bool verbose = std::getenv("TESSERA_GOLDEN_VERBOSE") != nullptr;
  Tally all, counted;
  for (const auto& s : scenarios_) {
    const std::string id = s["id"];
    const Comparison c = play(s, vendors_, defaults_);
    all.add(c);
    EXPECT_TRUE(c.every_position) << id << " (S-1): " << c.detail;
    const bool in_scope = scope.at(id) == "counted";
    if (in_scope) counted.add(c);
    if (verbose && (!c.fit || (c.placed ? !c.devices : !c.reasons))) {
      std::printf("%s %s [%s]\n    %s\n", id.c_str(), c.fit ? "choice" : "FIT",
                  scope.at(id).c_str(), c.detail.c_str());
    }
    if (in_scope) {
      EXPECT_EQ(c.fit, !rules.contains(id)) << id << ": " << c.detail;
    }
  }
  EXPECT_EQ(counted.reasons, counted.refused) << "a counted scenario is refused in other words";
  all.print("whole file");
  counted.print("counted (D19)");
  RecordProperty("fit_counted", counted.fit);
  RecordProperty("fit_all", all.fit);
}

}  // namespace
}  // namespace tessera::golden
