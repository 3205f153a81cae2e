// Memory that is used again never shows in what is told: after any history of questions the next
// answer is that of a fresh list.
#include "core/charge_list.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "core/quota_sum.h"

namespace tessera::core {
namespace {

std::uint32_t below(std::uint32_t limit) { return *rc::gen::inRange<std::uint32_t>(0, limit); }

std::string device_name(std::uint32_t n) {
  return std::string(n * 9, 'x') + std::to_string(n);  // short ones and long ones
}

MigPlacement any_placement() { return {below(7), 1 + below(2)}; }

Allocation any_allocation() {
  Allocation a;
  for (std::uint32_t n = below(4); n > 0; --n)
    a.kinds.push_back(static_cast<PositionKind>(below(3)));
  for (std::uint32_t n = below(6); n > 0; --n) {
    Grant grant;
    grant.position = below(5);
    grant.vendor.v = static_cast<std::uint16_t>(below(2));
    grant.device = device_name(below(4));
    grant.memory = {below(100)};
    grant.cores = {below(100)};
    if (below(3) == 0) grant.mig = MigSlice{"p", any_placement(), {}};
    a.grants.push_back(std::move(grant));
  }
  for (std::uint32_t n = below(3); n > 0; --n) {
    const VendorId vendor{static_cast<std::uint16_t>(below(2))};
    a.stray_mig.push_back({vendor, device_name(below(4)), any_placement()});
  }
  a.init_finished = below(2) == 0;
  return a;
}

TEST(ChargeList, TellsTheSameInMemoryUsedBefore) {
  EXPECT_TRUE(rc::check([] {
    ChargeList list;
    QuotaSum sum;
    for (int i = 0; i < 20; ++i) {
      const Allocation allocation = any_allocation();
      const auto charges = list.of(allocation);
      const std::vector<Charge> told(charges.begin(), charges.end());
      RC_ASSERT(told == effective_charges(allocation));
      RC_ASSERT(sum.of(allocation) == quota_needs(allocation));
    }
  }));
}

}  // namespace
}  // namespace tessera::core
