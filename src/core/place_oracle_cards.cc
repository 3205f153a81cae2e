#include "core/place_oracle_cards.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/vendor_hooks.h"

namespace tessera::core::oracle {
namespace {

__extension__ using Wide = __int128;

Usage most(const Usage& a, const Usage& b) {
  Usage m = a;
  if (b.slots > m.slots) m.slots = b.slots;
  if (b.memory > m.memory) m.memory = b.memory;
  if (b.cores > m.cores) m.cores = b.cores;
  if (b.slices > m.slices) m.slices = b.slices;
  return m;
}

std::int64_t memory(const Want& want, const Device& device) {
  if (want.ask.memory.v > 0) return want.ask.memory.v;
  const std::int64_t percent = want.ask.memory_percent;
  if (percent < 1 || percent > 100) return 0;
  return static_cast<std::int64_t>(static_cast<Wide>(device.memory.v) * percent / 100);
}

std::int64_t cores(const Want& want) {
  if (want.ask.cores.v > 100) return 100;
  return want.ask.cores.v < 0 ? 0 : want.ask.cores.v;
}

PositionKind kind_in(const Allocation& allocation, std::uint32_t position) {
  return position < allocation.kinds.size() ? allocation.kinds[position] : PositionKind::kApp;
}

bool gone(const Allocation& allocation, const Grant& grant) {
  return !grant.mig && allocation.init_finished &&
         kind_in(allocation, grant.position) == PositionKind::kInit;
}

std::int64_t amount(const Grant& grant, QuotaKind kind) {
  if (kind == QuotaKind::kCount) return 1;
  return kind == QuotaKind::kMemory ? grant.memory.v : grant.cores.v;
}

/// What a pod pays: over all cards of the vendor together.
std::int64_t price(const std::vector<Chosen>& list, VendorId vendor, QuotaKind kind) {
  std::int64_t lasting = 0, apps = 0, peak = 0;
  std::map<std::uint32_t, std::int64_t> inits;
  for (const Chosen& c : list) {
    if (c.grant.vendor != vendor) continue;
    const std::int64_t one = amount(c.grant, kind);
    if (c.grant.mig || c.kind == PositionKind::kSidecar) {
      lasting += one;
    } else if (c.kind == PositionKind::kApp) {
      apps += one;
    } else {
      peak = std::max(peak, inits[c.grant.position] += one);
    }
  }
  return lasting + std::max(peak, apps);
}

std::vector<Chosen> counted(const Allocation& allocation) {
  std::vector<Chosen> list;
  for (const Grant& grant : allocation.grants) {
    if (!gone(allocation, grant)) list.push_back({0, grant, kind_in(allocation, grant.position)});
  }
  return list;
}

bool collides(const MigPlacement& place, const std::vector<MigPlacement>& taken) {
  for (const MigPlacement& t : taken) {
    for (std::uint64_t s = place.start; s < std::uint64_t{place.start} + place.size; ++s) {
      if (s >= t.start && s < std::uint64_t{t.start} + t.size) return true;
    }
  }
  return place.size == 0;
}

/// The largest profile that could still be had, and how many places there are: larger is better.
std::tuple<std::int64_t, std::int64_t, std::int64_t> left_over(const MigProfiles& profiles,
                                                               std::vector<MigPlacement> taken,
                                                               const MigPlacement& place) {
  taken.push_back(place);
  std::int64_t memory = 0, slices = -1, places = 0;
  for (const MigProfile& p : profiles) {
    for (const MigPlacement& at : p.placements) {
      if (collides(at, taken)) continue;
      ++places;
      if (std::tie(p.memory.v, p.slices) > std::tie(memory, slices)) {
        memory = p.memory.v;
        slices = p.slices;
      }
    }
  }
  return {memory, slices, places};
}

std::int64_t widest(const MigProfile& profile) {
  std::int64_t size = 0;
  for (const MigPlacement& at : profile.placements) size = std::max<std::int64_t>(size, at.size);
  return size;
}

bool suits(const Device& card, const MigProfile& profile, const Want& want, bool hami) {
  const std::int64_t percent = want.ask.memory_percent;
  const bool share = want.ask.memory.v <= 0 && percent >= 1 && percent <= 100;
  if (hami || !share) return profile.memory.v >= memory(want, card);
  std::int64_t slices = 0, most_cores = 0;
  for (const MigProfile& p : *card.mig) {
    slices = std::max(slices, widest(p));
    most_cores = std::max(most_cores, p.cores.v);
  }
  return widest(profile) * 100 >= slices * percent &&
         (cores(want) == 0 || profile.cores.v * 100 >= most_cores * cores(want));
}

}  // namespace

Usage plus(Usage a, const Usage& b) {
  a += b;
  return a;
}

Usage footprint(std::size_t device, const std::vector<Chosen>& list) {
  Usage lasting, apps;
  std::map<std::uint32_t, Usage> inits;
  for (const Chosen& c : list) {
    if (c.device != device) continue;
    Usage one{1, c.grant.memory, c.grant.cores};
    if (c.grant.mig) one.slices = c.grant.mig->placement.size;
    if (c.grant.mig || c.kind == PositionKind::kSidecar) {
      lasting += one;
    } else if (c.kind == PositionKind::kApp) {
      apps += one;
    } else {
      inits[c.grant.position] += one;
    }
  }
  Usage peak = apps;
  for (const auto& [position, usage] : inits) peak = most(peak, usage);
  return plus(lasting, peak);
}

Cards::Cards(const Cluster& cluster, const Request& request, NodeId node)
    : table_(cluster.rules()),
      request_(request),
      spec_(cluster.node(node).spec),
      demands_(request, cluster.rules()) {
  read_holds(cluster, node);
  read_quotas(cluster);
}

void Cards::read_holds(const Cluster& cluster, NodeId node) {
  const std::size_t count = spec_.devices.size();
  base_.resize(count);
  occupied_.resize(count);
  closed_.resize(count);
  bool lost = false;
  const auto find = [&](VendorId vendor, const std::string& id) {
    std::size_t d = 0;
    while (d < count && (spec_.devices[d].vendor != vendor || spec_.devices[d].id != id)) ++d;
    return d;
  };
  const auto occupy = [&](std::size_t d, const MigPlacement& placement) {
    if (d == count) {
      lost = true;
    } else if (!spec_.devices[d].partitioned()) {
      closed_[d] = true;
    } else {
      occupied_[d].push_back(placement);
    }
  };
  for (const PodUid& uid : cluster.holders_on(node)) {
    if (uid == request_.uid) continue;
    const Allocation& allocation = cluster.hold(uid)->allocation;
    std::vector<Chosen> list = counted(allocation);
    for (Chosen& c : list) {
      c.device = find(c.grant.vendor, c.grant.device);
      if (c.grant.mig) occupy(c.device, c.grant.mig->placement);
      const bool plain = !c.grant.mig && c.device < count;
      if (plain && spec_.devices[c.device].partitioned()) closed_[c.device] = true;
    }
    for (const MigReservation& r : allocation.stray_mig) {
      occupy(find(r.vendor, r.device), r.placement);
    }
    for (std::size_t d = 0; d < count; ++d) base_[d] += footprint(d, list);
  }
  for (std::size_t d = 0; d < count; ++d) {
    if (lost && spec_.devices[d].partitioned()) closed_[d] = true;
  }
}

void Cards::read_quotas(const Cluster& cluster) {
  for (const QuotaBook::Row& row : cluster.quotas().rows()) {
    if (!in_scope(row.quota, request_.subject)) continue;
    for (const QuotaLimit& limit : row.quota.limits) {
      std::int64_t used = 0;
      for (const PodUid& uid : cluster.holders()) {
        const Allocation& allocation = cluster.hold(uid)->allocation;
        if (uid == request_.uid || !in_scope(row.quota, allocation.subject)) continue;
        used += price(counted(allocation), limit.vendor, limit.kind);
      }
      budgets_.push_back({limit, used});
    }
  }
}

std::size_t Cards::cards_of(VendorId vendor) const {
  if (vendor.v >= spec_.offered.size() || !spec_.offered[vendor.v]) return 0;
  return static_cast<std::size_t>(std::count_if(spec_.devices.begin(), spec_.devices.end(),
                                                [&](auto& d) { return d.vendor == vendor; }));
}

VendorRules Cards::rules(VendorId vendor) const {
  return vendor.v < table_.size() ? table_[vendor.v] : VendorRules{};
}

const Constraints* Cards::constraints(VendorId vendor) const {
  const Constraints* found = nullptr;
  for (const Constraints& c : request_.constraints) {
    if (c.vendor == vendor) found = &c;
  }
  return found;
}

bool Cards::bound_to_numa(const Want& want) const {
  const Constraints* c = constraints(want.ask.vendor);
  return c != nullptr && c->numa_bind;
}

CardReason Cards::standing(std::size_t d, const Want& want) const {
  const Device& device = spec_.devices[d];
  if (!device.healthy || closed_[d]) return CardReason::kNotHealthy;
  for (const std::string& id : spec_.cordoned) {
    if (id == device.id) return CardReason::kCordoned;
  }
  const Constraints* c = constraints(want.ask.vendor);
  if (c == nullptr) return CardReason::kCount;
  std::string model;
  for (const char letter : device.model.view()) {
    model += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
  }
  bool wanted = c->use_models.empty();
  for (const std::string& m : c->use_models) {
    wanted = wanted || model.find(m) != std::string::npos;
  }
  for (const std::string& m : c->nouse_models) {
    wanted = wanted && model.find(m) == std::string::npos;
  }
  if (c->modes && c->modes->find(device.mode) == std::string::npos) wanted = false;
  return wanted ? CardReason::kCount : CardReason::kTypeMismatch;
}

bool Cards::allowed_ids(const Device& device, const Want& want) const {
  const Constraints* c = constraints(want.ask.vendor);
  if (c == nullptr) return true;
  const std::set<std::string> use(c->use_ids.begin(), c->use_ids.end());
  const std::set<std::string> nouse(c->nouse_ids.begin(), c->nouse_ids.end());
  return (use.empty() || use.contains(device.id)) && !nouse.contains(device.id);
}

/// What the container of this want finds in use.
Usage Cards::in_use(std::size_t device, const Want& want, const std::vector<Chosen>& list) const {
  std::vector<Chosen> beside;
  for (const Chosen& c : list) {
    const bool same_turn = c.kind == want.kind &&
                           (want.kind != PositionKind::kInit || c.grant.position == want.position);
    const bool runs_beside = c.grant.mig || c.kind == PositionKind::kSidecar ||
                             want.kind == PositionKind::kSidecar || same_turn;
    if (runs_beside) beside.push_back(c);
  }
  return plus(base_[device], footprint(device, beside));
}

/// Every legal place is weighed, the best one taken.
std::optional<MigSlice> Cards::instance(std::size_t d, const Want& want,
                                        const std::vector<Chosen>& beside) const {
  const Device& card = spec_.devices[d];
  std::vector<MigPlacement> taken = occupied_[d];
  for (const Chosen& c : beside) {
    if (c.device == d && c.grant.mig) taken.push_back(c.grant.mig->placement);
  }
  // Size of the profile, what is left (negated), profile, start in its direction, place in the
  // list.
  using Worth = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                           std::size_t, std::int64_t, std::size_t>;
  std::map<Worth, MigSlice> worths;
  for (std::size_t p = 0; p < card.mig->size(); ++p) {
    const MigProfile& profile = (*card.mig)[p];
    if (!suits(card, profile, want, hami())) continue;
    std::size_t named = 0;
    while ((*card.mig)[named].name != profile.name) ++named;
    const std::vector<MigPlacement>& places = (*card.mig)[named].placements;
    const bool down = profile.name.substr(0, 3) == "1g." || profile.name.substr(0, 3) == "3g.";
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (collides(places[i], taken)) continue;
      std::tuple<std::int64_t, std::int64_t, std::int64_t> left;
      if (!hami()) left = left_over(*card.mig, taken, places[i]);
      const std::int64_t start = places[i].start;
      worths.emplace(Worth{profile.memory.v, profile.slices, -std::get<0>(left), -std::get<1>(left),
                           -std::get<2>(left), p, down ? -start : start, i},
                     MigSlice{profile.name, places[i]});
    }
  }
  if (worths.empty()) return std::nullopt;
  return worths.begin()->second;
}

Chosen Cards::slice(std::size_t d, const Want& want, const std::vector<Chosen>& beside) const {
  const Device& device = spec_.devices[d];
  Chosen chosen{d, {}, want.kind};
  chosen.grant.position = want.position;
  chosen.grant.vendor = device.vendor;
  chosen.grant.device = device.id;
  chosen.grant.memory = {memory(want, device)};
  chosen.grant.cores = {cores(want)};
  chosen.grant.traits = request_.traits_of(device.vendor);
  if (!device.partitioned()) return chosen;
  chosen.grant.mig = instance(d, want, beside);
  if (!chosen.grant.mig) return chosen;
  const auto suitable = [&](const MigProfile& p) {
    return p.name == chosen.grant.mig->profile && suits(device, p, want, hami());
  };
  const auto profile = std::find_if(device.mig->begin(), device.mig->end(), suitable);
  chosen.grant.memory = profile->memory;
  chosen.grant.cores = profile->cores;
  return chosen;
}

bool Cards::affordable(const std::vector<Chosen>& paying, const Chosen& more) const {
  std::vector<Chosen> all = paying;
  all.push_back(more);
  for (const Budget& budget : budgets_) {
    const std::int64_t asked = price(all, budget.limit.vendor, budget.limit.kind);
    if (asked > 0 && budget.used + asked > budget.limit.limit) return false;
  }
  return true;
}

CorePercent Cards::total_cores(const Device& device, const Want& want) const {
  const Constraints* c = constraints(want.ask.vendor);
  return c == nullptr || c->core_total.v == 0 ? device.cores : c->core_total;
}

CardReason Cards::room(const Device& device, const Want& want, const Usage& use) const {
  if (device.partitioned() && !hami()) return CardReason::kCount;
  const VendorRules rule = rules(device.vendor);
  const std::int64_t asked = cores(want), total = total_cores(device, want).v;
  if (use.memory.v + memory(want, device) > device.memory.v) return CardReason::kInsufficientMemory;
  if (rule.cores_count && use.cores.v + asked > total) return CardReason::kInsufficientCore;
  const bool whole = total == 100 && asked == 100;
  if (rule.whole_card_is_exclusive && whole && use.slots > 0) {
    return CardReason::kExclusiveConflict;
  }
  const bool closed = total != 0 && use.cores.v >= total;
  if (rule.full_cores_close_card && closed && asked == 0) {
    return CardReason::kComputeUnitsExhausted;
  }
  return CardReason::kCount;
}

CardReason Cards::verdict(std::size_t d, const Want& want, const std::vector<Chosen>& before,
                          const std::vector<Chosen>& beside,
                          const std::vector<Chosen>& paying) const {
  const Device& device = spec_.devices[d];
  if (const CardReason r = standing(d, want); r != CardReason::kCount) return r;
  if (!allowed_ids(device, want)) return CardReason::kUuidMismatch;
  const VendorRules rule = rules(device.vendor);
  const Usage use = in_use(d, want, before);
  if (rule.slots_count && use.slots >= device.slots) return CardReason::kTimeSlicingExhausted;
  if (request_.mutex && rule.honours_mutex && use.slots > 0) return CardReason::kExclusiveConflict;
  const Chosen more = slice(d, want, beside);
  if (!affordable(paying, more)) return CardReason::kQuotaNotFit;
  if (const CardReason r = room(device, want, use); r != CardReason::kCount) return r;
  if (device.partitioned()) {
    const bool short_of_memory = use.memory.v + memory(want, device) > device.memory.v;
    if (!more.grant.mig && short_of_memory) return CardReason::kInsufficientMemory;
    if (!more.grant.mig) return CardReason::kMigTopologyInfeasible;
    const Usage now = in_use(d, want, beside);
    if (rule.slots_count && now.slots >= device.slots) return CardReason::kTimeSlicingExhausted;
  }
  if (rule.hooks == nullptr) return CardReason::kCount;
  return rule.hooks->admit_card(device, use, demands_.demands[want.at], asked(want));
}

std::vector<Option> Cards::ordered(const Want& want, const std::vector<Chosen>& chosen) const {
  std::vector<Option> options;
  if (cards_of(want.ask.vendor) == 0) return options;
  for (std::size_t d = 0; d < spec_.devices.size(); ++d) {
    if (spec_.devices[d].vendor != want.ask.vendor) continue;
    const Usage before = plus(base_[d], footprint(d, chosen));
    std::vector<Chosen> with = chosen;
    with.push_back(slice(d, want, chosen));
    const Usage after = plus(base_[d], footprint(d, with));
    Option option{{}, spec_.devices[d].index, d};
    for (const DevicePolicy* policy : request_.device_policies) {
      option.keys.push_back(-policy->key({spec_.devices[d], before, after, request_.weights}));
    }
    options.push_back(std::move(option));
  }
  std::sort(options.begin(), options.end());
  return options;
}

}  // namespace tessera::core::oracle
