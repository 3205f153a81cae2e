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

constexpr std::array<NodeRow, 2> kNodePolicies = {node_binpack, node_spread};
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
