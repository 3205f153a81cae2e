/// What the webhook does to a container for a vendor that needs nothing of its own. Source:
/// spec/device-model.md section 2, devices/nvidia.md section 7 without its exclusive default.
/// Thread rule: pure functions.
#pragma once

#include "base/result.h"
#include "k8s/objects.h"
#include "vendors/vendor.h"

namespace tessera::vendors {

/// Checks every quantity, adds the default count and the environment of the row. A bad number is an
/// error: it must not turn into "no limit" (D7).
Result<ContainerMutation> mutate_container(const Vendor& vendor, const k8s::Container& container);
/// Environment for containers that use no device; call once uses_device is known.
void hide_devices(const Vendor& vendor, ContainerMutation& mutation);

}  // namespace tessera::vendors
