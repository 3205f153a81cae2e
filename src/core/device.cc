#include "core/device.h"

#include <algorithm>

namespace tessera::core {

Usage larger(const Usage& a, const Usage& b) {
  return {std::max(a.slots, b.slots), std::max(a.memory, b.memory), std::max(a.cores, b.cores)};
}

bool within(const Device& device, const Usage& used) {
  return used.slots <= device.slots && used.memory <= device.memory && used.cores <= device.cores;
}

std::size_t find_device(const std::vector<Device>& devices, VendorId vendor, std::string_view id) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].vendor == vendor && devices[i].id == id) return i;
  }
  return devices.size();
}

}  // namespace tessera::core
