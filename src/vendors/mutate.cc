#include "vendors/mutate.h"

#include <limits>
#include <optional>

#include "vendors/ask.h"

namespace tessera::vendors {
namespace {

/// Every number must be usable before anything is changed: a bad one must not turn into "no limit"
/// (D7).
Status check_quantities(const Vendor& vendor, const k8s::Container& container) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (const auto memory = memory_value(container, vendor); !memory) {
    return tl::unexpected(memory.error());
  }
  for (const std::string* resource :
       {&vendor.count_resource, &vendor.core_resource, &vendor.priority_resource}) {
    if (const auto value = whole_value(container, *resource, kMax); !value) {
      return tl::unexpected(value.error());
    }
  }
  return {};
}

void add_priority(const Vendor& vendor, const k8s::Container& container,
                  ContainerMutation& mutation) {
  if (vendor.priority_env_name.empty() || !in_limits(container, vendor.priority_resource)) return;
  const auto priority =
      whole_value(container, vendor.priority_resource, std::numeric_limits<std::int32_t>::max());
  if (priority && *priority) {
    mutation.append_env.emplace_back(vendor.priority_env_name, std::to_string(**priority));
  }
}

void add_count(const Vendor& vendor, const k8s::Container& container, ContainerMutation& mutation) {
  if (in_limits(container, vendor.count_resource)) {
    mutation.uses_device = true;
    return;
  }
  const bool share_in_limits = in_limits(container, vendor.core_resource) ||
                               in_limits(container, vendor.memory_resource) ||
                               in_limits(container, vendor.memory_percent_resource);
  if (!share_in_limits || vendor.default_count <= 0) return;
  mutation.set_limits.emplace_back(vendor.count_resource, std::to_string(vendor.default_count));
  mutation.uses_device = true;
}

}  // namespace

Result<ContainerMutation> mutate_container(const Vendor& vendor, const k8s::Container& container) {
  if (const auto percent = percent_value(container, vendor.memory_percent_resource); !percent) {
    return tl::unexpected(percent.error());
  }
  if (const Status ok = check_quantities(vendor, container); !ok) {
    return tl::unexpected(ok.error());
  }
  ContainerMutation mutation;
  const bool no_device = count_is_zero(container, vendor);
  if (!no_device) add_priority(vendor, container, mutation);
  if (!vendor.core_policy_env_value.empty()) {
    mutation.append_env.emplace_back(vendor.core_policy_env_name, vendor.core_policy_env_value);
  }
  if (!no_device) add_count(vendor, container, mutation);
  return mutation;
}

void hide_devices(const Vendor& vendor, ContainerMutation& mutation) {
  if (mutation.uses_device || !vendor.hide_from_others) return;
  mutation.append_env.emplace_back(vendor.hide_env_name, vendor.hide_env_value);
}

}  // namespace tessera::vendors
