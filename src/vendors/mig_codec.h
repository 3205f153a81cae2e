/// Wire forms around partitioned cards: the profiles of a card inside the register annotation, and
/// the reservations on a pod. Source: spec/devices/nvidia.md sections 14.1, 14.5. Thread rule: pure
/// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/allocation.h"
#include "core/device.h"
#include "json/reader.h"
#include "json/writer.h"

namespace tessera::vendors {

/// Null or missing = none. Null elements, empty names, negative numbers and placements of size 0
/// are errors that name the element (W-6, N-7).
Result<core::MigProfiles> decode_mig_profiles(json::Value list);
/// All keys are written, as agents do.
void encode_mig_profiles(const core::MigProfiles& profiles, json::Writer& w);

struct MigReservationText {
  std::int64_t container = 0;  ///< position, init containers first
  std::int64_t device = 0;     ///< which of the container's cards
  std::string card, profile;
  core::MigPlacement placement;
  std::optional<core::MigInstance> instance;  ///< the agent has made it
  friend bool operator==(const MigReservationText&, const MigReservationText&) = default;
};
/// Empty text and null = none. One bad element spoils the list, in HAMi's words.
Result<std::vector<MigReservationText>> decode_mig_reservations(std::string_view text);
/// Without what only the agent writes.
std::string encode_mig_reservations(const std::vector<MigReservationText>& list);

}  // namespace tessera::vendors
