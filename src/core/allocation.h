/// Which slices of which devices a pod holds, and what that costs each device.
/// Source: spec/device-model.md sections 6 and 9 with weak point W-4 (sidecars + max(init peak, sum
/// of apps)) and W-5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/boxed.h"
#include "base/units.h"
#include "core/device.h"
#include "core/quota_types.h"
#include "core/request.h"

namespace tessera::core {

/// What the node's agent calls an instance once it has made it.
struct MigInstance {
  std::string uuid, gpu_instance, compute_instance;
  friend bool operator==(const MigInstance&, const MigInstance&) = default;
};

/// An instance on a partitioned card.
struct MigSlice {
  std::string profile;
  MigPlacement placement;
  std::optional<MigInstance> instance;  ///< nullopt until it exists; only told, never decided on
  friend bool operator==(const MigSlice&, const MigSlice&) = default;
};

/// One card given to one container.
struct Grant {
  std::uint32_t position = 0;
  VendorId vendor;
  std::string device;
  MiB memory;
  CorePercent cores;
  Boxed<MigSlice> mig;       ///< most have none; memory and cores are the profile's then
  std::uint64_t traits = 0;  ///< the pod's bits for the vendor (Constraints::traits)
  friend bool operator==(const Grant&, const Grant&) = default;
};

/// An instance that the pod's reservation names without a grant beside it.
struct MigReservation {
  VendorId vendor;
  std::string device;
  MigPlacement placement;
  friend bool operator==(const MigReservation&, const MigReservation&) = default;
};

struct Allocation {
  std::string node;
  std::vector<PositionKind> kinds;  ///< one per position
  std::vector<Grant> grants;        ///< by position, within a position in the order of choice
  bool init_finished = false;  ///< all init containers (not sidecars) have ended well: their share
                               ///< is no longer counted
  std::vector<MigReservation> stray_mig;  ///< kept occupied all the same
  QuotaSubject subject;                   ///< whose quotas pay
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

/// What a pod costs one device.
struct Charge {
  VendorId vendor;
  std::string device;
  Usage usage;
  std::vector<MigPlacement> instances;  ///< sorted, those of stray_mig among them
  std::uint32_t plain = 0;              ///< grants counted in usage that have no instance
  friend bool operator==(const Charge&, const Charge&) = default;
};

/// Per device, sorted by vendor then device id. A position outside kinds counts as app. Instances
/// stay for the pod's life (N-3): their grants add up whatever the container is, and finished init
/// containers keep them.
std::vector<Charge> effective_charges(const Allocation& allocation);

}  // namespace tessera::core
