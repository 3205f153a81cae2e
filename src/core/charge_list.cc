#include "core/charge_list.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>

namespace tessera::core {
namespace {

using DeviceKey = std::tuple<VendorId, std::string_view>;

PositionKind kind_of(const Allocation& allocation, const Grant& grant) {
  if (grant.position >= allocation.kinds.size()) return PositionKind::kApp;
  return allocation.kinds[grant.position];
}

DeviceKey device_key(const Grant& grant) { return {grant.vendor, grant.device}; }
DeviceKey device_key(const Charge& charge) { return {charge.vendor, charge.device}; }

/// By device, then position. Both are of one list: where all else is equal its order stays.
bool grant_before(const Grant* a, const Grant* b) {
  const DeviceKey left = device_key(*a), right = device_key(*b);
  if (left != right) return left < right;
  if (a->position != b->position) return a->position < b->position;
  return std::less<>()(a, b);
}

}  // namespace

Charge& ChargeList::append(VendorId vendor, const std::string& device) {
  if (count_ == charges_.size()) charges_.emplace_back();
  Charge& charge = charges_[count_++];
  charge.vendor = vendor;
  charge.device = device;
  charge.usage = {};
  charge.instances.clear();
  charge.plain = 0;
  return charge;
}

void ChargeList::append_sum(const Allocation& allocation, std::span<const Grant* const> grants) {
  Charge& charge = append(grants.front()->vendor, grants.front()->device);
  Usage lasting, apps, peak, current;
  std::uint32_t current_position = 0;
  for (const Grant* grant : grants) {
    const Usage slice{1, grant->memory, grant->cores, grant->mig ? grant->mig->placement.size : 0};
    const PositionKind kind = kind_of(allocation, *grant);
    if (grant->mig) {
      charge.instances.push_back(grant->mig->placement);
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
      if (grant->position != current_position) current = {};
      current_position = grant->position;
      current += slice;
      peak = larger(peak, current);
    }
  }
  lasting += larger(peak, apps);
  charge.usage = lasting;
  // A card that only finished init containers had is free again.
  if (charge.usage == Usage{}) --count_;
}

void ChargeList::add_stray(const MigReservation& stray) {
  const DeviceKey key(stray.vendor, stray.device);
  const auto end = charges_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto at = std::lower_bound(
      charges_.begin(), end, key,
      [](const Charge& charge, const DeviceKey& k) { return device_key(charge) < k; });
  if (at != end && device_key(*at) == key) return at->instances.push_back(stray.placement);
  const auto place = at - charges_.begin();
  append(stray.vendor, stray.device).instances.push_back(stray.placement);
  const auto last = charges_.begin() + static_cast<std::ptrdiff_t>(count_);
  std::rotate(charges_.begin() + place, last - 1, last);
}

std::span<const Charge> ChargeList::of(const Allocation& allocation) {
  count_ = 0;
  grants_.clear();
  for (const Grant& grant : allocation.grants) grants_.push_back(&grant);
  std::sort(grants_.begin(), grants_.end(), grant_before);
  const std::span<const Grant* const> grants(grants_);
  for (std::size_t begin = 0, end = 0; begin < grants.size(); begin = end) {
    while (end < grants.size() && device_key(*grants[end]) == device_key(*grants[begin])) ++end;
    append_sum(allocation, grants.subspan(begin, end - begin));
  }
  for (const MigReservation& stray : allocation.stray_mig) add_stray(stray);
  const std::span<Charge> charges(charges_.data(), count_);
  for (Charge& charge : charges) std::sort(charge.instances.begin(), charge.instances.end());
  return charges;
}

std::vector<Charge> effective_charges(const Allocation& allocation) {
  ChargeList list;
  const std::span<const Charge> charges = list.of(allocation);
  return {charges.begin(), charges.end()};
}

}  // namespace tessera::core
