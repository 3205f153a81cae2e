#include "core/vendor_hooks.h"

namespace tessera::core {

CardReason VendorHooks::admit_node(const NodeSpec& /*node*/, const AskedVendor& /*vendor*/) const {
  return CardReason::kCount;
}

CardReason VendorHooks::admit_card(const Device& /*card*/, const Usage& /*seen*/,
                                   const Demand& /*demand*/, const AskedVendor& /*vendor*/) const {
  return CardReason::kCount;
}

bool VendorHooks::chooses(const ChoiceView& /*view*/) const { return false; }

std::optional<std::vector<std::uint32_t>> VendorHooks::choose(const ChoiceView& /*view*/) const {
  return std::nullopt;
}

void VendorHooks::explain(const ChoiceView& /*view*/, Reject& /*reject*/) const {}

std::int64_t VendorHooks::topology_score(const TopologyView& /*view*/) const { return 0; }

float VendorHooks::hami_score(const TopologyView& /*view*/) const { return 0.0F; }

}  // namespace tessera::core
