/// Reserved instances as agents read and complete them: the pod annotation of
/// spec/devices/nvidia.md section 14.5. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/device.h"

namespace tessera::sim {

struct MigRecord {
  std::int64_t container = 0, device = 0;
  std::string card, profile;
  core::MigPlacement placement;
  bool realised = false;  ///< all three runtime ids are there
  /// What may never change after bind.
  bool same_instance(const MigRecord& o) const {
    return container == o.container && device == o.device && card == o.card &&
           profile == o.profile && placement == o.placement;
  }
};

/// "" = none. Strict: a missing or partial member is an error.
Result<std::vector<MigRecord>> read_mig_records(std::string_view text);

/// What the agent writes once the instances exist: the same records with runtime ids.
std::string realise_mig(std::string_view text);

}  // namespace tessera::sim
