#include "core/quota_check.h"

namespace tessera::core {
namespace {

constexpr std::size_t kRemembered = 32;

}  // namespace

QuotaCheck::QuotaCheck(const Cluster& cluster, const Request& request)
    : cluster_(cluster), request_(request), active_(cluster.quotas().limits(request.subject.ns)) {
  if (!active_) return;
  for (const Position& position : request.positions) trial_.kinds.push_back(position.kind);
  if (const Hold* hold = cluster.hold(request.uid); hold != nullptr) {
    freed_ = quota_needs(hold->allocation);
  }
}

bool QuotaCheck::allows(const DemandList& list, std::span<const Ledger::Entry> taken,
                        const Demand& demand, const Ledger::Slice& slice) {
  items_.clear();
  for (const Ledger::Entry& entry : taken) {
    const Ledger::Slice& s = entry.slice;
    items_.push_back({list.vendors[list.demands[entry.demand].vendor].id, s.position,
                      s.usage.memory, s.usage.cores, s.mig.has_value()});
  }
  items_.push_back({list.vendors[demand.vendor].id, slice.position, slice.usage.memory,
                    slice.usage.cores, slice.mig.has_value()});
  for (const Verdict& verdict : known_) {
    if (verdict.items == items_) return verdict.allowed;
  }
  trial_.grants.clear();
  for (const Item& item : items_) {
    Grant grant{item.position, item.vendor, {}, item.memory, item.cores, std::nullopt};
    if (item.instance) grant.mig.emplace();
    trial_.grants.push_back(std::move(grant));
  }
  const bool allowed = ask();
  if (known_.size() == kRemembered) known_.erase(known_.begin());
  known_.push_back({items_, allowed});
  return allowed;
}

bool QuotaCheck::hopeless() {
  if (!hopeless_) {
    hopeless_ =
        cluster_.quotas().excess(request_.subject, quota_needs(request_), freed_).has_value();
  }
  return *hopeless_;
}

bool QuotaCheck::ask() const {
  return !cluster_.quotas().excess(request_.subject, quota_needs(trial_), freed_);
}

}  // namespace tessera::core
