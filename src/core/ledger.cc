#include "core/ledger.h"

#include <algorithm>

namespace tessera::core {

void Ledger::open(const Node& node, std::span<const OwnUse> own) {
  rollback(0);
  node_ = &node;
  if (shares_.size() < node.used.size()) shares_.resize(node.used.size());
  adjusted_.clear();
  mig_.clear();
  own_lost_ = 0;
  base_ = node.used;
  if (own.empty()) return;
  adjusted_ = node.used;
  for (const OwnUse& use : own) free_own(node, use);
  base_ = adjusted_;
}

void Ledger::free_own(const Node& node, const OwnUse& own) {
  if (own.device == kAbsent) {
    own_lost_ += static_cast<std::uint32_t>(own.instances.size());
    return;
  }
  adjusted_[own.device] -= own.usage;
  if (own.instances.empty() && own.plain == 0) return;
  if (!node.spec.devices[own.device].partitioned()) {
    if (own.instances.empty()) return;
    changed(own.device).own_unexplained = static_cast<std::uint32_t>(own.instances.size());
    return;
  }
  MigChange& change = changed(own.device);
  change.own_unexplained = own.plain;
  for (const MigPlacement& placement : own.instances) {
    const auto at = std::lower_bound(change.occupied.begin(), change.occupied.end(), placement);
    if (at != change.occupied.end() && *at == placement) change.occupied.erase(at);
  }
}

std::vector<Ledger::OwnUse> Ledger::own_uses(const Node& node, std::span<const Charge> charges) {
  std::vector<OwnUse> uses;
  for (const Charge& charge : charges) {
    const std::size_t device = find_device(node.spec.devices, charge.vendor, charge.device);
    const bool here = device < node.spec.devices.size();
    uses.push_back({here ? static_cast<std::uint32_t>(device) : kAbsent, charge.usage,
                    charge.instances, charge.plain});
  }
  return uses;
}

void Ledger::rollback(Mark mark) {
  while (log_.size() > mark) {
    const Entry& entry = entries_.back();
    shares_[entry.device] = log_.back();
    if (entry.slice.mig) {
      auto& occupied = changed(entry.device).occupied;
      occupied.erase(std::lower_bound(occupied.begin(), occupied.end(), *entry.slice.mig));
    }
    entries_.pop_back();
    log_.pop_back();
  }
}

void Ledger::take(std::uint32_t device, const Slice& slice, std::uint32_t demand) {
  entries_.push_back({device, demand, slice});
  log_.push_back(shares_[device]);
  add(shares_[device], slice);
  if (!slice.mig) return;
  auto& occupied = changed(device).occupied;
  occupied.insert(std::upper_bound(occupied.begin(), occupied.end(), *slice.mig), *slice.mig);
}

const Ledger::MigChange* Ledger::change_of(std::uint32_t device) const {
  for (const MigChange& change : mig_) {
    if (change.device == device) return &change;
  }
  return nullptr;
}

Ledger::MigChange& Ledger::changed(std::uint32_t device) {
  for (MigChange& change : mig_) {
    if (change.device == device) return change;
  }
  const std::span<const MigPlacement> occupied = node_->occupied(device);
  return mig_.emplace_back(MigChange{device, {occupied.begin(), occupied.end()}, 0});
}

std::span<const MigPlacement> Ledger::occupied(std::uint32_t device) const {
  const MigChange* change = change_of(device);
  return change == nullptr ? node_->occupied(device) : std::span(change->occupied);
}

bool Ledger::explained_one(std::uint32_t device) const {
  const MigChange* change = change_of(device);
  const std::uint32_t own = change == nullptr ? 0 : change->own_unexplained;
  if (node_->unexplained(device) > own) return false;
  return !node_->spec.devices[device].partitioned() || node_->lost_instances <= own_lost_;
}

void Ledger::add(Share& share, const Slice& slice) {
  share.touched = true;
  const Usage usage = cost(slice);
  if (slice.mig || slice.kind == PositionKind::kSidecar) {
    share.sidecars += usage;
    return;
  }
  if (slice.kind == PositionKind::kApp) {
    share.apps += usage;
    return;
  }
  if (share.init_position != slice.position) share.current_init = {};
  share.init_position = slice.position;
  share.current_init += usage;
  share.init_peak = larger(share.init_peak, share.current_init);
}

Usage Ledger::effective(const Share& share) {
  Usage sum = share.sidecars;
  sum += larger(share.init_peak, share.apps);
  return sum;
}

Usage Ledger::seen_with_share(std::uint32_t device, PositionKind kind,
                              std::uint32_t position) const {
  Usage sum = base_[device];
  const Share& share = shares_[device];
  sum += share.sidecars;
  if (kind == PositionKind::kApp) {
    sum += share.apps;
  } else if (kind == PositionKind::kSidecar) {
    sum += larger(share.init_peak, share.apps);
  } else if (share.init_position == position) {
    sum += share.current_init;
  }
  return sum;
}

Usage Ledger::total_with_share(std::uint32_t device, const Slice& slice) const {
  Share share = shares_[device];
  add(share, slice);
  Usage sum = base_[device];
  sum += effective(share);
  return sum;
}

bool Ledger::same_state(std::uint32_t a, std::uint32_t b) const {
  if (base_[a] != base_[b] || shares_[a] != shares_[b]) return false;
  const auto left = occupied(a), right = occupied(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end()) &&
         explained(a) == explained(b);
}

}  // namespace tessera::core
