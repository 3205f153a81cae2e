#include "vendors/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

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

/// No id can contain a comma: a list of this alone accepts no card.
constexpr std::string_view kNoId = ",";

/// Both lists must accept a card; an empty one accepts all.
void meet(std::vector<std::string>& accepted, const std::vector<std::string>& more) {
  if (more.empty()) return;
  if (accepted.empty()) {
    accepted = more;
    return;
  }
  std::erase_if(accepted, [&](const std::string& id) {
    return std::find(more.begin(), more.end(), id) == more.end();
  });
  if (accepted.empty()) accepted.emplace_back(kNoId);
}

}  // namespace

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view piece : text::split(text, ',')) {
    if (const auto trimmed = text::trim(piece); !trimmed.empty()) out.emplace_back(trimmed);
  }
  return out;
}

core::Constraints pod_constraints(const k8s::Pod& pod, const Vendor& vendor, VendorId id) {
  core::Constraints c;
  c.vendor = id;
  c.use_models = upper_list_of(pod, vendor.use_model_key);
  c.nouse_models = upper_list_of(pod, vendor.nouse_model_key);
  for (const IdKeys& keys : vendor.id_keys) {
    meet(c.use_ids, list_of(pod, keys.use));
    for (std::string& id_text : list_of(pod, keys.nouse)) c.nouse_ids.push_back(std::move(id_text));
  }
  if (!vendor.mode_key.empty()) {
    if (const std::string* modes = k8s::find(pod.annotations, vendor.mode_key)) c.modes = *modes;
  }
  if (!vendor.numa_bind_key.empty()) {
    const std::string* bind = k8s::find(pod.annotations, vendor.numa_bind_key);
    c.numa_bind = bind != nullptr && text::parse_bool(*bind).value_or(false);
  }
  if (vendor.constrain) vendor.constrain(vendor, pod, c);
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
