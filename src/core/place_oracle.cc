// The decision once more, by plain loops over nodes and holds: no ledger, no kept counters, no
// pruning. Written apart from place.cc so that a mistake in one of them shows. Meant for small
// clusters; a search that would try more than kPatience choices gives up.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/place.h"

namespace tessera::core {
namespace {

__extension__ using Wide = __int128;

constexpr int kPatience = 1'000'000;

struct Want {
  std::uint32_t position;
  PositionKind kind;
  DeviceAsk ask;
};

struct Chosen {
  std::size_t device;
  Grant grant;
  PositionKind kind;
};

struct Option {
  std::vector<std::int64_t> keys;  // negated: smaller is better
  std::uint32_t index;
  std::size_t device;
  auto operator<=>(const Option&) const = default;
};

class NodeOracle {
 public:
  NodeOracle(const Cluster& cluster, const Request& request, NodeId id)
      : cluster_(cluster), request_(request), spec_(cluster.node(id).spec) {
    for (std::uint32_t p = 0; p < request.positions.size(); ++p) {
      for (const DeviceAsk& ask : request.positions[p].asks) {
        if (ask.count > 0) wants_.push_back({p, request.positions[p].kind, ask});
      }
    }
    base_ = used_by_others(id);
  }

  bool run() {
    bool any = wants_.empty();
    for (const Want& want : wants_) any = any || cards_of(want.ask.vendor) > 0;
    if (!any) {
      reject.node_reason = NodeReason::kUnregistered;
      reject.position = wants_[0].position;
      reject.asked = static_cast<std::uint32_t>(wants_[0].ask.count);
      return false;
    }
    if (greedy()) return true;
    if (reject.node_reason != NodeReason::kNone) return false;
    chosen.clear();
    return search(0);
  }

  std::int64_t key() const {
    std::vector<NodeView::Vendor> view;
    std::vector<VendorId> seen;
    for (const Want& want : wants_) {
      if (std::find(seen.begin(), seen.end(), want.ask.vendor) != seen.end()) continue;
      seen.push_back(want.ask.vendor);
      NodeView::Vendor sum;
      for (std::size_t d = 0; d < spec_.devices.size(); ++d) {
        if (spec_.devices[d].vendor != want.ask.vendor) continue;
        ++sum.devices;
        sum.load_sum_ppm += load_ppm(spec_.devices[d], plus(base_[d], footprint(d, chosen)));
      }
      view.push_back(sum);
    }
    return request_.node_policy->key({view});
  }

  Reject reject;
  std::vector<Chosen> chosen;

 private:
  static Usage plus(Usage a, const Usage& b) {
    a += b;
    return a;
  }
  static Usage most(const Usage& a, const Usage& b) {
    Usage m = a;
    if (b.slots > m.slots) m.slots = b.slots;
    if (b.memory > m.memory) m.memory = b.memory;
    if (b.cores > m.cores) m.cores = b.cores;
    return m;
  }

  /// sidecars + max(largest init container, all apps) on one device.
  static Usage footprint(std::size_t device, const std::vector<Chosen>& list) {
    Usage sidecars, apps;
    std::map<std::uint32_t, Usage> inits;
    for (const Chosen& c : list) {
      if (c.device != device) continue;
      const Usage one{1, c.grant.memory, c.grant.cores};
      if (c.kind == PositionKind::kSidecar) sidecars += one;
      if (c.kind == PositionKind::kApp) apps += one;
      if (c.kind == PositionKind::kInit) inits[c.grant.position] += one;
    }
    Usage peak = apps;
    for (const auto& [position, usage] : inits) peak = most(peak, usage);
    return plus(sidecars, peak);
  }

  /// What the container of this want finds in use.
  Usage in_use(std::size_t device, const Want& want) const {
    std::vector<Chosen> beside;
    for (const Chosen& c : chosen) {
      const bool runs_beside = c.kind == PositionKind::kSidecar ||
                               want.kind == PositionKind::kSidecar ||
                               (want.kind == PositionKind::kApp && c.kind == PositionKind::kApp) ||
                               (want.kind == PositionKind::kInit && c.kind == PositionKind::kInit &&
                                c.grant.position == want.position);
      if (runs_beside) beside.push_back(c);
    }
    return plus(base_[device], footprint(device, beside));
  }

  std::vector<Usage> used_by_others(NodeId id) const {
    std::vector<Usage> used(spec_.devices.size());
    for (const PodUid& uid : cluster_.holders_on(id)) {
      if (uid == request_.uid) continue;
      const Allocation& allocation = cluster_.hold(uid)->allocation;
      std::vector<Chosen> list;
      for (const Grant& grant : allocation.grants) {
        PositionKind kind = PositionKind::kApp;
        if (grant.position < allocation.kinds.size()) kind = allocation.kinds[grant.position];
        if (kind == PositionKind::kInit && allocation.init_finished) continue;
        for (std::size_t d = 0; d < spec_.devices.size(); ++d) {
          if (spec_.devices[d].id != grant.device) continue;
          if (spec_.devices[d].vendor == grant.vendor) list.push_back({d, grant, kind});
        }
      }
      for (std::size_t d = 0; d < used.size(); ++d) used[d] += footprint(d, list);
    }
    return used;
  }

  std::size_t cards_of(VendorId vendor) const {
    if (vendor.v >= spec_.offered.size() || !spec_.offered[vendor.v]) return 0;
    return static_cast<std::size_t>(std::count_if(spec_.devices.begin(), spec_.devices.end(),
                                                  [&](auto& d) { return d.vendor == vendor; }));
  }

  const Constraints* constraints(VendorId vendor) const {
    const Constraints* found = nullptr;
    for (const Constraints& c : request_.constraints) {
      if (c.vendor == vendor) found = &c;
    }
    return found;
  }

  bool bound_to_numa(const Want& want) const {
    const Constraints* c = constraints(want.ask.vendor);
    return c != nullptr && c->numa_bind;
  }

  static std::int64_t memory(const Want& want, const Device& device) {
    if (want.ask.memory.v > 0) return want.ask.memory.v;
    const std::int64_t percent = want.ask.memory_percent;
    if (percent < 1 || percent > 100) return 0;
    return static_cast<std::int64_t>(static_cast<Wide>(device.memory.v) * percent / 100);
  }
  static std::int64_t cores(const Want& want) {
    if (want.ask.cores.v > 100) return 100;
    return want.ask.cores.v < 0 ? 0 : want.ask.cores.v;
  }

  /// Health, cordon, model, mode: what no other pod can change.
  CardReason standing(const Device& device, const Want& want) const {
    if (!device.healthy) return CardReason::kNotHealthy;
    for (const std::string& id : spec_.cordoned) {
      if (id == device.id) return CardReason::kCordoned;
    }
    const Constraints* c = constraints(want.ask.vendor);
    if (c == nullptr) return CardReason::kCount;
    std::string model;
    for (const char letter : device.model) {
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

  CardReason verdict(std::size_t d, const Want& want) const {
    const Device& device = spec_.devices[d];
    if (const CardReason r = standing(device, want); r != CardReason::kCount) return r;
    if (const Constraints* c = constraints(want.ask.vendor); c != nullptr) {
      const std::set<std::string> use(c->use_ids.begin(), c->use_ids.end());
      const std::set<std::string> nouse(c->nouse_ids.begin(), c->nouse_ids.end());
      if ((!use.empty() && !use.contains(device.id)) || nouse.contains(device.id)) {
        return CardReason::kUuidMismatch;
      }
    }
    const VendorTable& table = cluster_.rules();
    const VendorRules rules =
        device.vendor.v < table.size() ? table[device.vendor.v] : VendorRules{};
    const Usage use = in_use(d, want);
    const std::int64_t asked = cores(want);
    if (use.slots >= device.slots) return CardReason::kTimeSlicingExhausted;
    if (use.memory.v + memory(want, device) > device.memory.v) {
      return CardReason::kInsufficientMemory;
    }
    if (use.cores.v + asked > device.cores.v) return CardReason::kInsufficientCore;
    const bool whole = device.cores.v == 100 && asked == 100;
    if (rules.whole_card_is_exclusive && whole && use.slots > 0) {
      return CardReason::kExclusiveConflict;
    }
    const bool closed = device.cores.v != 0 && use.cores.v >= device.cores.v;
    if (rules.full_cores_close_card && closed && asked == 0) {
      return CardReason::kComputeUnitsExhausted;
    }
    return CardReason::kCount;
  }

  Chosen slice(std::size_t d, const Want& want) const {
    const Device& device = spec_.devices[d];
    return {d,
            {want.position,
             device.vendor,
             device.id,
             {memory(want, device)},
             {cores(want)},
             std::nullopt},
            want.kind};
  }

  Option option(std::size_t d, const Want& want) const {
    const Usage before = plus(base_[d], footprint(d, chosen));
    std::vector<Chosen> with = chosen;
    with.push_back(slice(d, want));
    const Usage after = plus(base_[d], footprint(d, with));
    Option result{{}, spec_.devices[d].index, d};
    for (const DevicePolicy* policy : request_.device_policies) {
      result.keys.push_back(-policy->key({spec_.devices[d], before, after}));
    }
    return result;
  }

  /// The cards that fit, in groups of which one must serve all; best group first, best card first.
  std::vector<std::vector<Option>> groups(const Want& want) const {
    std::map<std::int64_t, std::vector<Option>> by_numa;
    if (cards_of(want.ask.vendor) == 0) return {};
    for (std::size_t d = 0; d < spec_.devices.size(); ++d) {
      if (spec_.devices[d].vendor != want.ask.vendor) continue;
      if (verdict(d, want) != CardReason::kCount) continue;
      by_numa[bound_to_numa(want) ? spec_.devices[d].numa : 0].push_back(option(d, want));
    }
    using Ranked = std::tuple<std::vector<std::int64_t>, Option, std::vector<Option>>;
    std::vector<Ranked> ranked;
    const auto count = static_cast<std::size_t>(want.ask.count);
    for (auto& [numa, options] : by_numa) {
      if (options.size() < count) continue;
      std::sort(options.begin(), options.end());
      std::vector<std::int64_t> sums(request_.device_policies.size());
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += options[i].keys[k];
      }
      const Option first = options.front();
      ranked.emplace_back(std::move(sums), first, std::move(options));
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::vector<Option>> result;
    for (auto& [sums, first, options] : ranked) result.push_back(std::move(options));
    return result;
  }

  bool greedy() {
    for (const Want& want : wants_) {
      const std::size_t present = cards_of(want.ask.vendor);
      if (static_cast<std::size_t>(want.ask.count) > present) {
        reject = {};
        reject.node_reason = NodeReason::kInsufficientDevice;
        reject.devices = static_cast<std::uint32_t>(present);
        reject.asked = static_cast<std::uint32_t>(want.ask.count);
        reject.position = want.position;
        return false;
      }
      const auto fitting = groups(want);
      std::vector<Chosen> picks;
      if (fitting.empty()) {
        tell_why(want);
        return false;
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(want.ask.count); ++i) {
        picks.push_back(slice(fitting.front()[i].device, want));
      }
      chosen.insert(chosen.end(), picks.begin(), picks.end());
    }
    return true;
  }

  void tell_why(const Want& want) {
    reject = {};
    reject.position = want.position;
    reject.asked = static_cast<std::uint32_t>(want.ask.count);
    std::map<std::int64_t, std::uint32_t>
        fitting;  // eligible NUMA nodes, also those where nothing fits
    for (std::size_t d = 0; d < spec_.devices.size(); ++d) {
      const Device& device = spec_.devices[d];
      if (device.vendor != want.ask.vendor) continue;
      ++reject.devices;
      const std::int64_t group = bound_to_numa(want) ? device.numa : 0;
      if (standing(device, want) == CardReason::kCount) fitting[group] += 0;
      const CardReason reason = verdict(d, want);
      if (reason == CardReason::kCount) {
        ++fitting[group];
      } else {
        ++reject.count(reason);
      }
    }
    for (auto it = fitting.begin(); it != fitting.end(); ++it) {
      reject.count(it == fitting.begin() ? CardReason::kAllocatedCardsInsufficient
                                         : CardReason::kNumaNotFit) += it->second;
    }
  }

  bool search(std::size_t at) {
    if (at == wants_.size()) return true;
    for (const std::vector<Option>& group : groups(wants_[at])) {
      if (subsets(at, group, 0, static_cast<std::size_t>(wants_[at].ask.count))) return true;
    }
    return false;
  }

  bool subsets(std::size_t at, const std::vector<Option>& group, std::size_t from,
               std::size_t missing) {
    if (missing == 0) return search(at + 1);
    for (std::size_t i = from; i + missing <= group.size(); ++i) {
      if (++tried_ > kPatience) return false;
      chosen.push_back(slice(group[i].device, wants_[at]));
      if (subsets(at, group, i + 1, missing - 1)) return true;
      chosen.pop_back();
    }
    return false;
  }

  const Cluster& cluster_;
  const Request& request_;
  const NodeSpec& spec_;
  std::vector<Want> wants_;
  std::vector<Usage> base_;
  int tried_ = 0;
};

}  // namespace

Outcome place_oracle(const Cluster& cluster, const Request& request,
                     std::span<const NodeId> candidates, const PlaceOptions& options) {
  Outcome outcome;
  // Smallest wins: worse key, lock, name.
  using Rank = std::tuple<std::int64_t, std::int64_t, bool, std::string>;
  std::optional<Rank> best;
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    const NodeId id = candidates[i];
    if (!id.valid() || id.v >= cluster.node_count() || !cluster.node(id).present) {
      outcome.rejected.push_back({i, {.node_reason = NodeReason::kUnregistered}});
      continue;
    }
    NodeOracle oracle(cluster, request, id);
    if (!oracle.run()) {
      outcome.rejected.push_back({i, oracle.reject});
      continue;
    }
    outcome.fitting.push_back(i);
    const NodeSpec& spec = cluster.node(id).spec;
    const NodeKey key{0, oracle.key()};
    const Rank rank{-key.topology, -key.load, options.prefer_unlocked && spec.locked, spec.name};
    if (best && *best <= rank) continue;
    best = rank;
    Allocation allocation;
    allocation.node = spec.name;
    for (const Position& position : request.positions) allocation.kinds.push_back(position.kind);
    for (const Chosen& c : oracle.chosen) {
      allocation.grants.push_back(c.grant);
      allocation.grants.back().traits = request.traits_of(c.grant.vendor);
    }
    outcome.decision = Decision{id, allocation, key, static_cast<double>(key.load) / 10'000.0};
  }
  return outcome;
}

}  // namespace tessera::core
