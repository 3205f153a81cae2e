#include "core/ledger.h"

namespace tessera::core {

void Ledger::open(const Node& node, std::span<const OwnUse> own) {
  rollback(0);
  if (shares_.size() < node.used.size()) shares_.resize(node.used.size());
  adjusted_.clear();
  base_ = node.used;
  if (own.empty()) return;
  adjusted_ = node.used;
  for (const OwnUse& use : own) adjusted_[use.device] -= use.usage;
  base_ = adjusted_;
}

void Ledger::rollback(Mark mark) {
  while (log_.size() > mark) {
    shares_[entries_.back().device] = log_.back();
    entries_.pop_back();
    log_.pop_back();
  }
}

void Ledger::take(std::uint32_t device, const Slice& slice, std::uint32_t demand) {
  entries_.push_back({device, demand, slice});
  log_.push_back(shares_[device]);
  add(shares_[device], slice);
}

void Ledger::add(Share& share, const Slice& slice) {
  share.touched = true;
  switch (slice.kind) {
    case PositionKind::kSidecar:
      share.sidecars += slice.usage;
      return;
    case PositionKind::kApp:
      share.apps += slice.usage;
      return;
    case PositionKind::kInit:
      break;
  }
  if (share.init_position != slice.position) share.current_init = {};
  share.init_position = slice.position;
  share.current_init += slice.usage;
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
  return base_[a] == base_[b] && shares_[a] == shares_[b];
}

}  // namespace tessera::core
