/// The NVIDIA row of the vendor table. Source: spec/devices/nvidia.md sections 1, 2, 7.
#pragma once

#include "vendors/config.h"
#include "vendors/vendor.h"

namespace tessera::vendors {

Vendor nvidia_vendor(const NvidiaConfig& config);

}  // namespace tessera::vendors
