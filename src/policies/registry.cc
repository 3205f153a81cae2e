#include "policies/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policies/registry_rows.h"

namespace tessera::policies {
namespace {

using NodeRow = const core::NodePolicy& (*)();
using DeviceRow = const core::DevicePolicy& (*)();

constexpr std::array<NodeRow, 3> kNodePolicies = {node_binpack, node_spread, label_priority};
constexpr std::array<DeviceRow, 5> kDevicePolicies = {device_binpack, device_spread, device_mutex,
                                                      device_numa, device_topology};

template <class Rows>
auto find(const Rows& rows, std::string_view name) -> decltype(&rows[0]()) {
  for (const auto row : rows) {
    if (row().name() == name) return &row();
  }
  return nullptr;
}

/// Words that leave cards equal get the key of HAMi's default behind them.
bool orders_cards(const std::vector<const core::DevicePolicy*>& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const auto* policy) {
    return policy != &device_mutex() && policy != &device_topology();
  });
}

/// All others look at something that stays while pods come and go.
bool goes_by_load(const core::NodePolicy& policy) { return &policy != &label_priority(); }

void add_word(const core::NodePolicy& policy, NodeChainReading& reading) {
  NodeChain& chain = reading.chain;
  if (goes_by_load(policy)) {
    if (chain.load == nullptr)
      chain.load = &policy;
    else if (chain.load != &policy)
      reading.idle.emplace_back(policy.name());
    return;
  }
  const bool named = chain.before == &policy || chain.after == &policy;
  if (!named) (chain.load == nullptr ? chain.before : chain.after) = &policy;
}

template <class Rows>
std::vector<std::string> names(const Rows& rows) {
  std::vector<std::string> list;
  for (const auto row : rows) list.emplace_back(row().name());
  return list;
}

}  // namespace

const core::NodePolicy* find_node_policy(std::string_view name) {
  return find(kNodePolicies, name);
}

const core::DevicePolicy* find_device_policy(std::string_view name) {
  return find(kDevicePolicies, name);
}

std::vector<std::string> node_policy_names() { return names(kNodePolicies); }
std::vector<std::string> device_policy_names() { return names(kDevicePolicies); }

NodeChainReading read_node_chain(std::string_view text) {
  NodeChainReading reading;
  for (const std::string_view piece : text::split(text, ',')) {
    const std::string_view word = text::trim(piece);
    if (word.empty()) continue;
    if (const core::NodePolicy* policy = find_node_policy(word)) {
      add_word(*policy, reading);
    } else {
      reading.unknown.emplace_back(word);
    }
  }
  return reading;
}

Result<NodeChain> parse_node_chain(std::string_view text) {
  NodeChainReading reading = read_node_chain(text);
  if (!reading.unknown.empty() || !reading.names_any()) {
    const std::string word = reading.unknown.empty() ? std::string(text) : reading.unknown.front();
    return fail(Code::kInvalid, fmt::format("{} is none of: {}", text::quote(word),
                                            text::join(node_policy_names(), ", ")));
  }
  if (!reading.idle.empty()) {
    return fail(Code::kInvalid, fmt::format("{} and {} in one chain: only one can go by the load",
                                            reading.chain.load->name(), reading.idle.front()));
  }
  if (reading.chain.load == nullptr) reading.chain.load = &node_binpack();
  return reading.chain;
}

void complete_device_chain(std::vector<const core::DevicePolicy*>& chain) {
  if (!orders_cards(chain)) chain.push_back(&device_spread());
}

Result<std::vector<const core::DevicePolicy*>> parse_device_chain(std::string_view text) {
  std::vector<const core::DevicePolicy*> chain;
  for (const std::string_view piece : text::split(text, ',')) {
    const std::string_view word = text::trim(piece);
    const core::DevicePolicy* policy = find_device_policy(word);
    if (policy == nullptr) {
      return fail(Code::kInvalid,
                  fmt::format("unknown device policy {}: valid are {}", text::quote(word),
                              text::join(device_policy_names(), ", ")));
    }
    if (std::find(chain.begin(), chain.end(), policy) == chain.end()) chain.push_back(policy);
  }
  complete_device_chain(chain);
  return chain;
}

}  // namespace tessera::policies
