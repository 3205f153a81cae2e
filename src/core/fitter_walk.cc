// The part of Fitter that walks the cards in a given order: for HAMi's mode, quotas, instances,
// links, and vendors that choose for themselves. Source: spec/devices, sections 10 to 12
// with weak points N-6 and N-7.
#include <algorithm>
#include <map>

#include "core/fitter.h"
#include "core/topology.h"

namespace tessera::core {

bool Fitter::needs_walk(const Demand& demand) const {
  return hami_mode_ || quota_.active() || linked() ||
         list_.vendors[demand.vendor].rules.hooks != nullptr;
}

/// In HAMi's mode the word alone changes the walk, even where no link is known.
bool Fitter::linked() const {
  return request_.topology && (hami_mode_ || !node_->spec.links.empty());
}

bool Fitter::choose_by_walk(std::uint32_t demand_index) {
  const Demand& demand = list_.demands[demand_index];
  if (!admitted(demand, reject_)) return false;
  Survey listed;
  const std::vector<std::uint32_t> order = order_for(demand, listed);
  const VendorHooks* hooks = list_.vendors[demand.vendor].rules.hooks;
  Looked looked;
  if (hooks != nullptr) {
    looked = look(demand_index, order);
    const Hooked hooked = choose_by_hook(demand_index, order, looked);
    if (hooked != Hooked::kNoOpinion) return hooked == Hooked::kTaken;
  }
  const bool chosen = hami_mode_ || !numa_bound(demand)
                          ? choose_in_order(demand_index, listed, order)
                          : choose_in_groups(demand_index, listed, order);
  if (!chosen && hooks != nullptr) hooks->explain(view_of(demand, order, looked), reject_);
  return chosen;
}

/// All cards of the vendor, the preferred one first, whether they fit or not.
std::vector<std::uint32_t> Fitter::order_for(const Demand& demand, Survey& listed) {
  if (vendor_cards_[demand.vendor] == 0) return {};
  std::vector<std::uint32_t> order;
  if (hami_mode_) {
    order = hami_.scan(demand, ledger_);
    for (std::size_t place = 0; place < order.size(); ++place) {
      Card card = card_for(demand, order[place]);
      card.keys = static_cast<std::uint32_t>(place);
      listed.keys.push_back(-static_cast<std::int64_t>(place));
      listed.cards.push_back(card);
    }
    return order;
  }
  const std::vector<Device>& devices = node_->spec.devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].vendor != list_.vendors[demand.vendor].id) continue;
    Card card = card_for(demand, i);
    // An instance counts with its own size; whether the card fits at all is found out later.
    if (devices[i].partitioned()) {
      judge(demand, ledger_.seen(i, demand.kind, demand.position), {}, card);
    }
    add_keys(demand, card, listed);
    listed.cards.push_back(card);
  }
  std::sort(listed.cards.begin(), listed.cards.end(),
            [&](const Card& a, const Card& b) { return better(listed, a, b); });
  for (const Card& card : listed.cards) order.push_back(card.device);
  return order;
}

/// Leaves the ledger as it was; whoever wants the chosen cards takes them afterwards.
void Fitter::walk(std::uint32_t demand_index, std::span<const std::uint32_t> order, WalkRule rule,
                  Walk& out) {
  const Demand& demand = list_.demands[demand_index];
  const auto count = static_cast<std::size_t>(demand.count);
  const Ledger::Mark start = ledger_.mark();
  out = {};
  out.reject = empty_reject(demand);
  out.reject.devices = static_cast<std::uint32_t>(order.size());
  out.reasons.assign(order.size(), CardReason::kCount);
  out.seen.resize(order.size());
  std::optional<std::int64_t> numa;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::uint32_t device = order[place];
    out.seen[place] = ledger_.seen(device, demand.kind, demand.position);
    const CardReason reason = standing(demand, device);
    if (reason != CardReason::kCount) {
      out.reasons[place] = reason;
      ++out.reject.count(reason);
      continue;
    }
    if (rule.numa && numa != node_->spec.devices[device].numa) {
      if (!rule.all) {
        out.reject.count(CardReason::kNumaNotFit) += static_cast<std::uint32_t>(out.chosen.size());
      }
      ledger_.rollback(start);
      out.chosen.clear();
      numa = node_->spec.devices[device].numa;
    }
    walk_card(demand_index, device, place, rule, start, out);
    if (!rule.all && out.chosen.size() == count) break;
  }
  ledger_.rollback(start);
  out.complete = out.chosen.size() >= count;
  if (out.complete) return;
  out.reject.count(CardReason::kAllocatedCardsInsufficient) =
      static_cast<std::uint32_t>(out.chosen.size());
}

/// One card; a partitioned one is looked at again and again until it has no place left.
void Fitter::walk_card(std::uint32_t demand_index, std::uint32_t device, std::size_t place,
                       WalkRule rule, Ledger::Mark start, Walk& out) {
  const Demand& demand = list_.demands[demand_index];
  const auto count = static_cast<std::size_t>(demand.count);
  const Usage seen = out.seen[place];
  for (std::size_t times = 0; times < count; ++times) {
    Card card = card_for(demand, device);
    std::span<const Ledger::Entry> taken = ledger_.entries();
    if (rule.all) taken = taken.first(start);  // the set decides, not what else would fit (N-6)
    const CardReason reason = judge(demand, seen, taken, card);
    if (reason != CardReason::kCount) {
      if (times == 0) out.reasons[place] = reason;
      ++out.reject.count(reason);
      return;
    }
    out.chosen.push_back(card);
    take(demand_index, card);
    if (!rule.all && out.chosen.size() == count) return;
    if (!node_->spec.devices[device].partitioned()) return;
  }
}

bool Fitter::choose_in_order(std::uint32_t demand_index, const Survey& listed,
                             std::span<const std::uint32_t> order) {
  const Demand& demand = list_.demands[demand_index];
  Walk found;
  walk(demand_index, order, {linked(), numa_bound(demand)}, found);
  if (found.complete && take_from(demand_index, found)) return true;
  if (found.complete) {
    // The set with the best links is too dear for the quota: card by card, then.
    const std::vector<Card> candidates = std::move(found.chosen);
    walk(demand_index, order, {false, numa_bound(demand)}, found);
    if (found.complete && take_all(demand_index, found.chosen)) {
      note_links(demand_index, candidates);
      return true;
    }
  }
  const Reject told = found.reject;
  // The walk has seen one NUMA node only; another one may do.
  if (numa_bound(demand) && choose_in_groups(demand_index, listed, order)) return true;
  reject_ = told;
  return false;
}

/// With NUMA bind: every NUMA node by itself; the best links win, then the better cards.
bool Fitter::choose_in_groups(std::uint32_t demand_index, const Survey& listed,
                              std::span<const std::uint32_t> order) {
  const Demand& demand = list_.demands[demand_index];
  const auto count = static_cast<std::size_t>(demand.count);
  std::map<std::int64_t, std::vector<std::uint32_t>> by_numa;
  for (const std::uint32_t device : order) {
    by_numa[node_->spec.devices[device].numa].push_back(device);
  }
  struct Option {
    Walk walk;
    std::vector<Card> ranked;
    std::int64_t links = 0;
  };
  std::vector<Option> options;
  for (const auto& [numa, cards] : by_numa) {
    Option option;
    walk(demand_index, cards, {linked(), false}, option.walk);
    if (!option.walk.complete) continue;
    const Ledger::Mark start = ledger_.mark();
    if (!take_from(demand_index, option.walk)) continue;
    option.links = link_values_[demand_index];
    for (std::size_t i = start; i < ledger_.entries().size(); ++i) {
      const auto at = std::find_if(listed.cards.begin(), listed.cards.end(), [&](const Card& c) {
        return c.device == ledger_.entries()[i].device;
      });
      option.ranked.push_back(*at);
    }
    ledger_.rollback(start);
    options.push_back(std::move(option));
  }
  const auto best =
      std::min_element(options.begin(), options.end(), [&](const Option& a, const Option& b) {
        if (a.links != b.links) return a.links > b.links;
        return better_group(listed, count, a.ranked, b.ranked);
      });
  if (best != options.end()) return take_from(demand_index, best->walk);
  std::vector<std::uint32_t> from_high_numa(order.begin(), order.end());
  std::stable_sort(from_high_numa.begin(), from_high_numa.end(),
                   [this](std::uint32_t a, std::uint32_t b) {
                     return node_->spec.devices[a].numa > node_->spec.devices[b].numa;
                   });
  Walk told;
  walk(demand_index, from_high_numa, {false, true}, told);
  reject_ = told.reject;
  return false;
}

/// Takes what a complete walk has chosen, the best linked of it where links count.
bool Fitter::take_from(std::uint32_t demand_index, const Walk& walk) {
  const auto count = static_cast<std::size_t>(list_.demands[demand_index].count);
  if (!linked()) return take_all(demand_index, walk.chosen);
  std::vector<Card> set = walk.chosen;
  if (set.size() > count) {
    std::vector<std::uint32_t> candidates;
    for (const Card& card : walk.chosen) candidates.push_back(card.device);
    set.clear();
    for (const std::uint32_t place : best_linked(node_->spec, candidates, count, request_.mode)) {
      set.push_back(walk.chosen[place]);
    }
  }
  if (!take_all(demand_index, set)) return false;
  note_links(demand_index, walk.chosen);
  return true;
}

bool Fitter::take_all(std::uint32_t demand_index, std::span<const Card> cards) {
  return take_more(demand_index, cards, ledger_.mark());
}

/// All of them or none. An instance is chosen anew: where only some candidates of a card are
/// taken, its places are dealt out again. What the container has taken since `start` is its own.
bool Fitter::take_more(std::uint32_t demand_index, std::span<const Card> cards,
                       Ledger::Mark start) {
  const Demand& demand = list_.demands[demand_index];
  const Ledger::Mark before = ledger_.mark();
  for (const Card& chosen : cards) {
    Card card = chosen;
    const bool partitioned = node_->spec.devices[card.device].partitioned();
    if (partitioned || quota_.active()) {
      // The state before the container decides; cards of one container do not close each other.
      Usage seen = ledger_.seen(card.device, demand.kind, demand.position);
      for (std::size_t i = start; i < ledger_.entries().size(); ++i) {
        const Ledger::Entry& entry = ledger_.entries()[i];
        if (entry.device == card.device) seen -= entry.slice.usage;
      }
      if (judge(demand, seen, ledger_.entries(), card) != CardReason::kCount) {
        ledger_.rollback(before);
        return false;
      }
    }
    take(demand_index, card);
  }
  return true;
}

/// How well the cards just taken for this demand are linked.
void Fitter::note_links(std::uint32_t demand_index, std::span<const Card> candidates) {
  std::vector<std::uint32_t> all, taken;
  for (const Card& card : candidates) all.push_back(card.device);
  for (const Ledger::Entry& entry : ledger_.entries()) {
    if (entry.demand == demand_index) taken.push_back(entry.device);
  }
  link_values_[demand_index] = linked_value(node_->spec, taken, all, request_.mode);
}

Fitter::Looked Fitter::look(std::uint32_t demand_index, std::span<const std::uint32_t> order) {
  Looked looked;
  walk(demand_index, order, {true, numa_bound(list_.demands[demand_index])}, looked.walk);
  for (const Card& card : looked.walk.chosen) {
    if (looked.fitting.empty() || looked.fitting.back() != card.device) {
      looked.fitting.push_back(card.device);
    }
  }
  return looked;
}

ChoiceView Fitter::view_of(const Demand& demand, std::span<const std::uint32_t> order,
                           const Looked& looked) const {
  return {node_->spec,         demand,           list_.vendors[demand.vendor],
          request_.mode,       request_.mutex,   order,
          looked.walk.reasons, looked.walk.seen, looked.fitting};
}

Fitter::Hooked Fitter::choose_by_hook(std::uint32_t demand_index,
                                      std::span<const std::uint32_t> order, const Looked& looked) {
  const Demand& demand = list_.demands[demand_index];
  const VendorHooks& hooks = *list_.vendors[demand.vendor].rules.hooks;
  const ChoiceView view = view_of(demand, order, looked);
  if (!hooks.chooses(view)) return Hooked::kNoOpinion;
  const auto devices = hooks.choose(view);
  if (devices) {
    std::vector<Card> cards;
    for (const std::uint32_t device : *devices) cards.push_back(card_for(demand, device));
    if (take_all(demand_index, cards)) return Hooked::kTaken;
  }
  reject_ = looked.walk.reject;
  // There are enough cards, but no set of them that belongs together, or it is too dear.
  if (looked.fitting.size() >= view.count()) {
    const bool dear = devices && quota_.active();
    reject_.count(dear ? CardReason::kQuotaNotFit : CardReason::kAllocatedCardsInsufficient) +=
        static_cast<std::uint32_t>(looked.fitting.size());
  }
  hooks.explain(view, reject_);
  return Hooked::kRefused;
}

}  // namespace tessera::core
