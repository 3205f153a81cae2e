#include "core/fitter.h"

#include <algorithm>
#include <cmath>

namespace tessera::core {

Fitter::Fitter(const Cluster& cluster, const Request& request)
    : cluster_(cluster),
      request_(request),
      list_(request, cluster.rules()),
      check_(list_, request),
      quota_(cluster, request),
      hami_(request, list_, cluster.rules()),
      key_count_(request.mode == ScoreMode::kHami ? 1 : request.device_policies.size()),
      hami_mode_(request.mode == ScoreMode::kHami),
      vendor_cards_(list_.vendors.size()),
      view_(list_.vendors.size()),
      link_values_(list_.demands.size(), 0) {
  for (const AskedVendor& vendor : list_.vendors) {
    has_hooks_ = has_hooks_ || vendor.rules.hooks != nullptr;
  }
  if (const Hold* hold = cluster.hold(request.uid); hold != nullptr) {
    own_charges_ = effective_charges(hold->allocation);
    own_node_ = cluster.find_node(hold->allocation.node);
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
  own_.clear();
  if (id == own_node_) own_ = Ledger::own_uses(*node_, own_charges_);
  ledger_.open(*node_, own_);
  if (list_.demands.empty()) return true;
  count_cards();
  if (std::all_of(vendor_cards_.begin(), vendor_cards_.end(), [](auto n) { return n == 0; })) {
    refuse(
        offers_anything(node_->spec) ? NodeReason::kInsufficientDevice : NodeReason::kUnregistered,
        list_.demands.front(), 0);
    return false;
  }
  if (hami_mode_) hami_.open(node_->spec);
  return choose_greedily();
}

void Fitter::refuse(NodeReason reason, const Demand& demand, std::uint32_t devices) {
  reject_ = empty_reject(demand);
  reject_.node_reason = reason;
  reject_.devices = devices;
}

/// Instances are not counted against cards, as long as the pod may use them.
bool Fitter::too_few_cards(const Demand& demand) const {
  if (demand.count <= vendor_cards_[demand.vendor]) return false;
  if (vendor_cards_[demand.vendor] == 0) return true;
  const AskedVendor& vendor = list_.vendors[demand.vendor];
  const auto& devices = node_->spec.devices;
  return std::none_of(devices.begin(), devices.end(), [&](const Device& device) {
    if (!device.partitioned() || device.vendor != vendor.id) return false;
    return vendor.constraints == nullptr || !vendor.constraints->modes ||
           vendor.constraints->modes->find(device.mode) != std::string::npos;
  });
}

bool Fitter::choose_greedily() {
  for (std::uint32_t i = 0; i < list_.demands.size(); ++i) {
    const Demand& demand = list_.demands[i];
    if (too_few_cards(demand)) {
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
  if (needs_walk(demand)) return choose_by_walk(demand_index);
  survey(demand, scratch_);
  return scratch_.partitioned ? choose_by_walk(demand_index) : choose_plainly(demand_index);
}

/// From the survey in scratch_.
bool Fitter::choose_plainly(std::uint32_t demand_index) {
  const Demand& demand = list_.demands[demand_index];
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

void Fitter::take(std::uint32_t demand_index, const Card& card) {
  const Demand& demand = list_.demands[demand_index];
  ledger_.take(card.device, {demand.position, demand.kind, card.slice, card.mig}, demand_index);
  profiles_.resize(ledger_.mark());
  profiles_.back() = card.profile;
}

Allocation Fitter::allocation() const {
  Allocation result;
  result.node = node_->spec.name;
  result.subject = request_.subject;
  result.kinds.reserve(request_.positions.size());
  for (const Position& position : request_.positions) result.kinds.push_back(position.kind);
  const std::vector<Ledger::Entry>& entries = ledger_.entries();
  result.grants.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Ledger::Slice& slice = entries[i].slice;
    const Device& device = node_->spec.devices[entries[i].device];
    Grant& grant = result.grants.emplace_back();
    grant.position = slice.position;
    grant.vendor = device.vendor;
    grant.device = device.id;
    grant.memory = slice.usage.memory;
    grant.cores = slice.usage.cores;
    if (slice.mig) grant.mig = MigSlice{(*device.mig)[profiles_[i]].name, *slice.mig, {}};
    grant.traits = request_.traits_of(device.vendor);
  }
  return result;
}

}  // namespace tessera::core
