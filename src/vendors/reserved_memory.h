/// Memory of cards that operators keep back for drivers and for users outside our accounts (public
/// case 54). Node annotation, a comma list of `[<device id>=]<MiB>` or `[<device id>=]<n>%`; an
/// entry without id is for every card, one with an id wins. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/device.h"

namespace tessera::vendors {

inline constexpr std::string_view kReservedMemoryKey = "tessera.io/reserved-memory";

/// Takes the reserve off the cards' memory, not below 0. Cards shared by instances are left as they
/// are: their profiles say what is there. The error names the entry; nothing is changed then.
Status reserve_memory(std::string_view text, std::vector<core::Device>& devices);

}  // namespace tessera::vendors
