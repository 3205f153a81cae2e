/// quota_needs() in memory that is used again: the books ask with every change.
/// Thread rule: plain object of one caller.
#pragma once

#include <cstdint>
#include <vector>

#include "core/quota.h"
#include "core/request.h"

namespace tessera::core {

/// The largest or smallest figure there is where the sum is beyond it.
std::int64_t saturating_sum(std::int64_t a, std::int64_t b);

class QuotaSum {
 public:
  /// What quota_needs() says; good until the next question.
  const QuotaNeeds& of(const Allocation& allocation);
  const QuotaNeeds& of(const Request& request);

 private:
  struct Amount {
    std::int64_t count = 0, memory = 0, cores = 0;
  };
  struct Row {
    VendorId vendor;
    Amount lasting, apps;
  };
  struct InitRow {
    VendorId vendor;
    std::uint32_t position = 0;
    Amount amount;
  };
  static void raise(Amount& amount, const Amount& by);
  void begin();
  Row& row_of(VendorId vendor);
  InitRow& init_row_of(VendorId vendor, std::uint32_t position);
  void add_lasting(VendorId vendor, const Amount& amount);
  void add(VendorId vendor, PositionKind kind, std::uint32_t position, const Amount& amount);
  const QuotaNeeds& finish();

  std::vector<Row> rows_;       ///< by vendor
  std::vector<InitRow> inits_;  ///< by vendor, position
  QuotaNeeds needs_;
};

}  // namespace tessera::core
