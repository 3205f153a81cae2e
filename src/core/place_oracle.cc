// The decision once more, by plain loops over nodes and holds: no ledger, no kept counters, no
// pruning. Written apart from place.cc so that a mistake in one of them shows. Meant for small
// clusters; a search that would try more than kPatience choices gives up. In HAMi's score mode it
// finds out who fits where, by its own order: which of several choices HAMi takes is held against
// HAMi's recorded answers instead.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/place.h"
#include "core/place_oracle_cards.h"
#include "core/vendor_hooks.h"

namespace tessera::core {
namespace {

using oracle::Cards;
using oracle::Chosen;
using oracle::footprint;
using oracle::Option;
using oracle::plus;
using oracle::Want;

constexpr int kPatience = 1'000'000;

/// One pass over cards in a given order.
struct Pass {
  std::vector<Chosen> picks;
  std::vector<CardReason> reasons;  // parallel to the order; kCount = fits
  std::vector<Usage> seen;
  Reject reject;
};

struct Group {
  std::int64_t links = 0;          // negated: smaller is better
  std::vector<std::int64_t> sums;  // of the options that would be taken
  Option first;
  std::vector<Option> options;
  std::vector<Chosen> picks;
  auto rank() const { return std::tie(links, sums, first); }
};

class NodeOracle {
 public:
  NodeOracle(const Cluster& cluster, const Request& request, NodeId id)
      : request_(request), cards_(cluster, request, id) {
    for (std::uint32_t p = 0; p < request.positions.size(); ++p) {
      for (const DeviceAsk& ask : request.positions[p].asks) {
        if (ask.count > 0) wants_.push_back({wants_.size(), p, request.positions[p].kind, ask});
      }
    }
    links_.resize(wants_.size());
  }

  bool run() {
    bool any = wants_.empty();
    for (const Want& want : wants_) any = any || cards_.cards_of(want.ask.vendor) > 0;
    if (!any) {
      reject = refusal(wants_[0], 0);
      reject.node_reason = offers_anything(cards_.spec()) ? NodeReason::kInsufficientDevice
                                                          : NodeReason::kUnregistered;
      return false;
    }
    for (std::size_t i = 0; i < wants_.size(); ++i) {
      const std::size_t present = cards_.cards_of(wants_[i].ask.vendor);
      if (wants_[i].count() > present && !shared_by_instances(wants_[i])) {
        reject = refusal(wants_[i], present);
        reject.node_reason = NodeReason::kInsufficientDevice;
        return false;
      }
      if (choose(i)) continue;
      const Reject told = reject;
      chosen.clear();
      if (search(0)) return true;
      reject = told;
      return false;
    }
    return true;
  }

  NodeKey key() const {
    NodeKey key;
    std::vector<NodeView::Vendor> view;
    std::vector<VendorId> seen;
    for (const Want& want : wants_) {
      const VendorId vendor = want.ask.vendor;
      if (std::find(seen.begin(), seen.end(), vendor) != seen.end()) continue;
      seen.push_back(vendor);
      NodeView::Vendor sum;
      for (std::size_t d = 0; d < spec().devices.size(); ++d) {
        if (spec().devices[d].vendor != vendor) continue;
        ++sum.devices;
        sum.load_sum_ppm += load_ppm(spec().devices[d], plus(cards_.base(d), footprint(d, chosen)),
                                     request_.weights);
      }
      view.push_back(sum);
      key.topology += preference(vendor);
    }
    key.load = request_.node_policy->key({view});
    if (!linked()) return key;
    for (const std::int64_t value : links_) key.topology += value;
    return key;
  }

  Reject reject;
  std::vector<Chosen> chosen;

 private:
  const NodeSpec& spec() const { return cards_.spec(); }
  bool linked() const { return request_.topology && !spec().links.empty(); }

  static Reject refusal(const Want& want, std::size_t devices) {
    Reject r;
    r.position = want.position;
    r.asked = static_cast<std::uint32_t>(want.ask.count);
    r.devices = static_cast<std::uint32_t>(devices);
    return r;
  }

  bool shared_by_instances(const Want& want) const {
    if (cards_.cards_of(want.ask.vendor) == 0) return false;
    const Constraints* c = cards_.constraints(want.ask.vendor);
    for (const Device& d : spec().devices) {
      if (d.vendor != want.ask.vendor || !d.partitioned()) continue;
      if (c == nullptr || !c->modes || c->modes->find(d.mode) != std::string::npos) return true;
    }
    return false;
  }

  std::int64_t preference(VendorId vendor) const {
    const VendorHooks* hooks = cards_.rules(vendor).hooks;
    std::vector<TopologyView::Pick> picks;
    for (const Chosen& c : chosen) {
      if (c.grant.vendor == vendor) {
        picks.push_back({c.grant.position, static_cast<std::uint32_t>(c.device)});
      }
    }
    if (hooks == nullptr || picks.empty()) return 0;
    return hooks->topology_score({spec(), vendor, cards_.base(), picks});
  }

  /// all: collect whoever fits, the quota of a set is looked at later; numa: start anew with every
  /// NUMA node.
  Pass pass(std::size_t at, const std::vector<Option>& order, bool all, bool numa) const {
    const Want& want = wants_[at];
    Pass out;
    out.reject = refusal(want, order.size());
    std::vector<std::int64_t> numas;
    for (const Option& option : order) {
      out.seen.push_back(cards_.in_use(option.device, want, with(out.picks)));
      out.reasons.push_back(cards_.standing(option.device, want));
      if (out.reasons.back() != CardReason::kCount) {
        ++out.reject.count(out.reasons.back());
        continue;
      }
      const std::int64_t here = spec().devices[option.device].numa;
      if (numa && (numas.empty() || numas.back() != here)) {
        if (!all) {
          out.reject.count(CardReason::kNumaNotFit) += static_cast<std::uint32_t>(out.picks.size());
        }
        out.picks.clear();
        numas.push_back(here);
        out.seen.back() = cards_.in_use(option.device, want, chosen);
      }
      bool first = true;
      for (std::size_t times = 0; times < want.count(); ++times) {
        const std::vector<Chosen> beside = with(out.picks);
        const CardReason reason =
            cards_.verdict(option.device, want, chosen, beside, all ? chosen : beside);
        if (reason != CardReason::kCount) {
          ++out.reject.count(reason);
          if (first) out.reasons.back() = reason;
          break;
        }
        first = false;
        out.picks.push_back(cards_.slice(option.device, want, beside));
        if (!all && out.picks.size() == want.count()) return out;
        if (!spec().devices[option.device].partitioned()) break;
      }
    }
    if (out.picks.size() < want.count()) {
      out.reject.count(CardReason::kAllocatedCardsInsufficient) =
          static_cast<std::uint32_t>(out.picks.size());
    }
    return out;
  }

  std::vector<Chosen> with(const std::vector<Chosen>& more) const {
    std::vector<Chosen> list = chosen;
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }

  /// The cards taken one after the other; empty when one of them can't be had beside the others.
  std::vector<Chosen> deal(std::size_t at, const std::vector<std::size_t>& devices) const {
    std::vector<Chosen> dealt;
    for (const std::size_t d : devices) {
      const std::vector<Chosen> beside = with(dealt);
      if (cards_.verdict(d, wants_[at], chosen, beside, beside) != CardReason::kCount) return {};
      dealt.push_back(cards_.slice(d, wants_[at], beside));
    }
    return dealt;
  }

  /// A pair is worth its links in both directions.
  std::int64_t link(std::size_t a, std::size_t b) const {
    const std::size_t n = spec().devices.size();
    return a == b ? 0 : std::int64_t{spec().links[a * n + b]} + spec().links[b * n + a];
  }

  std::int64_t worth(const std::vector<std::size_t>& set,
                     const std::vector<std::size_t>& candidates) const {
    std::int64_t sum = 0;
    if (set.size() == 1) {
      for (const std::size_t other : candidates) sum -= link(set[0], other);
      return sum;
    }
    for (std::size_t a = 0; a < set.size(); ++a) {
      for (std::size_t b = a + 1; b < set.size(); ++b) sum += link(set[a], set[b]);
    }
    return sum;
  }

  static std::vector<std::size_t> devices_of(const std::vector<Chosen>& list) {
    std::vector<std::size_t> devices;
    for (const Chosen& c : list) devices.push_back(c.device);
    return devices;
  }

  /// Every set of the size is looked at; the first of the best ones, in order of the candidates.
  std::vector<std::size_t> best_set(const std::vector<std::size_t>& candidates,
                                    std::size_t count) const {
    std::vector<bool> member(candidates.size());
    std::fill(member.begin(), member.begin() + static_cast<std::ptrdiff_t>(count), true);
    std::vector<std::size_t> best;
    do {
      std::vector<std::size_t> set;
      for (std::size_t i = 0; i < member.size(); ++i) {
        if (member[i]) set.push_back(candidates[i]);
      }
      if (best.empty() || worth(set, candidates) > worth(best, candidates)) best = set;
    } while (std::prev_permutation(member.begin(), member.end()));
    return best;
  }

  void accept(std::size_t at, const std::vector<Chosen>& picks,
              const std::vector<std::size_t>& candidates) {
    if (linked()) links_[at] = worth(devices_of(picks), candidates);
    chosen.insert(chosen.end(), picks.begin(), picks.end());
  }

  CardReason gate(std::size_t at) const {
    const VendorHooks* hooks = cards_.rules(wants_[at].ask.vendor).hooks;
    if (hooks == nullptr) return CardReason::kCount;
    return hooks->admit_node(spec(), cards_.asked(wants_[at]));
  }

  bool choose(std::size_t at) {
    const VendorHooks* hooks = cards_.rules(wants_[at].ask.vendor).hooks;
    const std::vector<Option> order = cards_.ordered(wants_[at], chosen);
    if (hooks != nullptr) {
      const CardReason reason = gate(at);
      if (reason != CardReason::kCount) {
        reject = refusal(wants_[at], cards_.cards_of(wants_[at].ask.vendor));
        reject.count(reason) = 1;
        return false;
      }
      if (const auto done = choose_by_hook(at, order)) return *done;
    }
    const bool found =
        cards_.bound_to_numa(wants_[at]) ? choose_a_numa_node(at, order) : choose_any(at, order);
    if (!found && hooks != nullptr) hooked(at, order, [&](auto& v) { hooks->explain(v, reject); });
    return found;
  }

  bool choose_any(std::size_t at, const std::vector<Option>& order) {
    const Want& want = wants_[at];
    Pass found = pass(at, order, linked(), false);
    reject = found.reject;
    if (found.picks.size() < want.count()) return false;
    if (!linked()) {
      accept(at, found.picks, {});
      return true;
    }
    const std::vector<std::size_t> candidates = devices_of(found.picks);
    std::vector<Chosen> picks = deal(at, best_set(candidates, want.count()));
    if (picks.empty()) {  // too dear together: card by card
      found = pass(at, order, false, false);
      reject = found.reject;
      if (found.picks.size() < want.count()) return false;
      picks = found.picks;
    }
    accept(at, picks, candidates);
    return true;
  }

  bool choose_a_numa_node(std::size_t at, const std::vector<Option>& order) {
    const Want& want = wants_[at];
    std::map<std::int64_t, std::vector<Option>> by_numa;
    for (const Option& o : order) by_numa[spec().devices[o.device].numa].push_back(o);
    std::vector<Group> groups;
    for (const auto& [numa, options] : by_numa) {
      Group group;
      group.picks = pass(at, options, linked(), false).picks;
      if (group.picks.size() < want.count()) continue;
      const std::vector<std::size_t> candidates = devices_of(group.picks);
      if (linked()) {
        group.picks = deal(at, best_set(candidates, want.count()));
        if (group.picks.empty()) continue;
        group.links = -worth(devices_of(group.picks), candidates);
      }
      group.sums.resize(request_.device_policies.size());
      for (const Chosen& c : group.picks) add_keys(option_of(options, c.device), group);
      group.first = option_of(options, group.picks.front().device);
      groups.push_back(std::move(group));
    }
    const auto best = std::min_element(groups.begin(), groups.end(),
                                       [](auto& a, auto& b) { return a.rank() < b.rank(); });
    if (best != groups.end()) {
      links_[at] = -best->links;
      chosen.insert(chosen.end(), best->picks.begin(), best->picks.end());
      return true;
    }
    std::vector<Option> from_above = order;
    std::stable_sort(from_above.begin(), from_above.end(), [&](const Option& a, const Option& b) {
      return spec().devices[a.device].numa > spec().devices[b.device].numa;
    });
    reject = pass(at, from_above, false, true).reject;
    return false;
  }

  static const Option& option_of(const std::vector<Option>& options, std::size_t device) {
    return *std::find_if(options.begin(), options.end(),
                         [&](const Option& o) { return o.device == device; });
  }
  static void add_keys(const Option& option, Group& group) {
    for (std::size_t k = 0; k < group.sums.size(); ++k) group.sums[k] += option.keys[k];
  }

  /// Hands the hook what it wants to see.
  template <typename Ask>
  void hooked(std::size_t at, const std::vector<Option>& order, const Ask& ask) const {
    const Pass found = pass(at, order, true, cards_.bound_to_numa(wants_[at]));
    std::vector<std::uint32_t> listed, fitting;
    for (const Option& o : order) listed.push_back(static_cast<std::uint32_t>(o.device));
    for (const std::size_t d : devices_of(found.picks)) {
      if (fitting.empty() || fitting.back() != d) fitting.push_back(static_cast<std::uint32_t>(d));
    }
    const ChoiceView view{spec(),
                          cards_.demands().demands[at],
                          cards_.asked(wants_[at]),
                          request_.mode,
                          request_.mutex,
                          listed,
                          found.reasons,
                          found.seen,
                          fitting};
    ask(view);
  }

  std::optional<bool> choose_by_hook(std::size_t at, const std::vector<Option>& order) {
    const VendorHooks* hooks = cards_.rules(wants_[at].ask.vendor).hooks;
    std::optional<bool> result;
    hooked(at, order, [&](const ChoiceView& view) {
      if (!hooks->chooses(view)) return;
      std::vector<Chosen> picks;
      const auto devices = hooks->choose(view);
      if (devices) picks = deal(at, {devices->begin(), devices->end()});
      result = !picks.empty();
      if (*result) {
        chosen.insert(chosen.end(), picks.begin(), picks.end());
        return;
      }
      reject = pass(at, order, true, cards_.bound_to_numa(wants_[at])).reject;
      if (view.fitting.size() >= view.count()) {
        // A set that was named is too dear, since each of its cards fits.
        const auto why =
            devices ? CardReason::kQuotaNotFit : CardReason::kAllocatedCardsInsufficient;
        reject.count(why) += static_cast<std::uint32_t>(view.fitting.size());
      }
      hooks->explain(view, reject);
    });
    return result;
  }

  /// The cards that fit, in groups of which one must serve all; best group first, best card first.
  std::vector<Group> groups(std::size_t at) const {
    const Want& want = wants_[at];
    if (gate(at) != CardReason::kCount) return {};
    std::map<std::int64_t, Group> by_numa;
    std::map<std::int64_t, std::size_t> room;
    for (const Option& option : cards_.ordered(want, chosen)) {
      std::size_t times = 0;
      std::vector<Chosen> beside = chosen;
      while (times < want.count() && (times == 0 || spec().devices[option.device].partitioned()) &&
             cards_.verdict(option.device, want, chosen, beside, chosen) == CardReason::kCount) {
        beside.push_back(cards_.slice(option.device, want, beside));
        ++times;
      }
      if (times == 0) continue;
      const std::int64_t numa = cards_.bound_to_numa(want) ? spec().devices[option.device].numa : 0;
      Group& group = by_numa[numa];
      group.sums.resize(request_.device_policies.size());
      for (std::size_t i = 0; i < times && room[numa] < want.count(); ++i, ++room[numa]) {
        add_keys(option, group);
      }
      if (group.options.empty()) group.first = option;
      group.options.push_back(option);
    }
    std::vector<Group> result;
    for (auto& [numa, group] : by_numa) {
      if (room[numa] >= want.count()) result.push_back(std::move(group));
    }
    std::sort(result.begin(), result.end(), [](auto& a, auto& b) { return a.rank() < b.rank(); });
    return result;
  }

  bool search(std::size_t at) {
    if (at == wants_.size()) return true;
    const std::size_t mark = chosen.size();
    const bool hooks = cards_.rules(wants_[at].ask.vendor).hooks != nullptr;
    if (hooks || linked()) {
      if (++tried_ > kPatience) return false;
      if (choose(at)) {
        if (search(at + 1)) return true;
        chosen.resize(mark);
      }
      if (hooks && decides(at)) return false;
    }
    for (const Group& group : groups(at)) {
      if (subsets(at, group, 0, mark)) return true;
    }
    return false;
  }

  bool decides(std::size_t at) const {
    bool does = false;
    hooked(at, cards_.ordered(wants_[at], chosen),
           [&](const ChoiceView& view) { does = view.vendor.rules.hooks->chooses(view); });
    return does;
  }

  bool subsets(std::size_t at, const Group& group, std::size_t from, std::size_t mark) {
    const Want& want = wants_[at];
    if (chosen.size() - mark == want.count()) {
      if (linked()) {
        std::vector<std::size_t> candidates, set;
        for (const Option& o : group.options) candidates.push_back(o.device);
        for (std::size_t i = mark; i < chosen.size(); ++i) set.push_back(chosen[i].device);
        links_[at] = worth(set, candidates);
      }
      return search(at + 1);
    }
    for (std::size_t i = from; i < group.options.size(); ++i) {
      if (++tried_ > kPatience) return false;
      const std::size_t d = group.options[i].device;
      const std::vector<Chosen> before(chosen.begin(),
                                       chosen.begin() + static_cast<std::ptrdiff_t>(mark));
      if (cards_.verdict(d, want, before, chosen, chosen) != CardReason::kCount) continue;
      chosen.push_back(cards_.slice(d, want, chosen));
      const bool again = spec().devices[d].partitioned();
      if (subsets(at, group, again ? i : i + 1, mark)) return true;
      chosen.pop_back();
    }
    return false;
  }

  const Request& request_;
  Cards cards_;
  std::vector<Want> wants_;
  std::vector<std::int64_t> links_;  // how well the cards of each want are linked
  int tried_ = 0;
};

Allocation written(const Request& request, const NodeSpec& spec, const NodeOracle& oracle) {
  Allocation allocation;
  allocation.node = spec.name;
  allocation.subject = request.subject;
  for (const Position& position : request.positions) allocation.kinds.push_back(position.kind);
  for (const Chosen& c : oracle.chosen) allocation.grants.push_back(c.grant);
  return allocation;
}

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
    const NodeKey key = oracle.key();
    const Rank rank{-key.topology, -key.load, options.prefer_unlocked && spec.locked, spec.name};
    if (best && *best <= rank) continue;
    best = rank;
    outcome.decision =
        Decision{id, written(request, spec, oracle), key, static_cast<double>(key.load) / 10'000.0};
  }
  return outcome;
}

}  // namespace tessera::core
