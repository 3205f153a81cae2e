#include "vendors/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "policies/registry.h"

namespace tessera::vendors {
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::vector<std::string> list_of(const k8s::Pod& pod, const std::string& key) {
  const std::string* value = key.empty() ? nullptr : k8s::find(pod.annotations, key);
  return value == nullptr ? std::vector<std::string>{} : comma_list(*value);
}

std::vector<std::string> upper_list_of(const k8s::Pod& pod, const std::string& key) {
  auto list = list_of(pod, key);
  for (std::string& entry : list) entry = upper(std::move(entry));
  return list;
}

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

}  // namespace

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view piece : text::split(text, ',')) {
    if (const auto trimmed = text::trim(piece); !trimmed.empty()) out.emplace_back(trimmed);
  }
  return out;
}

PolicyDefaults pod_policies(const k8s::Pod& pod, const PolicyDefaults& defaults,
                            std::vector<std::string>& warnings) {
  PolicyDefaults chosen = defaults;
  if (const std::string* value = k8s::find(pod.annotations, kNodePolicyKey)) {
    const std::string_view word = text::trim(*value);
    if (const core::NodePolicy* policy = policies::find_node_policy(word)) {
      chosen.node = policy;
    } else if (!word.empty()) {
      warnings.push_back(unknown_word(kNodePolicyKey, word, policies::node_policy_names()));
    }
  }
  if (const std::string* value = k8s::find(pod.annotations, kDevicePolicyKey)) {
    auto chain = device_chain(*value, warnings);
    if (!chain.empty()) {
      policies::complete_device_chain(chain);
      chosen.devices = std::move(chain);
    }
  }
  return chosen;
}

core::Constraints pod_constraints(const k8s::Pod& pod, const Vendor& vendor, VendorId id) {
  core::Constraints c;
  c.vendor = id;
  c.use_models = upper_list_of(pod, vendor.use_model_key);
  c.nouse_models = upper_list_of(pod, vendor.nouse_model_key);
  for (const IdKeys& keys : vendor.id_keys) {
    c.use_ids = list_of(pod, keys.use);
    c.nouse_ids = list_of(pod, keys.nouse);
  }
  if (!vendor.mode_key.empty()) {
    if (const std::string* modes = k8s::find(pod.annotations, vendor.mode_key)) c.modes = *modes;
  }
  if (!vendor.numa_bind_key.empty()) {
    const std::string* bind = k8s::find(pod.annotations, vendor.numa_bind_key);
    c.numa_bind = bind != nullptr && text::parse_bool(*bind).value_or(false);
  }
  return c;
}

void warn_about_resource_annotations(const k8s::Pod& pod, const std::vector<std::string>& resources,
                                     std::vector<std::string>& warnings) {
  for (const auto& [key, value] : pod.annotations) {
    if (std::find(resources.begin(), resources.end(), key) == resources.end()) continue;
    warnings.push_back(
        fmt::format("annotation {}: {} is ignored, use resources.limits", key, text::quote(value)));
  }
}

bool scheduler_key(std::string_view key) {
  constexpr std::string_view kOurs = "tessera.io/";
  constexpr std::string_view kShared = "hami.io/";
  if (key.substr(0, kOurs.size()) == kOurs) return true;
  if (key.substr(0, kShared.size()) != kShared) return false;
  key.remove_prefix(kShared.size());
  constexpr std::array<std::string_view, 6> kExact = {
      "vgpu-node",       "vgpu-time", "bind-time", "bind-phase", "vgpu-mig-allocations",
      "kunlun-allocated"};
  if (std::find(kExact.begin(), kExact.end(), key) != kExact.end()) return true;
  const auto ends_with = [key](std::string_view tail) {
    return key.size() > tail.size() && key.substr(key.size() - tail.size()) == tail;
  };
  return ends_with("-devices-to-allocate") || ends_with("-devices-allocated");
}

}  // namespace tessera::vendors
