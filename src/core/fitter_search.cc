// The bounded search of Fitter: the same order of preference as the greedy choice, depth first.
#include <algorithm>

#include "core/fitter.h"

namespace tessera::core {

/// Whether another choice of this demand's cards may help where one of them led nowhere. Cards have
/// different prices for a quota, so that even the rest of the same container may depend on it.
bool Fitter::limits_later(const Demand& demand) const {
  return demand.limits_later || (demand.instances_limit_later && has_partitioned_) ||
         (quota_.active() && demand.count > 1);
}

/// Another choice of earlier cards can only help when the failed demand fits on the node without
/// them.
bool Fitter::search_helps(std::uint32_t failed) {
  const auto& devices = node_->spec.devices;
  has_partitioned_ = std::any_of(devices.begin(), devices.end(),
                                 [](const Device& device) { return device.partitioned(); });
  bool limited = quota_.active() && list_.demands[failed].count > 1;
  for (std::uint32_t i = 0; i < failed; ++i) limited = limited || limits_later(list_.demands[i]);
  if (!limited) return false;
  // An instance may have fewer cores than were asked: then the least need is not known.
  if (quota_.active() && !has_partitioned_ && quota_.hopeless()) return false;
  ledger_.rollback(0);
  survey(list_.demands[failed], scratch_);
  return enough(list_.demands[failed], scratch_);
}

bool Fitter::search(std::uint32_t demand_index) {
  if (demand_index == list_.demands.size()) return true;
  const Demand& demand = list_.demands[demand_index];
  Survey found;
  survey(demand, found);
  if (!enough(demand, found)) return false;
  bool final = false;
  if (search_choice(demand_index, final)) return true;
  if (final) return false;
  sort_cards(demand, found);
  if (!numa_bound(demand)) return search_cards(demand_index, found.cards, 0, ledger_.mark());
  for (const std::vector<Card>& group : found.groups) {
    if (search_cards(demand_index, group, 0, ledger_.mark())) return true;
    if (!limits_later(demand)) return false;
  }
  return false;
}

/// The set that a vendor or the links choose, tried before all others; `final` = there are no
/// others.
bool Fitter::search_choice(std::uint32_t demand_index, bool& final) {
  const Demand& demand = list_.demands[demand_index];
  const bool hooked = list_.vendors[demand.vendor].rules.hooks != nullptr;
  if (!hooked && !linked()) return false;
  if (--steps_left_ < 0) {
    final = true;
    return false;
  }
  const Ledger::Mark mark = ledger_.mark();
  const Reject told = reject_;
  Survey listed;
  const auto order = order_for(demand, listed);
  bool taken = false;
  const Hooked choice =
      hooked ? choose_by_hook(demand_index, order, look(demand_index, order)) : Hooked::kNoOpinion;
  if (choice != Hooked::kNoOpinion) {
    final = true;
    taken = choice == Hooked::kTaken;
  } else if (linked()) {
    taken = hami_mode_ || !numa_bound(demand) ? choose_in_order(demand_index, listed, order)
                                              : choose_in_groups(demand_index, listed, order);
  }
  reject_ = told;
  if (taken && search(demand_index + 1)) return true;
  ledger_.rollback(mark);
  return false;
}

bool Fitter::search_cards(std::uint32_t demand_index, const std::vector<Card>& cards,
                          std::size_t from, Ledger::Mark start) {
  const auto taken = static_cast<std::int64_t>(ledger_.mark() - start);
  if (taken == list_.demands[demand_index].count) {
    if (linked()) note_links(demand_index, cards);
    return search(demand_index + 1);
  }
  for (std::size_t at = from; at < cards.size(); ++at) {
    const bool partitioned = node_->spec.devices[cards[at].device].partitioned();
    if (tried_equal(cards, from, at)) continue;
    if (--steps_left_ < 0) return false;
    const Ledger::Mark mark = ledger_.mark();
    if (!take_more(demand_index, std::span(cards).subspan(at, 1), start)) continue;
    // A partitioned card may serve once more.
    if (search_cards(demand_index, cards, partitioned ? at : at + 1, start)) return true;
    ledger_.rollback(mark);
    if (!limits_later(list_.demands[demand_index])) return false;
  }
  return false;
}

/// A card in the same state as one that led nowhere leads nowhere.
bool Fitter::tried_equal(const std::vector<Card>& cards, std::size_t from, std::size_t at) const {
  const std::vector<Device>& devices = node_->spec.devices;
  const Device& candidate = devices[cards[at].device];
  for (std::size_t i = from; i < at; ++i) {
    const Device& tried = devices[cards[i].device];
    if (tried.slots == candidate.slots && tried.memory == candidate.memory &&
        tried.cores == candidate.cores && tried.numa == candidate.numa &&
        tried.mig == candidate.mig && ledger_.same_state(cards[i].device, cards[at].device)) {
      return true;
    }
  }
  return false;
}

}  // namespace tessera::core
