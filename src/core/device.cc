#include "core/device.h"

#include <algorithm>

namespace tessera::core {

Usage larger(const Usage& a, const Usage& b) {
  return {std::max(a.slots, b.slots), std::max(a.memory, b.memory), std::max(a.cores, b.cores),
          std::max(a.slices, b.slices)};
}

bool same_make(const Device& a, const Device& b) {
  const bool same_profiles =
      a.mig == b.mig || (a.mig != nullptr && b.mig != nullptr && *a.mig == *b.mig);
  return same_profiles && a.slots == b.slots && a.memory == b.memory && a.cores == b.cores &&
         a.numa == b.numa && a.healthy == b.healthy && a.vendor == b.vendor && a.model == b.model &&
         a.mode == b.mode;
}

bool operator==(const Device& a, const Device& b) {
  return a.id == b.id && a.index == b.index && a.group == b.group && same_make(a, b);
}

std::int64_t mig_slices(const Device& device) {
  std::uint64_t reach = 0;
  if (!device.partitioned()) return 0;
  for (const MigProfile& profile : *device.mig) {
    for (const MigPlacement& placement : profile.placements) {
      reach = std::max(reach, placement.end());
    }
  }
  return static_cast<std::int64_t>(reach);
}

bool legal_placement(const Device& device, std::string_view profile,
                     const MigPlacement& placement) {
  if (!device.partitioned() || placement.size == 0) return false;
  for (const MigProfile& offered : *device.mig) {
    if (!profile.empty() && offered.name != profile) continue;
    const auto& places = offered.placements;
    if (std::find(places.begin(), places.end(), placement) != places.end()) return true;
  }
  return false;
}

bool within(const Device& device, const Usage& used, const VendorRules& rules) {
  if (rules.slots_count && used.slots > device.slots) return false;
  if (device.partitioned()) return true;
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
