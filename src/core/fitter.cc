#include "core/fitter.h"

#include <algorithm>
#include <map>

namespace tessera::core {

Fitter::Fitter(const Cluster& cluster, const Request& request)
    : cluster_(cluster),
      request_(request),
      list_(request, cluster.rules()),
      check_(list_),
      vendor_cards_(list_.vendors.size()),
      view_(list_.vendors.size()) {
  if (const Hold* hold = cluster.hold(request.uid); hold != nullptr) {
    own_charges_ = effective_charges(hold->allocation);
    own_node_ = cluster.find_node(hold->allocation.node);
  }
}

void Fitter::find_own_use(const Node& node, NodeId id) {
  own_.clear();
  if (id != own_node_) return;
  for (const Charge& charge : own_charges_) {
    const std::size_t device = find_device(node.spec.devices, charge.vendor, charge.device);
    if (device == node.used.size()) continue;
    own_.push_back({static_cast<std::uint32_t>(device), charge.usage});
  }
}

void Fitter::count_cards() {
  const std::vector<bool>& offered = node_->spec.offered;
  for (std::size_t row = 0; row < list_.vendors.size(); ++row) {
    const VendorId id = list_.vendors[row].id;
    const bool counts = id.v < offered.size() && offered[id.v];
    vendor_cards_[row] = counts ? node_->sum_of(id).devices : 0;
  }
}

bool Fitter::fit(NodeId id) {
  reject_ = {};
  if (!id.valid() || id.v >= cluster_.node_count() || !cluster_.node(id).present) {
    reject_.node_reason = NodeReason::kUnregistered;
    return false;
  }
  node_ = &cluster_.node(id);
  find_own_use(*node_, id);
  ledger_.open(*node_, own_);
  if (list_.demands.empty()) return true;
  count_cards();
  if (std::all_of(vendor_cards_.begin(), vendor_cards_.end(), [](auto n) { return n == 0; })) {
    refuse(NodeReason::kUnregistered, list_.demands.front(), 0);
    return false;
  }
  return choose_greedily();
}

void Fitter::refuse(NodeReason reason, const Demand& demand, std::uint32_t devices) {
  reject_ = {};
  reject_.node_reason = reason;
  reject_.devices = devices;
  reject_.position = demand.position;
  reject_.asked = static_cast<std::uint32_t>(std::min<std::int64_t>(demand.count, UINT32_MAX));
}

bool Fitter::choose_greedily() {
  for (std::uint32_t i = 0; i < list_.demands.size(); ++i) {
    const Demand& demand = list_.demands[i];
    if (demand.count > vendor_cards_[demand.vendor]) {
      refuse(NodeReason::kInsufficientDevice, demand, vendor_cards_[demand.vendor]);
      return false;
    }
    if (choose(i)) continue;
    if (!search_helps(i)) return false;
    steps_left_ = kSearchSteps;
    return search(0);
  }
  return true;
}

bool Fitter::choose(std::uint32_t demand_index) {
  const Demand& demand = list_.demands[demand_index];
  survey(demand, scratch_);
  if (!enough(demand, scratch_)) {
    explain_shortage(demand, scratch_);
    reject_ = scratch_.reject;
    return false;
  }
  const auto count = static_cast<std::size_t>(demand.count);
  if (count == 1 && !numa_bound(demand)) {
    // By far the most common request: no need to sort.
    take(demand_index, *std::min_element(scratch_.cards.begin(), scratch_.cards.end(),
                                         [this](const Card& a, const Card& b) {
                                           return better(scratch_, a, b);
                                         }));
    return true;
  }
  sort_cards(demand, scratch_);
  const std::vector<Card>& cards = numa_bound(demand) ? scratch_.groups.front() : scratch_.cards;
  for (std::size_t i = 0; i < count; ++i) take(demand_index, cards[i]);
  return true;
}

bool Fitter::numa_bound(const Demand& demand) const {
  const Constraints* constraints = list_.vendors[demand.vendor].constraints;
  return constraints != nullptr && constraints->numa_bind;
}

void Fitter::take(std::uint32_t demand_index, const Card& card) {
  const Demand& demand = list_.demands[demand_index];
  ledger_.take(card.device, {demand.position, demand.kind, card.slice}, demand_index);
}

void Fitter::survey(const Demand& demand, Survey& out) {
  out.cards.clear();
  out.keys.clear();
  out.groups.clear();
  out.reject = {};
  out.reject.position = demand.position;
  out.reject.asked = static_cast<std::uint32_t>(std::min<std::int64_t>(demand.count, UINT32_MAX));
  if (vendor_cards_[demand.vendor] == 0) return;
  const VendorId vendor = list_.vendors[demand.vendor].id;
  const std::vector<Device>& devices = node_->spec.devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    if (device.vendor != vendor) continue;
    ++out.reject.devices;
    CardReason reason = check_.eligible(node_->spec, device, demand.vendor);
    if (reason == CardReason::kCount) {
      reason = check_.has_room(demand, device, ledger_.seen(i, demand.kind, demand.position));
    }
    if (reason != CardReason::kCount) {
      ++out.reject.count(reason);
      continue;
    }
    Card card{i, device.index, 0, {1, memory_of(demand, device), demand.cores}};
    add_keys(demand, card, out);
    out.cards.push_back(card);
  }
}

bool Fitter::enough(const Demand& demand, const Survey& survey) const {
  const auto count = static_cast<std::size_t>(demand.count);
  if (survey.cards.size() < count) return false;
  if (!numa_bound(demand)) return true;
  std::map<std::int64_t, std::size_t> by_node;
  for (const Card& card : survey.cards) {
    if (++by_node[node_->spec.devices[card.device].numa] >= count) return true;
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
  for (const Device& device : node_->spec.devices) {
    if (device.vendor != list_.vendors[demand.vendor].id) continue;
    if (check_.eligible(node_->spec, device, demand.vendor) != CardReason::kCount) continue;
    lowest = std::min(lowest, device.numa);
  }
  return lowest;
}

void Fitter::add_keys(const Demand& demand, Card& card, Survey& out) const {
  const Usage before = ledger_.total(card.device);
  const Usage after = ledger_.total_with(card.device, {demand.position, demand.kind, card.slice});
  const DeviceView view{node_->spec.devices[card.device], before, after};
  card.keys = static_cast<std::uint32_t>(out.keys.size());
  for (const DevicePolicy* policy : request_.device_policies) {
    out.keys.push_back(policy->key(view));
  }
}

bool Fitter::better(const Survey& survey, const Card& a, const Card& b) const {
  for (std::size_t k = 0; k < request_.device_policies.size(); ++k) {
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
    if (cards.size() >= count) survey.groups.push_back(std::move(cards));
  }
  std::stable_sort(survey.groups.begin(), survey.groups.end(),
                   [&](const auto& a, const auto& b) { return better_group(survey, count, a, b); });
}

/// By the sum of the keys of the cards that would be taken, policy by policy; then the group with
/// the better first card.
bool Fitter::better_group(const Survey& survey, std::size_t count, const std::vector<Card>& a,
                          const std::vector<Card>& b) const {
  for (std::size_t k = 0; k < request_.device_policies.size(); ++k) {
    std::int64_t left = 0, right = 0;
    for (std::size_t i = 0; i < count; ++i) {
      left += survey.keys[a[i].keys + k];
      right += survey.keys[b[i].keys + k];
    }
    if (left != right) return left > right;
  }
  return better(survey, a.front(), b.front());
}

NodeKey Fitter::node_key() {
  for (std::size_t row = 0; row < list_.vendors.size(); ++row) {
    const Node::VendorSum sum = node_->sum_of(list_.vendors[row].id);
    view_[row] = {sum.load_ppm, sum.devices};
  }
  // The kept sums are of the node as it is; correct them where this pod changes something, each
  // device once.
  changed_.clear();
  for (const Ledger::OwnUse& own : own_) changed_.push_back(own.device);
  for (const Ledger::Entry& entry : ledger_.entries()) changed_.push_back(entry.device);
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const std::uint32_t i : changed_) {
    const Device& device = node_->spec.devices[i];
    for (std::size_t row = 0; row < list_.vendors.size(); ++row) {
      if (list_.vendors[row].id != device.vendor) continue;
      view_[row].load_sum_ppm += load_ppm(device, ledger_.total(i)) - node_->load[i];
    }
  }
  return {0, request_.node_policy->key({view_})};
}

Allocation Fitter::allocation() const {
  Allocation result;
  result.node = node_->spec.name;
  for (const Position& position : request_.positions) result.kinds.push_back(position.kind);
  for (const Ledger::Entry& entry : ledger_.entries()) {
    const Device& device = node_->spec.devices[entry.device];
    result.grants.push_back({entry.slice.position, device.vendor, device.id,
                             entry.slice.usage.memory, entry.slice.usage.cores, std::nullopt});
  }
  return result;
}

}  // namespace tessera::core
