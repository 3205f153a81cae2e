// Policies, links and weights that a pod asks for. Source: spec/scheduler.md sections 10.3, 10.4;
// decisions D1, D7.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "policies/registry.h"
#include "vendors/annotations.h"

namespace tessera::vendors {
namespace {

constexpr std::string_view kMutex = "mutex";
constexpr std::string_view kLinks = "topology-aware";

std::string unknown_word(std::string_view key, std::string_view word,
                         const std::vector<std::string>& known) {
  return fmt::format("{}: {} is not a policy that is served and has no effect (served: {})", key,
                     text::quote(word), text::join(known, ", "));
}

std::vector<const core::DevicePolicy*> device_chain(std::string_view value,
                                                    std::vector<std::string>& warnings) {
  std::vector<const core::DevicePolicy*> chain;
  for (const std::string& word : comma_list(value)) {
    const core::DevicePolicy* policy = policies::find_device_policy(word);
    if (policy == nullptr) {
      warnings.push_back(unknown_word(kDevicePolicyKey, word, policies::device_policy_names()));
    } else if (std::find(chain.begin(), chain.end(), policy) == chain.end()) {
      chain.push_back(policy);
    }
  }
  return chain;
}

/// The pod's chain replaces that of the flags as a whole; only what goes by the load is never left
/// open.
policies::NodeChain node_chain(const k8s::Pod& pod, const policies::NodeChain& fallback,
                               std::vector<std::string>& warnings) {
  const std::string* value = k8s::find(pod.annotations, kNodePolicyKey);
  if (value == nullptr) return fallback;
  policies::NodeChainReading reading = policies::read_node_chain(*value);
  for (const std::string& word : reading.unknown) {
    warnings.push_back(unknown_word(kNodePolicyKey, word, policies::node_policy_names()));
  }
  for (const std::string& word : reading.idle) {
    warnings.push_back(fmt::format("{}: {} has no effect behind {}", kNodePolicyKey,
                                   text::quote(word), reading.chain.load->name()));
  }
  if (!reading.names_any()) return fallback;
  if (reading.chain.load == nullptr) reading.chain.load = fallback.load;
  return reading.chain;
}

void set_node_chain(const policies::NodeChain& chain, core::Request& request) {
  request.node_policy = chain.load;
  request.node_policy_before = chain.before;
  request.node_policy_after = chain.after;
}

std::vector<const core::DevicePolicy*> device_policies(
    const k8s::Pod& pod, const std::vector<const core::DevicePolicy*>& fallback,
    std::vector<std::string>& warnings) {
  const std::string* value = k8s::find(pod.annotations, kDevicePolicyKey);
  if (value == nullptr) return fallback;
  auto chain = device_chain(*value, warnings);
  if (chain.empty()) return fallback;
  policies::complete_device_chain(chain);
  return chain;
}

bool names(const std::vector<const core::DevicePolicy*>& chain, std::string_view word) {
  return std::any_of(chain.begin(), chain.end(),
                     [&](const core::DevicePolicy* p) { return p->name() == word; });
}

bool lists(std::string_view value, std::string_view word) {
  const auto words = comma_list(value);
  return std::find(words.begin(), words.end(), word) != words.end();
}

const std::string& written(const k8s::Pod& pod, std::string_view key, const std::string& fallback) {
  const std::string* value = k8s::find(pod.annotations, key);
  return value == nullptr ? fallback : *value;
}

using Weights = std::array<std::optional<std::int64_t>, 3>;
constexpr std::array<std::string_view, 3> kWeightNames = {"slot", "core", "memory"};

/// The words of what is wrong with an entry; empty = nothing.
std::string read_weight(std::string_view entry, Weights& weights) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return "expected key=value entries";
  const std::string_view name = text::trim(entry.substr(0, equals));
  const auto* const row = std::find(kWeightNames.begin(), kWeightNames.end(), name);
  const bool known = row != kWeightNames.end();
  const auto at = static_cast<std::size_t>(row - kWeightNames.begin());
  if (known && weights.at(at)) return fmt::format("duplicate {} weight", text::quote(name));
  const auto value = text::parse_int(text::trim(entry.substr(equals + 1)), 64);
  if (!value) return fmt::format("{} weight must be an integer", text::quote(name));
  if (*value < 0) return fmt::format("{} weight must not be negative", text::quote(name));
  if (!known) return fmt::format("unknown weight {}", text::quote(name));
  weights.at(at) = *value;
  return {};
}

}  // namespace

Result<core::ScoreWeights> parse_scoring_weights(std::string_view value) {
  const auto bad = [&](std::string_view what) {
    return fail(Code::kInvalid, fmt::format("invalid {} annotation {}: {}", kScoringWeightsKey,
                                            text::quote(value), what));
  };
  const auto entries = text::split(value, ',');
  if (entries.size() != kWeightNames.size()) return bad("expected slot, core, and memory weights");
  Weights weights;
  for (const std::string_view entry : entries) {
    if (const std::string what = read_weight(entry, weights); !what.empty()) return bad(what);
  }
  const core::ScoreWeights read = {*weights[0], *weights[1], *weights[2]};
  if (read.slots == 0 && read.cores == 0 && read.memory == 0) {
    return bad("at least one weight must be positive");
  }
  return read;
}

Status read_preferences(const k8s::Pod& pod, const PolicyDefaults& defaults, core::Request& request,
                        std::vector<std::string>& warnings) {
  request.mode = defaults.mode;
  const policies::NodeChain chain{defaults.node_before, defaults.node, defaults.node_after};
  set_node_chain(chain, request);
  if (!request.asks_devices()) {
    request.device_policies = defaults.devices;
    return {};
  }
  set_node_chain(node_chain(pod, chain, warnings), request);
  request.device_policies = device_policies(pod, defaults.devices, warnings);
  request.hami = {written(pod, kDevicePolicyKey, defaults.words.device),
                  written(pod, kNodePolicyKey, defaults.words.node)};
  const bool by_text = request.mode == core::ScoreMode::kHami;
  request.mutex =
      by_text ? lists(request.hami.device, kMutex) : names(request.device_policies, kMutex);
  request.topology =
      by_text ? lists(request.hami.device, kLinks) : names(request.device_policies, kLinks);
  const std::string* weights = k8s::find(pod.annotations, kScoringWeightsKey);
  if (weights == nullptr) return {};
  const auto read = parse_scoring_weights(*weights);
  if (!read) {
    return fail(Code::kInvalid,
                fmt::format("calcScore failed {} for pod {}", read.error().what, pod.name));
  }
  request.weights = *read;
  return {};
}

void warn_about_policies(const k8s::Pod& pod, std::vector<std::string>& warnings) {
  node_chain(pod, {}, warnings);
  device_policies(pod, {}, warnings);
  if (const std::string* weights = k8s::find(pod.annotations, kScoringWeightsKey)) {
    if (const auto read = parse_scoring_weights(*weights); !read) {
      warnings.push_back(fmt::format("{}: the pod cannot be scheduled", read.error().what));
    }
  }
}

}  // namespace tessera::vendors
