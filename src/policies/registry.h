/// The one table of node and device policies. Adding one: a file with the class, a line in
/// registry.cc. Thread rule: immutable after start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/policy.h"

namespace tessera::policies {

const core::NodePolicy* find_node_policy(
    std::string_view name);  ///< "binpack", "spread"; nullptr when unknown
const core::DevicePolicy* find_device_policy(std::string_view name);  ///< nullptr when unknown
std::vector<std::string> node_policy_names();
std::vector<std::string> device_policy_names();

/// What parse_device_chain does last: where nothing but "mutex" and "topology-aware" was named,
/// "spread" decides behind them. Never empty afterwards.
void complete_device_chain(std::vector<const core::DevicePolicy*>& chain);
/// "spread" or "numa,binpack": trimmed, first occurrence kept, completed. Errors name the word and
/// list the valid ones.
Result<std::vector<const core::DevicePolicy*>> parse_device_chain(std::string_view text);

}  // namespace tessera::policies
