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

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/device.h"
#include "service/server.h"
#include "sim/agents_vendor.h"

namespace tessera::sim {

struct ScenarioNode {
  struct Link {
    std::string from, to;  ///< device ids
    std::int64_t score = 0;
  };
  std::string name;
  std::vector<core::Device> devices;  ///< `vendor` is the place in Scenario::vendors
  std::vector<std::string> cordoned;
  std::vector<Link> links;
  std::vector<std::pair<std::string, std::string>> labels, annotations;
  bool offered = true, registered = true;
};
struct ScenarioPod {
  struct Container {
    std::string kind = "app";                                 ///< "app", "init" or "sidecar"
    std::vector<std::pair<std::string, std::string>> limits;  ///< by resource name
  };
  /// What a running pod holds of a card.
  struct Held {
    std::string id;
    std::optional<std::int64_t> memory, cores;  ///< empty = by the container's limits
    std::string profile;                        ///< of an instance, with its start
    std::uint32_t start = 0;
  };
  std::string name;
  std::vector<Container>
      containers;  ///< init and sidecar first, as the positions of the device text count them
  std::vector<std::pair<std::string, std::string>> annotations;
  std::string priority_class;
  std::int64_t deadline_seconds = 0;     ///< activeDeadlineSeconds, 0 = none
  std::string node;                      ///< running pods
  std::vector<std::vector<Held>> cards;  ///< running pods: per position
  bool init_done = false;                ///< its init containers have ended
};
struct ScenarioQuota {
  std::string name;
  std::vector<std::pair<std::string, std::string>> hard;
  std::vector<std::string> scopes, priority_classes;
};
struct ScenarioStep {
  /// kPod is always followed by its expectation; the kinds behind the expectations change the
  /// cluster.
  enum class Kind : std::uint8_t {
    kPod,
    kExpectOn,
    kExpectNowhere,
    kDelete,
    kFinish,
    kInitDone,
    kNode,  ///< appears, or changes to this
    kNodeGone,
    kQuota,  ///< appears, or changes to this
    kQuotaGone,
    kRestart,  ///< of the scheduler
  } kind = Kind::kPod;
  ScenarioPod pod;       ///< kPod
  ScenarioNode node_is;  ///< kNode
  ScenarioQuota quota;   ///< kQuota
  std::string name;      ///< of the pod, node or quota otherwise
  std::string node;      ///< kExpectOn
  std::vector<std::string>
      cards;                ///< kExpectOn: device ids in order of the device texts; empty = any
  std::string device_text;  ///< kExpectOn: the whole first device text; empty = any
  std::vector<std::string> instances;  ///< kExpectOn: PROFILE@START in order; empty = any
  std::vector<std::pair<std::string, std::string>> annotations;  ///< kExpectOn: of the bound pod
  std::vector<std::pair<std::string, std::string>> reasons;      ///< kExpectNowhere: node -> text
  int line = 0;
};
struct Scenario {
  std::string name, file;
  std::vector<int> cases;  ///< numbers of public reports that the file answers to
  std::vector<AgentVendor> vendors{nvidia_agent()};
  std::vector<ScenarioNode> nodes;
  std::vector<ScenarioPod> running;
  std::vector<ScenarioQuota> quotas;
  std::string node_policy = "binpack", device_policy = "spread";
  std::string score_mode = "corrected";
  std::string selector;  ///< of nodes, as the flag has it
  std::vector<ScenarioStep> steps;
};

/// Errors name file, line and word.
Result<Scenario> parse_scenario(std::string_view text, std::string file);
/// "" = passed, else what differed, with the line.
std::string run_in_core(const Scenario& scenario);

/// How the server of a live run must be started.
service::ServeOptions scenario_options(const Scenario& scenario);
struct LiveTarget {
  std::string api_url, extender_url;
  /// Ends the server and starts another on the same API server; the new extender_url.
  std::function<Result<std::string>()> restart;
};
/// Over HTTP against a server that watches the API server; objects are created there first.
std::string run_live(const Scenario& scenario, const LiveTarget& target);

}  // namespace tessera::sim
