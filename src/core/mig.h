/// Instances on partitioned cards: which profile, at which start. Source: device page with MIG,
/// section 14.3, decisions D4. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/allocation.h"
#include "core/demand.h"
#include "core/device.h"
#include "core/policy.h"

namespace tessera::core {

struct MigChoice {
  std::uint32_t profile = 0;  ///< index into the card's profiles
  MigPlacement placement;
};

/// Corrected: the smallest profile that holds the demand (a percentage is a share of memory and
/// cores, N-2) at the start that leaves the largest profile, then the most placements free; ties as
/// HAMi. HAMi: profiles by memory and slices, starts by its fixed direction. nullopt = no room.
/// `occupied` is sorted.
std::optional<MigChoice> choose_mig(const Device& card, const Demand& demand,
                                    std::span<const MigPlacement> occupied, ScoreMode mode);

}  // namespace tessera::core
