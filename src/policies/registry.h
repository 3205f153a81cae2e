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
    std::string_view name);  ///< "binpack", "spread", "label-priority"; nullptr when unknown
const core::DevicePolicy* find_device_policy(std::string_view name);  ///< nullptr when unknown
std::vector<std::string> node_policy_names();
std::vector<std::string> device_policy_names();

/// What a chain like "label-priority,binpack" stands for: one policy that goes by the load, and
/// perhaps another one before it, or behind it for nodes that are equal otherwise. Null = not
/// named.
struct NodeChain {
  const core::NodePolicy* before = nullptr;
  const core::NodePolicy* load = nullptr;
  const core::NodePolicy* after = nullptr;
};
/// A chain with what was odd about it, for texts that must not fail.
struct NodeChainReading {
  NodeChain chain;
  std::vector<std::string> unknown;  ///< words that name no policy
  std::vector<std::string> idle;     ///< of the load, where an earlier word decides that already
  bool names_any() const {
    return chain.before != nullptr || chain.load != nullptr || chain.after != nullptr;
  }
};
/// Trimmed, empty pieces dropped, first occurrence kept. Without a word for the load, what is named
/// stands before it.
NodeChainReading read_node_chain(std::string_view text);
/// The same where nothing may be wrong; `load` is never null, "binpack" when not named. Errors name
/// the word and list the valid ones.
Result<NodeChain> parse_node_chain(std::string_view text);

/// What parse_device_chain does last: where nothing but "mutex" and "topology-aware" was named,
/// "spread" decides behind them. Never empty afterwards.
void complete_device_chain(std::vector<const core::DevicePolicy*>& chain);
/// "spread" or "numa,binpack": trimmed, first occurrence kept, completed. Errors name the word and
/// list the valid ones.
Result<std::vector<const core::DevicePolicy*>> parse_device_chain(std::string_view text);

}  // namespace tessera::policies
