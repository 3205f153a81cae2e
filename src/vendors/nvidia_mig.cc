// What a decision on partitioned cards adds to the pod, and back. Source: spec/devices/nvidia.md
// sections 13, 14.4 to 14.6.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "vendors/mig_codec.h"
#include "vendors/nvidia.h"

namespace tessera::vendors {
namespace {

/// Which of its container's cards each grant of the vendor is, in the order of the grants.
struct Numbered {
  std::size_t grant = 0;
  std::int64_t device = 0;
};

std::vector<Numbered> numbered_grants(const core::Allocation& allocation, VendorId id) {
  std::vector<Numbered> out;
  std::map<std::uint32_t, std::int64_t> next;  // by position
  for (std::size_t i = 0; i < allocation.grants.size(); ++i) {
    const core::Grant& grant = allocation.grants[i];
    if (grant.vendor == id) out.push_back({i, next[grant.position]++});
  }
  return out;
}

using Reservations = std::vector<MigReservationText>;

/// Hands each reservation to the first grant that `fits(reservation, grant, number)`.
template <class Fits>
void hand_out(Reservations& left, const std::vector<Numbered>& numbered,
              core::Allocation& allocation, Fits&& fits) {
  std::erase_if(left, [&](const MigReservationText& r) {
    const auto at = std::find_if(numbered.begin(), numbered.end(), [&](const Numbered& n) {
      const core::Grant& grant = allocation.grants[n.grant];
      return !grant.mig && grant.device == r.card && fits(r, grant, n);
    });
    if (at == numbered.end()) return false;
    allocation.grants[at->grant].mig = core::MigSlice{r.profile, r.placement, r.instance};
    return true;
  });
}

}  // namespace

void write_mig_reservations(const Vendor& /*vendor*/, VendorId id,
                            const core::Allocation& allocation, WallTime /*now*/,
                            k8s::StringMap& out) {
  Reservations list;
  for (const Numbered& n : numbered_grants(allocation, id)) {
    const core::Grant& grant = allocation.grants[n.grant];
    if (!grant.mig || grant.mig->profile.empty() || grant.mig->placement.size == 0) continue;
    list.push_back(
        {grant.position, n.device, grant.device, grant.mig->profile, grant.mig->placement, {}});
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::pair(a.container, a.device) < std::pair(b.container, b.device);
  });
  if (!list.empty()) out.emplace_back(kMigReservationKey, encode_mig_reservations(list));
}

Status read_mig_reservations(const Vendor& /*vendor*/, VendorId id, const k8s::Pod& pod,
                             core::Allocation& allocation) {
  const std::string* text = k8s::find(pod.annotations, kMigReservationKey);
  if (text == nullptr) return {};
  auto list = decode_mig_reservations(*text);
  if (!list) {
    return fail(list.error().code, fmt::format("{}: {}", kMigReservationKey, list.error().what));
  }
  const auto numbered = numbered_grants(allocation, id);
  hand_out(*list, numbered, allocation,
           [](const MigReservationText& r, const core::Grant& grant, const Numbered& n) {
             return grant.position == r.container && n.device == r.device;
           });
  // A scheduler that loses positions counts containers in its own way (S-1): the card decides then.
  hand_out(*list, numbered, allocation, [](const auto&, const auto&, const auto&) { return true; });
  for (const MigReservationText& r : *list) {
    allocation.stray_mig.push_back({id, r.card, r.placement});
  }
  return {};
}

}  // namespace tessera::vendors
