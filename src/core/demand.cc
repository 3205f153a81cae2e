#include "core/demand.h"

#include <algorithm>

namespace tessera::core {
namespace {

constexpr std::int64_t kWholeCard = 100;

std::uint32_t vendor_row(DemandList& list, const Request& request, const VendorTable& rules,
                         VendorId id) {
  for (std::uint32_t row = 0; row < list.vendors.size(); ++row) {
    if (list.vendors[row].id == id) return row;
  }
  AskedVendor asked{id, id.v < rules.size() ? rules[id.v] : VendorRules{}, nullptr};
  for (const Constraints& constraints : request.constraints) {
    if (constraints.vendor == id) asked.constraints = &constraints;
  }
  list.vendors.push_back(asked);
  return static_cast<std::uint32_t>(list.vendors.size() - 1);
}

/// Whether cards taken by `earlier` are in use when `later` looks for cards (see Ledger::seen).
bool limits(const Demand& earlier, const Demand& later) {
  if (earlier.vendor != later.vendor) return false;
  if (earlier.position == later.position) return true;
  if (earlier.kind == PositionKind::kSidecar || later.kind == PositionKind::kSidecar) return true;
  return earlier.kind == PositionKind::kApp && later.kind == PositionKind::kApp;
}

}  // namespace

DemandList::DemandList(const Request& request, const VendorTable& rules) {
  for (std::uint32_t position = 0; position < request.positions.size(); ++position) {
    for (const DeviceAsk& ask : request.positions[position].asks) {
      if (ask.count <= 0) continue;
      Demand demand;
      demand.position = position;
      demand.kind = request.positions[position].kind;
      demand.vendor = vendor_row(*this, request, rules, ask.vendor);
      demand.count = ask.count;
      demand.memory = std::max(ask.memory, MiB{});
      const bool has_percent = ask.memory_percent > 0 && ask.memory_percent < DeviceAsk::kNoPercent;
      if (demand.memory == MiB{} && has_percent) demand.percent = ask.memory_percent;
      demand.cores = {std::clamp<std::int64_t>(ask.cores.v, 0, kWholeCard)};
      demands.push_back(demand);
    }
  }
  for (std::size_t i = 0; i < demands.size(); ++i) {
    for (std::size_t k = i + 1; k < demands.size(); ++k) {
      if (limits(demands[i], demands[k])) demands[i].limits_later = true;
      if (demands[i].vendor == demands[k].vendor) demands[i].instances_limit_later = true;
    }
  }
}

}  // namespace tessera::core
