/// Scenario records as the JSON objects that the API server would hold; the core and the live run
/// read the same text. Thread rule: pure functions.
#pragma once

#include <string>

#include "sim/scenario.h"

namespace tessera::sim {

inline constexpr std::string_view kScenarioNamespace = "default";

std::string node_object(const ScenarioNode& node);

/// A pod as it looks after admission, with the scenario's policies as annotations unless it names
/// its own. `uid` may be empty (the API server gives one). Running pods carry node, device text and
/// phase.
std::string pod_object(const Scenario& scenario, const ScenarioPod& pod, const std::string& uid);

/// What a running pod holds, in the wire form: memory of a percentage is taken of the card it runs
/// on.
std::string device_text(const Scenario& scenario, const ScenarioPod& pod);

}  // namespace tessera::sim
