#include "vendors/ascend_topology.h"

#include <algorithm>
#include <iterator>

namespace tessera::vendors {
namespace {

using core::Device;
using core::ScoreMode;

/// What is taken whole: a card, or the two chips of a module.
using Unit = std::vector<std::uint32_t>;
struct Group {
  std::int64_t id = Device::kNoGroup;
  std::vector<const Unit*> units;
  bool mixed = false;  ///< a unit whose own chips are of different groups
};

bool is_mixed(const std::vector<Device>& devices, const Unit& unit) {
  return std::any_of(unit.begin(), unit.end(), [&](std::uint32_t card) {
    return devices[card].group != devices[unit.front()].group;
  });
}

std::vector<Group> groups_of(const std::vector<Device>& devices, const std::vector<Unit>& units) {
  std::vector<Group> groups;
  for (const Unit& unit : units) {
    const bool mixed = is_mixed(devices, unit);
    const std::int64_t id = mixed ? Device::kNoGroup : devices[unit.front()].group;
    const auto known = id == Device::kNoGroup
                           ? groups.end()
                           : std::find_if(groups.begin(), groups.end(),
                                          [id](const Group& g) { return g.id == id; });
    if (known != groups.end()) {
      known->units.push_back(&unit);
    } else {
      groups.push_back({id, {&unit}, mixed});
    }
  }
  return groups;
}

/// The smallest group that holds `count` units, rather not a mixed unit; without one, the largest.
bool suits_better(const Group& a, const Group& b, std::size_t count) {
  const bool a_holds = a.units.size() >= count, b_holds = b.units.size() >= count;
  if (a_holds != b_holds) return a_holds;
  if (!a_holds && a.units.size() != b.units.size()) return a.units.size() > b.units.size();
  if (a.mixed != b.mixed) return b.mixed;
  return a.units.size() < b.units.size();
}

std::vector<Group>::iterator best_group(std::vector<Group>& groups, std::size_t count) {
  auto best = groups.begin();
  for (auto at = std::next(groups.begin()); at != groups.end(); ++at) {
    if (suits_better(*at, *best, count)) best = at;
  }
  return best;
}

/// Fewer units only when there are not `count` of them.
std::vector<std::uint32_t> take_units(const std::vector<Device>& devices,
                                      const std::vector<Unit>& units, std::size_t count,
                                      ScoreMode mode) {
  std::vector<Group> groups = groups_of(devices, units);
  std::vector<std::uint32_t> taken;
  std::size_t missing = count;
  while (missing > 0 && !groups.empty()) {
    // Asking for more than any group holds makes the largest the best one.
    const auto group = best_group(groups, mode == ScoreMode::kHami ? units.size() + 1 : missing);
    const std::size_t some = std::min(missing, group->units.size());
    for (std::size_t i = 0; i < some; ++i) {
      taken.insert(taken.end(), group->units[i]->begin(), group->units[i]->end());
    }
    missing -= some;
    groups.erase(group);
  }
  return taken;
}

struct Modules {
  std::vector<Unit> whole;   ///< in order of their first chip
  std::vector<Unit> broken;  ///< one chip, or more than two claim the module
};

Modules modules_of(const std::vector<Device>& devices, std::span<const std::uint32_t> fitting) {
  std::vector<std::pair<std::uint32_t, Unit>> by_number;
  for (const std::uint32_t card : fitting) {
    const std::uint32_t number = devices[card].index / 2;
    const auto known = std::find_if(by_number.begin(), by_number.end(),
                                    [number](const auto& m) { return m.first == number; });
    if (known != by_number.end()) {
      known->second.push_back(card);
    } else {
      by_number.push_back({number, {card}});
    }
  }
  Modules modules;
  for (auto& [number, chips] : by_number) {
    (chips.size() == 2 ? modules.whole : modules.broken).push_back(std::move(chips));
  }
  return modules;
}

}  // namespace

std::vector<std::uint32_t> choose_by_group(const std::vector<Device>& devices,
                                           std::span<const std::uint32_t> fitting,
                                           std::size_t count, ScoreMode mode) {
  std::vector<Unit> units;
  units.reserve(fitting.size());
  for (const std::uint32_t card : fitting) units.push_back({card});
  return take_units(devices, units, count, mode);
}

std::optional<std::vector<std::uint32_t>> choose_by_module(const std::vector<Device>& devices,
                                                           std::span<const std::uint32_t> fitting,
                                                           std::size_t count, ScoreMode mode) {
  Modules modules = modules_of(devices, fitting);
  std::optional<std::uint32_t> single;
  std::vector<std::uint32_t> taken;
  if (mode == ScoreMode::kHami) {
    for (std::size_t i = 0; i < std::min(count / 2, modules.whole.size()); ++i) {
      taken.insert(taken.end(), modules.whole[i].begin(), modules.whole[i].end());
    }
  } else {
    taken = take_units(devices, modules.whole, count / 2, mode);
  }
  if (taken.size() != count / 2 * 2) return std::nullopt;
  if (count % 2 == 0) return taken;
  if (!modules.broken.empty()) {
    single = modules.broken.front().front();
  } else {
    const auto left = std::find_if(fitting.begin(), fitting.end(), [&](std::uint32_t card) {
      return std::find(taken.begin(), taken.end(), card) == taken.end();
    });
    if (left != fitting.end()) single = *left;
  }
  if (!single) return std::nullopt;
  taken.push_back(*single);
  return taken;
}

std::uint32_t whole_module_chips(const std::vector<Device>& devices,
                                 std::span<const std::uint32_t> fitting, std::size_t count) {
  const std::size_t wanted = (count + 1) / 2;
  return static_cast<std::uint32_t>(2 *
                                    std::min(wanted, modules_of(devices, fitting).whole.size()));
}

GroupShare group_share(const std::vector<Device>& devices, std::span<const std::uint32_t> cards) {
  GroupShare share;
  share.all = static_cast<std::int64_t>(cards.size());
  std::vector<std::int64_t> ids;
  for (const std::uint32_t card : cards) {
    ids.push_back(devices[card].group);
    share.every_card_grouped = share.every_card_grouped && ids.back() != Device::kNoGroup;
  }
  for (const std::int64_t id : ids) {
    const std::int64_t size = id == Device::kNoGroup ? 1 : std::count(ids.begin(), ids.end(), id);
    share.largest = std::max(share.largest, size);
  }
  return share;
}

}  // namespace tessera::vendors
