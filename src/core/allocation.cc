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
Usage collapse(const Allocation& allocation, const std::vector<const Grant*>& grants,
               std::size_t begin, std::size_t end) {
  Usage sidecars, apps, peak, current;
  std::uint32_t current_position = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Grant& grant = *grants[i];
    const Usage slice{1, grant.memory, grant.cores};
    const PositionKind kind = kind_of(allocation, grant);
    if (kind == PositionKind::kSidecar) {
      sidecars += slice;
    } else if (kind == PositionKind::kApp) {
      apps += slice;
    } else if (!allocation.init_finished) {
      if (grant.position != current_position) current = {};
      current_position = grant.position;
      current += slice;
      peak = larger(peak, current);
    }
  }
  sidecars += larger(peak, apps);
  return sidecars;
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
    const Usage usage = collapse(allocation, grants, begin, end);
    // A card that only finished init containers had is free again.
    if (usage != Usage{}) charges.push_back({grants[begin]->vendor, grants[begin]->device, usage});
    begin = end;
  }
  return charges;
}

}  // namespace tessera::core
