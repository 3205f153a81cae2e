// The part of Fitter that looks at the cards of a node: who fits, in which order.
#include <algorithm>
#include <map>

#include "core/fitter.h"
#include "core/mig.h"

namespace tessera::core {

Reject Fitter::empty_reject(const Demand& demand) const {
  Reject reject;
  reject.position = demand.position;
  reject.asked = static_cast<std::uint32_t>(std::min<std::int64_t>(demand.count, UINT32_MAX));
  return reject;
}

bool Fitter::numa_bound(const Demand& demand) const {
  const Constraints* constraints = list_.vendors[demand.vendor].constraints;
  return constraints != nullptr && constraints->numa_bind;
}

/// The vendor's own gate for the whole node.
bool Fitter::admitted(const Demand& demand, Reject& reject) const {
  const AskedVendor& vendor = list_.vendors[demand.vendor];
  if (vendor.rules.hooks == nullptr) return true;
  const CardReason reason = vendor.rules.hooks->admit_node(node_->spec, vendor);
  if (reason == CardReason::kCount) return true;
  reject = empty_reject(demand);
  reject.devices = vendor_cards_[demand.vendor];
  reject.count(reason) = 1;
  return false;
}

CardReason Fitter::standing(const Demand& demand, std::uint32_t device) {
  if (!ledger_.explained(device)) return CardReason::kNotHealthy;
  return check_.eligible(node_->spec, node_->spec.devices[device], demand.vendor);
}

/// May this container take one more slice of the card? The instance is chosen first, so that the
/// quota pays for what is really given (N-11). `seen` is the state before the container, `taken`
/// what counts for the quota beside the slice.
CardReason Fitter::judge(const Demand& demand, const Usage& seen,
                         std::span<const Ledger::Entry> taken, Card& card) {
  const Device& device = node_->spec.devices[card.device];
  CardReason reason = check_.open_for(demand, device, seen);
  if (reason != CardReason::kCount) return reason;
  if (!device.partitioned() && !quota_.active() && !has_hooks_) {
    return check_.has_room(demand, device, seen);
  }
  bool placed = true;
  if (device.partitioned()) {
    const auto choice = choose_mig(device, demand, ledger_.occupied(card.device), request_.mode);
    placed = choice.has_value();
    if (placed) {
      const MigProfile& profile = (*device.mig)[choice->profile];
      card.profile = choice->profile;
      card.slice = {1, profile.memory, profile.cores};
      card.mig = choice->placement;
    }
  }
  if (quota_.active() &&
      !quota_.allows(list_, taken, demand, {demand.position, demand.kind, card.slice, card.mig})) {
    return CardReason::kQuotaNotFit;
  }
  reason = check_.has_room(demand, device, seen);
  if (reason != CardReason::kCount) return reason;
  const AskedVendor& vendor = list_.vendors[demand.vendor];
  if (!placed) {
    // Told as what a user can act on: the memory is gone, or it is there but cut up.
    const bool short_of_memory = device.memory - seen.memory < memory_of(demand, device);
    return short_of_memory ? CardReason::kInsufficientMemory : CardReason::kMigTopologyInfeasible;
  }
  if (device.partitioned() && vendor.rules.slots_count &&
      ledger_.seen(card.device, demand.kind, demand.position).slots >= device.slots) {
    return CardReason::kTimeSlicingExhausted;
  }
  if (vendor.rules.hooks == nullptr) return CardReason::kCount;
  return vendor.rules.hooks->admit_card(device, seen, demand, vendor);
}

Fitter::Card& Fitter::fill(const Demand& demand, std::uint32_t device, Card& card) const {
  const Device& d = node_->spec.devices[device];
  card.device = device;
  card.index = d.index;
  card.slice.slots = 1;
  card.slice.memory = memory_of(demand, d);
  card.slice.cores = demand.cores;
  return card;
}

Fitter::Card Fitter::card_for(const Demand& demand, std::uint32_t device) const {
  Card card;
  return fill(demand, device, card);
}

void Fitter::survey(const Demand& demand, Survey& out) {
  out.cards.clear();
  out.keys.clear();
  out.groups.clear();
  out.partitioned = false;
  out.reject = empty_reject(demand);
  if (vendor_cards_[demand.vendor] == 0) return;
  if (!admitted(demand, out.reject)) return;
  const VendorId vendor = list_.vendors[demand.vendor].id;
  const std::vector<Device>& devices = node_->spec.devices;
  const bool plain = !quota_.active() && !has_hooks_;
  Usage with_own;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    if (device.vendor != vendor) continue;
    ++out.reject.devices;
    out.partitioned = out.partitioned || device.partitioned();
    CardReason reason = standing(demand, i);
    if (reason == CardReason::kCount) {
      const bool touched = ledger_.touched(i);
      if (touched) with_own = ledger_.seen(i, demand.kind, demand.position);
      const Usage& seen = touched ? with_own : ledger_.base(i);
      if (plain && !device.partitioned()) {
        reason = check_.plainly(demand, device, seen);
        if (reason == CardReason::kCount) {
          add_keys(demand, fill(demand, i, out.cards.emplace_back()), out);
          continue;
        }
      } else {
        Card card;
        reason = judge(demand, seen, ledger_.entries(), fill(demand, i, card));
        if (reason == CardReason::kCount) {
          if (device.partitioned()) count_instances(demand, Usage(seen), card);
          add_keys(demand, out.cards.emplace_back(card), out);
          continue;
        }
      }
    }
    ++out.reject.count(reason);
  }
  if (!hami_mode_) return;
  const auto order = hami_.scan(demand, ledger_);
  for (const Card& card : out.cards) {
    const auto place = std::find(order.begin(), order.end(), card.device) - order.begin();
    out.keys[card.keys] = -static_cast<std::int64_t>(place);
  }
}

/// How many instances one container could have on this card.
void Fitter::count_instances(const Demand& demand, const Usage& seen, Card& card) {
  const Ledger::Mark start = ledger_.mark();
  Card next = card;
  for (card.times = 1; card.times < demand.count; ++card.times) {
    ledger_.take(card.device, {demand.position, demand.kind, next.slice, next.mig});
    const auto taken = std::span(ledger_.entries()).first(start);
    if (judge(demand, seen, taken, next) != CardReason::kCount) break;
  }
  ledger_.rollback(start);
}

bool Fitter::enough(const Demand& demand, const Survey& survey) const {
  const auto count = static_cast<std::uint64_t>(demand.count);
  std::uint64_t sum = 0;
  if (!numa_bound(demand)) {
    if (!survey.partitioned) return survey.cards.size() >= count;
    for (const Card& card : survey.cards) sum += card.times;
    return sum >= count;
  }
  std::map<std::int64_t, std::uint64_t> by_node;
  for (const Card& card : survey.cards) {
    std::uint64_t& here = by_node[node_->spec.devices[card.device].numa];
    here += card.times;
    if (here >= count) return true;
  }
  return false;
}

/// Cards that would do, but are too few, have a reason too. Under NUMA bind a walk from the highest
/// NUMA node to the lowest drops what it had at every change of node: only the cards of the last
/// one count as allocated, the others as not fitting by NUMA.
void Fitter::explain_shortage(const Demand& demand, Survey& survey) {
  const auto fitting = static_cast<std::uint32_t>(survey.cards.size());
  std::uint32_t allocated = fitting;
  if (numa_bound(demand)) {
    const std::int64_t last = lowest_eligible_numa(demand);
    allocated = static_cast<std::uint32_t>(std::count_if(
        survey.cards.begin(), survey.cards.end(),
        [&](const Card& card) { return node_->spec.devices[card.device].numa == last; }));
  }
  survey.reject.count(CardReason::kAllocatedCardsInsufficient) = allocated;
  survey.reject.count(CardReason::kNumaNotFit) = fitting - allocated;
}

std::int64_t Fitter::lowest_eligible_numa(const Demand& demand) {
  std::int64_t lowest = INT64_MAX;
  const std::vector<Device>& devices = node_->spec.devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].vendor != list_.vendors[demand.vendor].id) continue;
    if (standing(demand, i) != CardReason::kCount) continue;
    lowest = std::min(lowest, devices[i].numa);
  }
  return lowest;
}

void Fitter::add_keys(const Demand& demand, Card& card, Survey& out) const {
  card.keys = static_cast<std::uint32_t>(out.keys.size());
  if (hami_mode_) {
    out.keys.push_back(0);  // the place in the scan, known later
    return;
  }
  Usage with_own;
  const Usage* before = &ledger_.base(card.device);
  if (ledger_.touched(card.device)) {
    with_own = ledger_.total(card.device);
    before = &with_own;
  }
  const Usage after =
      ledger_.total_with(card.device, {demand.position, demand.kind, card.slice, card.mig});
  const DeviceView view{node_->spec.devices[card.device], *before, after, request_.weights};
  for (const DevicePolicy* policy : request_.device_policies) {
    out.keys.push_back(policy->key(view));
  }
}

bool Fitter::better(const Survey& survey, const Card& a, const Card& b) const {
  for (std::size_t k = 0; k < key_count_; ++k) {
    const std::int64_t left = survey.keys[a.keys + k];
    const std::int64_t right = survey.keys[b.keys + k];
    if (left != right) return left > right;
  }
  if (a.index != b.index) return a.index < b.index;
  return a.device < b.device;
}

void Fitter::sort_cards(const Demand& demand, Survey& survey) const {
  std::sort(survey.cards.begin(), survey.cards.end(),
            [&](const Card& a, const Card& b) { return better(survey, a, b); });
  if (numa_bound(demand)) group_by_numa(demand, survey);
}

void Fitter::group_by_numa(const Demand& demand, Survey& survey) const {
  std::map<std::int64_t, std::vector<Card>> by_node;
  for (const Card& card : survey.cards) {
    by_node[node_->spec.devices[card.device].numa].push_back(card);
  }
  const auto count = static_cast<std::size_t>(demand.count);
  for (auto& [numa, cards] : by_node) {
    std::size_t room = 0;
    for (const Card& card : cards) room += card.times;
    if (room >= count) survey.groups.push_back(std::move(cards));
  }
  std::stable_sort(survey.groups.begin(), survey.groups.end(),
                   [&](const auto& a, const auto& b) { return better_group(survey, count, a, b); });
}

/// By the sum of the keys of the cards that would be taken, policy by policy; then the group with
/// the better first card.
bool Fitter::better_group(const Survey& survey, std::size_t count, const std::vector<Card>& a,
                          const std::vector<Card>& b) const {
  const auto sum = [&](const std::vector<Card>& cards, std::size_t key) {
    std::int64_t total = 0;
    std::size_t missing = count;
    for (const Card& card : cards) {
      const std::size_t here = std::min<std::size_t>(card.times, missing);
      total += static_cast<std::int64_t>(here) * survey.keys[card.keys + key];
      missing -= here;
      if (missing == 0) break;
    }
    return total;
  };
  for (std::size_t k = 0; k < key_count_; ++k) {
    const std::int64_t left = sum(a, k), right = sum(b, k);
    if (left != right) return left > right;
  }
  return better(survey, a.front(), b.front());
}

}  // namespace tessera::core
