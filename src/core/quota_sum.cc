#include "core/quota_sum.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/allocation.h"

namespace tessera::core {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kWholeCard = 100;

/// Neither is negative.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

}  // namespace

std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kMost : std::numeric_limits<std::int64_t>::min();
}

void QuotaSum::raise(Amount& amount, const Amount& by) {
  amount.count = saturating_sum(amount.count, by.count);
  amount.memory = saturating_sum(amount.memory, by.memory);
  amount.cores = saturating_sum(amount.cores, by.cores);
}

void QuotaSum::begin() {
  rows_.clear();
  inits_.clear();
  needs_.clear();
}

QuotaSum::Row& QuotaSum::row_of(VendorId vendor) {
  const auto at = std::lower_bound(rows_.begin(), rows_.end(), vendor,
                                   [](const Row& row, VendorId v) { return row.vendor < v; });
  if (at != rows_.end() && at->vendor == vendor) return *at;
  return *rows_.insert(at, Row{vendor, {}, {}});
}

QuotaSum::InitRow& QuotaSum::init_row_of(VendorId vendor, std::uint32_t position) {
  const std::pair key(vendor, position);
  const auto at = std::lower_bound(
      inits_.begin(), inits_.end(), key,
      [](const InitRow& row, const auto& k) { return std::pair(row.vendor, row.position) < k; });
  if (at != inits_.end() && std::pair(at->vendor, at->position) == key) return *at;
  return *inits_.insert(at, InitRow{vendor, position, {}});
}

void QuotaSum::add_lasting(VendorId vendor, const Amount& amount) {
  raise(row_of(vendor).lasting, amount);
}

void QuotaSum::add(VendorId vendor, PositionKind kind, std::uint32_t position,
                   const Amount& amount) {
  if (kind == PositionKind::kSidecar) return add_lasting(vendor, amount);
  Row& row = row_of(vendor);
  raise(kind == PositionKind::kApp ? row.apps : init_row_of(vendor, position).amount, amount);
}

/// Lasting + max(largest init container, sum of apps), per vendor over all cards.
const QuotaNeeds& QuotaSum::finish() {
  for (const Row& row : rows_) {
    Amount peak = row.apps;
    for (const InitRow& init : inits_) {
      if (init.vendor != row.vendor) continue;
      peak.count = std::max(peak.count, init.amount.count);
      peak.memory = std::max(peak.memory, init.amount.memory);
      peak.cores = std::max(peak.cores, init.amount.cores);
    }
    raise(peak, row.lasting);
    if (peak.count == 0 && peak.memory == 0 && peak.cores == 0) continue;
    needs_.push_back({row.vendor, peak.count, peak.memory, peak.cores});
  }
  return needs_;
}

const QuotaNeeds& QuotaSum::of(const Allocation& allocation) {
  begin();
  for (const Grant& grant : allocation.grants) {
    const Amount amount{1, grant.memory.v, grant.cores.v};
    const PositionKind kind = grant.position < allocation.kinds.size()
                                  ? allocation.kinds[grant.position]
                                  : PositionKind::kApp;
    if (grant.mig) {
      add_lasting(grant.vendor, amount);
    } else if (kind != PositionKind::kInit || !allocation.init_finished) {
      add(grant.vendor, kind, grant.position, amount);
    }
  }
  return finish();
}

const QuotaNeeds& QuotaSum::of(const Request& request) {
  begin();
  for (std::uint32_t position = 0; position < request.positions.size(); ++position) {
    for (const DeviceAsk& ask : request.positions[position].asks) {
      if (ask.count <= 0) continue;
      const std::int64_t memory = std::max<std::int64_t>(ask.memory.v, 0);
      const std::int64_t cores = std::clamp<std::int64_t>(ask.cores.v, 0, kWholeCard);
      add(ask.vendor, request.positions[position].kind, position,
          {ask.count, times(memory, ask.count), times(cores, ask.count)});
    }
  }
  return finish();
}

QuotaNeeds quota_needs(const Allocation& allocation) { return QuotaSum().of(allocation); }
QuotaNeeds quota_needs(const Request& request) { return QuotaSum().of(request); }

}  // namespace tessera::core
