/// A request made ready for the inner loop: one Demand per ask, in order of position, and what
/// holds for each vendor asked for. Thread rule: plain values; the request must outlive them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/request.h"

namespace tessera::core {

struct Demand {
  std::uint32_t position = 0;
  PositionKind kind = PositionKind::kApp;
  std::uint32_t vendor = 0;  ///< index into DemandList::vendors
  std::int64_t count = 0;
  MiB memory;                 ///< 0: see percent
  std::int64_t percent = 0;   ///< of the card's own memory; 0 = not given
  CorePercent cores;          ///< at most 100
  bool limits_later = false;  ///< another choice of cards here may help a later demand
  /// A later demand asks the same vendor: instances limit it whatever the containers are (N-3).
  bool instances_limit_later = false;
};

struct AskedVendor {
  VendorId id;
  VendorRules rules;
  const Constraints* constraints = nullptr;  ///< null = none
};

struct DemandList {
  DemandList(const Request& request, const VendorTable& rules);
  std::vector<Demand> demands;
  std::vector<AskedVendor> vendors;  ///< in order of first ask
};

/// Memory that the demand takes of this card: MiB as asked, or the share of the card's own memory
/// rounded down.
inline MiB memory_of(const Demand& demand, const Device& device) {
  return demand.percent == 0 ? demand.memory : memory_share(device, demand.percent);
}

/// Cores of a card as the checks see them: the pod's mode of use may count in other units than the
/// card registers.
inline CorePercent core_total(const AskedVendor& vendor, const Device& device) {
  if (vendor.constraints == nullptr || vendor.constraints->core_total == CorePercent{}) {
    return device.cores;
  }
  return vendor.constraints->core_total;
}

}  // namespace tessera::core
