#include "vendors/nvidia.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "vendors/ask.h"

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

/// Every number must be usable before anything is changed: a bad one must not turn into "no limit"
/// (D7).
Status check_quantities(const Vendor& vendor, const k8s::Container& container) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (const auto memory = memory_value(container, vendor); !memory) {
    return tl::unexpected(memory.error());
  }
  for (const std::string& resource :
       {vendor.count_resource, vendor.core_resource, vendor.priority_resource}) {
    if (const auto value = whole_value(container, resource, kMax); !value) {
      return tl::unexpected(value.error());
    }
  }
  return {};
}

void add_device_limits(const Vendor& vendor, const k8s::Container& container,
                       std::optional<std::int64_t> percent, ContainerMutation& mutation) {
  const bool share_in_limits = in_limits(container, vendor.core_resource) ||
                               in_limits(container, vendor.memory_resource) ||
                               in_limits(container, vendor.memory_percent_resource);
  bool counted = quantity_text(container, vendor.count_resource) != nullptr;
  if (in_limits(container, vendor.count_resource)) {
    mutation.uses_device = true;
  } else if (share_in_limits && vendor.default_count > 0) {
    mutation.set_limits.emplace_back(vendor.count_resource, std::to_string(vendor.default_count));
    mutation.uses_device = true;
    counted = true;
  }
  if (counted && exclusive_by_default(vendor, container, percent)) {
    mutation.set_limits.emplace_back(vendor.core_resource, "100");
    mutation.uses_device = true;
  }
}

Result<ContainerMutation> mutate(const Vendor& vendor, const k8s::Pod& /*pod*/,
                                 const k8s::Container& container) {
  const auto percent = percent_value(container, vendor.memory_percent_resource);
  if (!percent) return tl::unexpected(percent.error());
  if (const Status ok = check_quantities(vendor, container); !ok) {
    return tl::unexpected(ok.error());
  }
  ContainerMutation mutation;
  const bool no_device = count_is_zero(container, vendor);
  if (!no_device && in_limits(container, vendor.priority_resource)) {
    const auto priority =
        whole_value(container, vendor.priority_resource, std::numeric_limits<std::int32_t>::max());
    if (!priority) return tl::unexpected(priority.error());
    mutation.append_env.emplace_back(vendor.priority_env_name, std::to_string(**priority));
  }
  if (!vendor.core_policy_env_value.empty()) {
    mutation.append_env.emplace_back(vendor.core_policy_env_name, vendor.core_policy_env_value);
  }
  if (!no_device) add_device_limits(vendor, container, *percent, mutation);
  if (!mutation.uses_device && vendor.hide_from_others) {
    mutation.append_env.emplace_back(vendor.hide_env_name, vendor.hide_env_value);
  }
  return mutation;
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
  v.mutate = mutate;
  return v;
}

}  // namespace tessera::vendors
