// Plays all recorded placements of every family, once in HAMi's score mode and once in the default
// one. A family is a file NAME.jsonl.gz in this folder, with NAME.yaml beside it where the built-in
// device configuration is not the one it was recorded with. Scenarios that differ on purpose stand
// in docs/differences-golden.txt with the rule, and only those.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "policies/registry.h"
#include "recorded.h"
#include "scene.h"
#include "vendors/config.h"

namespace tessera::golden {
namespace {

constexpr auto kFolder = TESSERA_SOURCE_DIR "/tests/golden/";

std::vector<std::string> families() {
  std::vector<std::string> names;
  const std::string tail = ".jsonl.gz";
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= tail.size() || !name.ends_with(tail) || name == "webhook.jsonl.gz") continue;
    names.push_back(name.substr(0, name.size() - tail.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

vendors::Vendors vendors_of(const std::string& family) {
  std::string yaml(vendors::default_device_config());
  if (std::ifstream in(kFolder + family + ".yaml"); in) {
    std::ostringstream text;
    text << in.rdbuf();
    yaml = text.str();
  }
  // The chart's flags for vendors that are served only when asked for.
  auto parsed = vendors::parse_device_config(yaml, {true, true});
  if (!parsed.faults.empty()) std::printf("%s\n", parsed.faults.front().text().c_str());
  auto vendors = vendors::Vendors::make(std::move(parsed.config));
  if (!vendors) std::abort();
  return std::move(*vendors);
}

/// The scenarios of docs/differences-golden.txt, by what differs: "fit", "choice" and "reasons" in
/// HAMi's mode, "default-fit" and "default-choice" in the default one. "fit" holds in both.
class Listed {
 public:
  explicit Listed(const std::string& family) {
    std::ifstream in(TESSERA_SOURCE_DIR "/docs/differences-golden.txt");
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string id, what, rule;
      if (line.empty() || line.front() == '#' || !(words >> id >> what >> rule)) continue;
      if (family_of(id) == family) rules_[what][id] = rule;
    }
  }
  bool has(const std::string& what, const std::string& id) const {
    const auto found = rules_.find(what);
    return found != rules_.end() && found->second.contains(id);
  }
  std::size_t count(const std::string& what) const {
    const auto found = rules_.find(what);
    return found == rules_.end() ? 0 : found->second.size();
  }

 private:
  /// "nvidia-mig-200-0000" -> "nvidia_mig".
  static std::string family_of(const std::string& id) {
    std::string name = id.substr(0, id.rfind('-', id.rfind('-') - 1));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  std::map<std::string, std::map<std::string, std::string>> rules_;
};

struct Tally {
  int scenarios = 0, explained = 0, fit = 0, placed = 0, choice = 0, refused = 0, reasons = 0;

  void print(const std::string& family, const char* mode) const {
    std::printf(
        "%s, %s: %d scenarios, %d of them explained by a rule; same fit %d; placed by both %d, "
        "same node and devices %d; refused by both %d, same reasons %d\n",
        family.c_str(), mode, scenarios, explained, fit, placed, choice, refused, reasons);
  }
};

void show(const std::string& id, const char* what, const Comparison& c) {
  if (std::getenv("TESSERA_GOLDEN_VERBOSE") == nullptr) return;
  std::printf("%s %s\n    %s\n", id.c_str(), what, c.detail.c_str());
}

class GoldenPlacement : public testing::TestWithParam<std::string> {
 protected:
  GoldenPlacement()
      : scenarios_(read_recorded(GetParam() + ".jsonl.gz")),
        vendors_(vendors_of(GetParam())),
        listed_(GetParam()) {
    defaults_.node = policies::find_node_policy("binpack");
    defaults_.devices = *policies::parse_device_chain("spread");
    defaults_.words = {"spread", "binpack"};
  }

  std::vector<nlohmann::json> scenarios_;
  vendors::Vendors vendors_;
  vendors::PolicyDefaults defaults_;
  Listed listed_;
};

TEST_P(GoldenPlacement, InHamisModeTheSameFitAndChoice) {
  defaults_.mode = core::ScoreMode::kHami;
  Tally tally;
  for (const auto& s : scenarios_) {
    const std::string id = s["id"];
    const Comparison c = play(s, vendors_, defaults_);
    ++tally.scenarios;
    EXPECT_TRUE(c.every_position) << id << " (S-1): " << c.detail;
    EXPECT_EQ(c.fit, !listed_.has("fit", id)) << id << ": " << c.detail;
    if (!c.fit) {
      ++tally.explained;
      show(id, "FIT", c);
      continue;
    }
    ++tally.fit;
    const bool same = c.placed ? c.node && c.devices : c.reasons;
    if (!same) show(id, c.placed ? "choice" : "reasons", c);
    if (listed_.has(c.placed ? "choice" : "reasons", id)) {
      EXPECT_FALSE(same) << id << " is listed as different: " << c.detail;
      ++tally.explained;
      continue;
    }
    ++(c.placed ? tally.placed : tally.refused);
    (c.placed ? tally.choice : tally.reasons) += same ? 1 : 0;
  }
  tally.print(GetParam(), "HAMi's mode");
  EXPECT_GE(tally.choice * 100, tally.placed * 99);
  EXPECT_GE(tally.reasons * 100, tally.refused * 98);
}

TEST_P(GoldenPlacement, InTheDefaultModeTheSameFitAndNeverAWorseChoice) {
  Tally tally;
  for (const auto& s : scenarios_) {
    const std::string id = s["id"];
    const Comparison c = play(s, vendors_, defaults_);
    ++tally.scenarios;
    EXPECT_TRUE(c.every_position) << id << " (S-1): " << c.detail;
    const bool listed = listed_.has("fit", id) || listed_.has("default-fit", id);
    EXPECT_EQ(c.fit, !listed) << id << ": " << c.detail;
    if (!c.fit) {
      ++tally.explained;
      show(id, "FIT (default mode)", c);
      continue;
    }
    ++tally.fit;
    ++(c.placed ? tally.placed : tally.refused);
    tally.choice += c.placed && c.node && c.devices ? 1 : 0;
    tally.reasons += !c.placed && c.reasons ? 1 : 0;
    if (!c.placed && !c.reasons) show(id, "reasons (default mode)", c);
    if (!c.placed) continue;
    EXPECT_EQ(c.not_worse, !listed_.has("default-choice", id)) << id << ": " << c.detail;
    if (!c.not_worse) show(id, "WORSE", c);
  }
  tally.print(GetParam(), "default mode");
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenPlacement, testing::ValuesIn(families()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace tessera::golden
