// Container by container, best card first; a vendor may choose by itself, a NUMA node may have to
// serve a container alone.
#include "core/place_oracle_node.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tessera::core::oracle {

NodeOracle::NodeOracle(const Cluster& cluster, const Request& request, NodeId id)
    : request_(request), cards_(cluster, request, id) {
  for (std::uint32_t p = 0; p < request.positions.size(); ++p) {
    for (const DeviceAsk& ask : request.positions[p].asks) {
      if (ask.count > 0) wants_.push_back({wants_.size(), p, request.positions[p].kind, ask});
    }
  }
  links_.resize(wants_.size());
}

bool NodeOracle::run() {
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

NodeKey NodeOracle::key() const {
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
      sum.load_sum_ppm +=
          load_ppm(spec().devices[d], plus(cards_.base(d), footprint(d, chosen)), request_.weights);
    }
    view.push_back(sum);
    key.topology += preference(vendor);
  }
  const NodeView looked{view, spec().label_priority};
  key.load = request_.node_policy->key(looked);
  if (request_.node_policy_before) key.before = request_.node_policy_before->key(looked);
  if (request_.node_policy_after) key.after = request_.node_policy_after->key(looked);
  if (!linked()) return key;
  for (const std::int64_t value : links_) key.topology += value;
  return key;
}

Reject NodeOracle::refusal(const Want& want, std::size_t devices) {
  Reject r;
  r.position = want.position;
  r.asked = static_cast<std::uint32_t>(want.ask.count);
  r.devices = static_cast<std::uint32_t>(devices);
  return r;
}

std::vector<std::size_t> NodeOracle::devices_of(const std::vector<Chosen>& list) {
  std::vector<std::size_t> devices;
  for (const Chosen& c : list) devices.push_back(c.device);
  return devices;
}

const Option& NodeOracle::option_of(const std::vector<Option>& options, std::size_t device) {
  return *std::find_if(options.begin(), options.end(),
                       [&](const Option& o) { return o.device == device; });
}

void NodeOracle::add_keys(const Option& option, Group& group) {
  for (std::size_t k = 0; k < group.sums.size(); ++k) group.sums[k] += option.keys[k];
}

bool NodeOracle::shared_by_instances(const Want& want) const {
  if (cards_.cards_of(want.ask.vendor) == 0) return false;
  const Constraints* c = cards_.constraints(want.ask.vendor);
  for (const Device& d : spec().devices) {
    if (d.vendor != want.ask.vendor || !d.partitioned()) continue;
    if (c == nullptr || !c->modes || c->modes->find(d.mode) != std::string::npos) return true;
  }
  return false;
}

std::int64_t NodeOracle::preference(VendorId vendor) const {
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

Pass NodeOracle::pass(std::size_t at, const std::vector<Option>& order, bool all, bool numa) const {
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

std::vector<Chosen> NodeOracle::with(const std::vector<Chosen>& more) const {
  std::vector<Chosen> list = chosen;
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::vector<Chosen> NodeOracle::deal(std::size_t at,
                                     const std::vector<std::size_t>& devices) const {
  std::vector<Chosen> dealt;
  for (const std::size_t d : devices) {
    const std::vector<Chosen> beside = with(dealt);
    if (cards_.verdict(d, wants_[at], chosen, beside, beside) != CardReason::kCount) return {};
    dealt.push_back(cards_.slice(d, wants_[at], beside));
  }
  return dealt;
}

void NodeOracle::accept(std::size_t at, const std::vector<Chosen>& picks,
                        const std::vector<std::size_t>& candidates) {
  if (linked()) links_[at] = worth(devices_of(picks), candidates);
  chosen.insert(chosen.end(), picks.begin(), picks.end());
}

CardReason NodeOracle::gate(std::size_t at) const {
  const VendorHooks* hooks = cards_.rules(wants_[at].ask.vendor).hooks;
  if (hooks == nullptr) return CardReason::kCount;
  return hooks->admit_node(spec(), cards_.asked(wants_[at]));
}

bool NodeOracle::choose(std::size_t at) {
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

bool NodeOracle::choose_any(std::size_t at, const std::vector<Option>& order) {
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

bool NodeOracle::choose_a_numa_node(std::size_t at, const std::vector<Option>& order) {
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

void NodeOracle::hooked(std::size_t at, const std::vector<Option>& order,
                        const std::function<void(const ChoiceView&)>& ask) const {
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

std::optional<bool> NodeOracle::choose_by_hook(std::size_t at, const std::vector<Option>& order) {
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
      const auto why = devices ? CardReason::kQuotaNotFit : CardReason::kAllocatedCardsInsufficient;
      reject.count(why) += static_cast<std::uint32_t>(view.fitting.size());
    }
    hooks->explain(view, reject);
  });
  return result;
}

}  // namespace tessera::core::oracle
