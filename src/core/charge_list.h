/// effective_charges() in memory that is used again: the books ask with every change.
/// Thread rule: plain object of one caller.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/allocation.h"

namespace tessera::core {

class ChargeList {
 public:
  /// What effective_charges() says; good until the next question. The allocation is not referred
  /// to.
  std::span<const Charge> of(const Allocation& allocation);

 private:
  /// An empty one behind the others, in the memory of an earlier one.
  Charge& append(VendorId vendor, const std::string& device);
  void append_sum(const Allocation& allocation, std::span<const Grant* const> of_one_device);
  void add_stray(const MigReservation& stray);

  std::vector<Charge> charges_;  ///< those behind count_ are memory only
  std::size_t count_ = 0;
  std::vector<const Grant*> grants_;
};

}  // namespace tessera::core
