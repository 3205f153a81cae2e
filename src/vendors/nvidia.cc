#include "vendors/nvidia.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "vendors/ask.h"
#include "vendors/mutate.h"
#include "vendors/pair_scores.h"

namespace tessera::vendors {
namespace {

/// The container gets whole cards: neither a share of memory nor cores are named.
bool exclusive_by_default(const Vendor& vendor, const k8s::Container& container,
                          std::optional<std::int64_t> percent) {
  if (vendor.core_resource.empty()) return false;
  if (quantity_text(container, vendor.core_resource) != nullptr) return false;
  if (percent) return *percent == 100;
  return quantity_text(container, vendor.memory_resource) == nullptr;
}

Result<ContainerMutation> mutate(const Vendor& vendor, const k8s::Pod& /*pod*/,
                                 const k8s::Container& container) {
  auto mutation = mutate_container(vendor, container);
  if (!mutation || count_is_zero(container, vendor)) return mutation;
  const auto percent = percent_value(container, vendor.memory_percent_resource);
  const bool counted = mutation->uses_device ||  // in limits, perhaps by default
                       quantity_text(container, vendor.count_resource) != nullptr;
  if (counted && percent && exclusive_by_default(vendor, container, *percent)) {
    mutation->set_limits.emplace_back(vendor.core_resource, "100");
    mutation->uses_device = true;
  }
  return mutation;
}

/// Scores that cannot be read cost the registration: a choice by half of the links is none.
Status read_links(const Vendor& vendor, const k8s::Node& node, VendorId id, core::NodeSpec& spec) {
  const std::string* text = k8s::find(node.annotations, vendor.score_key);
  if (text == nullptr) return {};
  const auto scores = decode_pair_scores(*text);
  if (!scores) {
    return fail(scores.error().code, fmt::format("{}: {}", vendor.score_key, scores.error().what));
  }
  set_links(*scores, id, spec);
  return {};
}

}  // namespace

Vendor nvidia_vendor(const NvidiaConfig& config) {
  Vendor v;
  v.word = "NVIDIA";
  v.count_resource = config.count_name;
  v.memory_resource = config.memory_name;
  v.memory_percent_resource = config.memory_percent_name;
  v.core_resource = config.core_name;
  v.priority_resource = config.priority_name;
  v.memory_factor = std::max<std::int64_t>(config.memory_factor, 1);
  v.default_memory = config.default_memory;
  v.default_cores = config.default_cores;
  v.default_count = config.default_count;
  v.register_key = "hami.io/node-nvidia-register";
  v.handshake_key = "hami.io/node-handshake";
  v.reports_by_handshake = false;  // agents since 2.8 never write it
  v.score_key = "hami.io/node-nvidia-score";
  v.cordon_key = "hami.io/device-cordon";
  v.to_allocate_key = "hami.io/vgpu-devices-to-allocate";
  v.allocated_key = "hami.io/vgpu-devices-allocated";
  v.use_model_key = "nvidia.com/use-gputype";
  v.nouse_model_key = "nvidia.com/nouse-gputype";
  v.id_keys = {{"nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid"}};
  v.numa_bind_key = "nvidia.com/numa-bind";
  v.mode_key = "nvidia.com/vgpu-mode";
  v.runtime_class = config.runtime_class;
  v.hide_from_others = config.overwrite_env;
  v.hide_env_name = "NVIDIA_VISIBLE_DEVICES";
  v.hide_env_value = "none";
  v.core_policy_env_name = "GPU_CORE_UTILIZATION_POLICY";
  v.core_policy_env_value = config.core_policy == "default" ? "" : config.core_policy;
  v.priority_env_name = "CUDA_TASK_PRIORITY";
  v.pod_keys = {std::string(kMigReservationKey)};
  v.mutate = mutate;
  v.node_extra = read_links;
  v.annotate = write_mig_reservations;
  v.recall = read_mig_reservations;
  return v;
}

}  // namespace tessera::vendors
