#include "core/device.h"

#include <algorithm>

namespace tessera::core {

Usage larger(const Usage& a, const Usage& b) {
  return {std::max(a.slots, b.slots), std::max(a.memory, b.memory), std::max(a.cores, b.cores)};
}

bool operator==(const Device& a, const Device& b) {
  const bool same_profiles =
      a.mig == b.mig || (a.mig != nullptr && b.mig != nullptr && *a.mig == *b.mig);
  return same_profiles && a.id == b.id && a.index == b.index && a.slots == b.slots &&
         a.memory == b.memory && a.cores == b.cores && a.model == b.model && a.numa == b.numa &&
         a.mode == b.mode && a.healthy == b.healthy && a.vendor == b.vendor && a.group == b.group;
}

bool within(const Device& device, const Usage& used, const VendorRules& rules) {
  if (rules.slots_count && used.slots > device.slots) return false;
  if (used.memory > device.memory) return false;
  return !rules.cores_count || used.cores <= std::max(device.cores, rules.least_core_capacity);
}

std::size_t find_device(const std::vector<Device>& devices, VendorId vendor, std::string_view id) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].vendor == vendor && devices[i].id == id) return i;
  }
  return devices.size();
}

}  // namespace tessera::core
