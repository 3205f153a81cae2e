/// A scenario is a text file: nodes, running pods, the incoming pod, expected node, devices,
/// reasons. The core, the embedded cluster and the live server run the same files from
/// tests/scenarios. Grammar: docs/scenarios.md.
///   name: second pod packs onto the used card
///   node n1  NVIDIA-A100-80G x2 mem=81920
///   run  a   gpu=1 mem=20480 -> n1 card0
///   policy   node=binpack device=binpack
///   pod  b   gpu=1 mem=10240
///   expect b on n1 card0
/// Thread rule: plain values and free functions; run_live blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/device.h"

namespace tessera::sim {

struct ScenarioNode {
  std::string name;
  std::vector<core::Device> devices;  ///< ids are <node>-card<i> unless given
  std::vector<std::string> cordoned;
  bool offered = true, registered = true;
};
struct ScenarioPod {
  struct Container {
    std::string kind = "app";                                 ///< "app", "init" or "sidecar"
    std::vector<std::pair<std::string, std::string>> limits;  ///< by resource name
  };
  std::string name;
  std::vector<Container>
      containers;  ///< init and sidecar first, as the positions of the device text count them
  std::vector<std::pair<std::string, std::string>> annotations;
  std::string node;                             ///< running pods
  std::vector<std::vector<std::string>> cards;  ///< running pods: device ids per position
};
struct ScenarioStep {
  /// kPod is always followed by its expectation; kFinish and kDelete end a pod that runs or was
  /// placed.
  enum class Kind { kPod, kExpectOn, kExpectNowhere, kDelete, kFinish } kind = Kind::kPod;
  ScenarioPod pod;   ///< kPod
  std::string name;  ///< the others
  std::string node;  ///< kExpectOn
  std::vector<std::string>
      cards;                ///< kExpectOn: device ids in order of the device text; empty = any
  std::string device_text;  ///< kExpectOn: the whole device text; empty = any
  std::vector<std::pair<std::string, std::string>> reasons;  ///< kExpectNowhere: node -> text
  int line = 0;
};
struct Scenario {
  std::string name, file;
  std::vector<int> cases;  ///< numbers of public reports that the file answers to
  std::vector<ScenarioNode> nodes;
  std::vector<ScenarioPod> running;
  std::string node_policy = "binpack", device_policy = "spread";
  std::vector<ScenarioStep> steps;
};

/// Errors name file, line and word.
Result<Scenario> parse_scenario(std::string_view text, std::string file);
/// "" = passed, else what differed, with the line.
std::string run_in_core(const Scenario& scenario);
/// Over HTTP against a server that watches the API server at `api_url`; objects are created there
/// first.
std::string run_live(const Scenario& scenario, const std::string& api_url,
                     const std::string& extender_url);

}  // namespace tessera::sim
