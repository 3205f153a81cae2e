/// One accessor per policy file; registry.cc alone lists them.
#pragma once

#include "core/policy.h"

namespace tessera::policies {

const core::NodePolicy& node_binpack();
const core::NodePolicy& node_spread();
const core::NodePolicy& label_priority();
const core::DevicePolicy& device_binpack();
const core::DevicePolicy& device_spread();
const core::DevicePolicy& device_mutex();
const core::DevicePolicy& device_numa();
const core::DevicePolicy& device_topology();

}  // namespace tessera::policies
