#include "core/allocation.h"

#include <algorithm>
#include <compare>
#include <string_view>
#include <tuple>

namespace tessera::core {
namespace {

PositionKind kind_of(const Allocation& allocation, const Grant& grant) {
  if (grant.position >= allocation.kinds.size()) return PositionKind::kApp;
  return allocation.kinds[grant.position];
}

auto device_key(const Grant& grant) {
  return std::tuple<VendorId, std::string_view>(grant.vendor, grant.device);
}

/// Grants of one device, by position.
Charge collapse(const Allocation& allocation, const std::vector<const Grant*>& grants,
                std::size_t begin, std::size_t end) {
  Charge charge{grants[begin]->vendor, grants[begin]->device, {}, {}, 0};
  Usage lasting, apps, peak, current;
  std::uint32_t current_position = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Grant& grant = *grants[i];
    const Usage slice{1, grant.memory, grant.cores, grant.mig ? grant.mig->placement.size : 0};
    const PositionKind kind = kind_of(allocation, grant);
    if (grant.mig) {
      charge.instances.push_back(grant.mig->placement);
      lasting += slice;
      continue;
    }
    if (kind == PositionKind::kInit && allocation.init_finished) continue;
    ++charge.plain;
    if (kind == PositionKind::kSidecar) {
      lasting += slice;
    } else if (kind == PositionKind::kApp) {
      apps += slice;
    } else {
      if (grant.position != current_position) current = {};
      current_position = grant.position;
      current += slice;
      peak = larger(peak, current);
    }
  }
  lasting += larger(peak, apps);
  charge.usage = lasting;
  return charge;
}

/// The place of the device among the charges, made when it has none yet.
Charge& charge_of(std::vector<Charge>& charges, VendorId vendor, const std::string& device) {
  const auto before = [](const Charge& a, const auto& key) {
    return std::tuple<VendorId, std::string_view>(a.vendor, a.device) < key;
  };
  const std::tuple<VendorId, std::string_view> key(vendor, device);
  const auto at = std::lower_bound(charges.begin(), charges.end(), key, before);
  if (at != charges.end() && at->vendor == vendor && at->device == device) return *at;
  return *charges.insert(at, Charge{vendor, device, {}, {}, 0});
}

}  // namespace

std::vector<Charge> effective_charges(const Allocation& allocation) {
  std::vector<const Grant*> grants;
  grants.reserve(allocation.grants.size());
  for (const Grant& grant : allocation.grants) grants.push_back(&grant);
  std::stable_sort(grants.begin(), grants.end(), [](const Grant* a, const Grant* b) {
    return std::tuple_cat(device_key(*a), std::tuple(a->position)) <
           std::tuple_cat(device_key(*b), std::tuple(b->position));
  });
  std::vector<Charge> charges;
  for (std::size_t begin = 0; begin < grants.size();) {
    std::size_t end = begin;
    while (end < grants.size() && device_key(*grants[end]) == device_key(*grants[begin])) ++end;
    Charge charge = collapse(allocation, grants, begin, end);
    // A card that only finished init containers had is free again.
    if (charge.usage != Usage{}) charges.push_back(std::move(charge));
    begin = end;
  }
  for (const MigReservation& stray : allocation.stray_mig) {
    charge_of(charges, stray.vendor, stray.device).instances.push_back(stray.placement);
  }
  for (Charge& charge : charges) std::sort(charge.instances.begin(), charge.instances.end());
  return charges;
}

}  // namespace tessera::core
