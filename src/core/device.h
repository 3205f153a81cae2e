/// What a node offers and what is taken of it. Source: spec/device-model.md section 3.
/// Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tessera::core {

/// One physical card as its agent registered it; scaling is already applied.
struct Device {
  std::string id;
  std::uint32_t index = 0;
  std::int64_t slots = 0;  ///< how many containers may share it
  MiB memory;
  CorePercent cores;
  std::string model;
  std::int64_t numa = 0;
  std::string mode;
  bool healthy = false;
  VendorId vendor;
  friend bool operator==(const Device&, const Device&) = default;
};

/// Taken of one device.
struct Usage {
  std::int64_t slots = 0;
  MiB memory;
  CorePercent cores;
  friend bool operator==(const Usage&, const Usage&) = default;
  Usage& operator+=(const Usage& o) {
    slots += o.slots;
    memory += o.memory;
    cores += o.cores;
    return *this;
  }
  Usage& operator-=(const Usage& o) {
    slots -= o.slots;
    memory -= o.memory;
    cores -= o.cores;
    return *this;
  }
};

/// Element-wise maximum: slots, memory and cores may come from different containers.
Usage larger(const Usage& a, const Usage& b);
/// True when used fits into the device's slots, memory and cores.
bool within(const Device& device, const Usage& used);
/// Index of the device in the list, or devices.size().
std::size_t find_device(const std::vector<Device>& devices, VendorId vendor, std::string_view id);

/// Which shared checks of fit apply to a vendor's devices. A row per vendor, indexed by VendorId;
/// no names here.
struct VendorRules {
  bool whole_card_is_exclusive = true;  ///< 100 of 100 cores needs an unused card (fit rule 13)
  bool full_cores_close_card =
      true;  ///< a card with no cores left takes nobody, not even 0 cores (fit rule 14)
};
using VendorTable = std::vector<VendorRules>;

}  // namespace tessera::core
