#include "core/mig.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace tessera::core {
namespace {

constexpr std::int64_t kWhole = 100;

/// Profiles by memory, then slices, equal ones in the card's order.
std::vector<std::uint32_t> by_size(const MigProfiles& profiles) {
  std::vector<std::uint32_t> order(profiles.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(profiles[a].memory, profiles[a].slices) <
           std::tie(profiles[b].memory, profiles[b].slices);
  });
  return order;
}

/// Where a profile of this name may lie, in the fixed order: two names are packed from the high
/// end, the others from the low one.
std::vector<MigPlacement> places_in_order(const MigProfiles& profiles, std::string_view name) {
  const auto first = std::find_if(profiles.begin(), profiles.end(),
                                  [&](const MigProfile& p) { return p.name == name; });
  std::vector<MigPlacement> places = first->placements;
  const bool from_high_end = name.starts_with("1g.") || name.starts_with("3g.");
  std::stable_sort(places.begin(), places.end(), [&](const MigPlacement& a, const MigPlacement& b) {
    return from_high_end ? a.start > b.start : a.start < b.start;
  });
  return places;
}

bool is_free(const MigPlacement& place, std::span<const MigPlacement> occupied) {
  return place.size > 0 && std::none_of(occupied.begin(), occupied.end(),
                                        [&](const MigPlacement& o) { return o.overlaps(place); });
}

std::optional<MigChoice> choose_as_hami(const Device& card, const Demand& demand,
                                        std::span<const MigPlacement> occupied) {
  const MiB wanted = memory_of(demand, card);
  for (const std::uint32_t profile : by_size(*card.mig)) {
    if ((*card.mig)[profile].memory < wanted) continue;
    for (const MigPlacement& place : places_in_order(*card.mig, (*card.mig)[profile].name)) {
      if (is_free(place, occupied)) return MigChoice{profile, place};
    }
  }
  return std::nullopt;
}

std::uint32_t slices_of(const MigProfile& profile) {
  std::uint32_t slices = 0;
  for (const MigPlacement& place : profile.placements) slices = std::max(slices, place.size);
  return slices;
}

/// a / b >= percent / 100, without an overflow.
bool has_share(std::int64_t a, std::int64_t b, std::int64_t percent) {
  __extension__ using Wide = __int128;
  return static_cast<Wide>(a) * kWhole >= static_cast<Wide>(b) * percent;
}

/// Shares are measured against the largest profile, so that it always satisfies 100 %; memory in
/// slices, since a profile with half of them registers a little less than half of the MiB (N-2).
class Wanted {
 public:
  Wanted(const Device& card, const Demand& demand)
      : demand_(demand), whole_(demand.memory == MiB{} && demand.percent > 0) {
    for (const MigProfile& profile : *card.mig) {
      most_slices_ = std::max(most_slices_, slices_of(profile));
      most_cores_ = std::max(most_cores_, profile.cores);
    }
  }
  bool met_by(const MigProfile& profile) const {
    if (!whole_) return profile.memory >= demand_.memory;
    if (!has_share(slices_of(profile), most_slices_, demand_.percent)) return false;
    return demand_.cores == CorePercent{} ||
           has_share(profile.cores.v, most_cores_.v, demand_.cores.v);
  }

 private:
  const Demand& demand_;
  bool whole_;
  std::uint32_t most_slices_ = 0;
  CorePercent most_cores_;
};

/// What is left for later pods; larger is better.
struct Remaining {
  MiB memory;  ///< of the largest profile that still has a place
  std::int64_t slices = -1;
  std::int64_t places = 0;
  friend auto operator<=>(const Remaining&, const Remaining&) = default;
};

Remaining remaining(const MigProfiles& profiles, std::span<const MigPlacement> occupied,
                    const MigPlacement& taken) {
  Remaining left;
  for (const MigProfile& profile : profiles) {
    const auto free = std::count_if(profile.placements.begin(), profile.placements.end(),
                                    [&](const MigPlacement& place) {
                                      return is_free(place, occupied) && !place.overlaps(taken);
                                    });
    if (free == 0) continue;
    left.places += free;
    std::tie(left.memory, left.slices) =
        std::max(std::pair(left.memory, left.slices), std::pair(profile.memory, profile.slices));
  }
  return left;
}

std::optional<MigChoice> choose_corrected(const Device& card, const Demand& demand,
                                          std::span<const MigPlacement> occupied) {
  const MigProfiles& profiles = *card.mig;
  const Wanted wanted(card, demand);
  std::optional<MigChoice> best;
  Remaining best_left;
  for (const std::uint32_t profile : by_size(profiles)) {
    if (best && std::tie(profiles[best->profile].memory, profiles[best->profile].slices) !=
                    std::tie(profiles[profile].memory, profiles[profile].slices)) {
      break;
    }
    if (!wanted.met_by(profiles[profile])) continue;
    for (const MigPlacement& place : places_in_order(profiles, profiles[profile].name)) {
      if (!is_free(place, occupied)) continue;
      const Remaining left = remaining(profiles, occupied, place);
      if (best && !(left > best_left)) continue;
      best = MigChoice{profile, place};
      best_left = left;
    }
  }
  return best;
}

}  // namespace

std::optional<MigChoice> choose_mig(const Device& card, const Demand& demand,
                                    std::span<const MigPlacement> occupied, ScoreMode mode) {
  if (!card.partitioned()) return std::nullopt;
  return mode == ScoreMode::kHami ? choose_as_hami(card, demand, occupied)
                                  : choose_corrected(card, demand, occupied);
}

}  // namespace tessera::core
