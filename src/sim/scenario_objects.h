/// Scenario records as the JSON objects that the API server would hold; the core and the live run
/// read the same text. Thread rule: pure functions.
#pragma once

#include <string>

#include "sim/scenario.h"

namespace tessera::sim {

inline constexpr std::string_view kScenarioNamespace = "default";

std::string node_object(const Scenario& scenario, const ScenarioNode& node);
/// Merge patch of what may have changed of a node: annotations and labels; a key that is not there
/// any more is removed.
std::string node_patch(const Scenario& scenario, const ScenarioNode& node);
/// {"status":{…}} with what is allocatable.
std::string node_status_patch(const Scenario& scenario, const ScenarioNode& node);

/// A pod as it looks after admission, with the scenario's policies as annotations unless it names
/// its own. `uid` may be empty (the API server gives one). Running pods carry node, device texts
/// and phase.
std::string pod_object(const Scenario& scenario, const ScenarioPod& pod, const std::string& uid);
/// {"status":{…}} in which all init containers of the pod have ended.
std::string init_done_patch(const ScenarioPod& pod);

std::string quota_object(const ScenarioQuota& quota);

/// What a running pod holds of a vendor's cards, in the wire form: memory of a percentage is taken
/// of the card it runs on. "" = nothing.
std::string device_text(const Scenario& scenario, const ScenarioPod& pod, std::size_t vendor = 0);
/// The instances it holds, as the pod's annotation lists them; "" = none.
std::string instances_text(const Scenario& scenario, const ScenarioPod& pod);

}  // namespace tessera::sim
