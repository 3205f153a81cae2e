#include "core/card_check.h"

#include <algorithm>

namespace tessera::core {
namespace {

constexpr CorePercent kWholeCard{100};
constexpr std::size_t kRememberedModels = 16;

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool contains_part_of(const std::vector<std::string>& parts, std::string_view text) {
  return std::any_of(parts.begin(), parts.end(), [text](const std::string& part) {
    return text.find(part) != std::string_view::npos;
  });
}

bool passes_model_lists(const Constraints& constraints, std::string_view model) {
  std::string upper(model);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (!constraints.use_models.empty() && !contains_part_of(constraints.use_models, upper)) {
    return false;
  }
  return !contains_part_of(constraints.nouse_models, upper);
}

bool passes_id_lists(const Constraints& constraints, std::string_view id) {
  if (!constraints.use_ids.empty() && !contains(constraints.use_ids, id)) return false;
  return !contains(constraints.nouse_ids, id);
}

}  // namespace

bool CardCheck::model_allowed(const Constraints& constraints, std::uint32_t vendor,
                              const SharedText& model) {
  if (constraints.use_models.empty() && constraints.nouse_models.empty()) return true;
  std::vector<ModelVerdict>& known = models_[vendor];
  for (const ModelVerdict& verdict : known) {
    if (verdict.model == model) return verdict.allowed;
  }
  const bool allowed = passes_model_lists(constraints, model);
  if (known.size() < kRememberedModels) known.push_back({model, allowed});
  return allowed;
}

bool is_cordoned(const NodeSpec& node, const Device& device) {
  return !node.cordoned.empty() && contains(node.cordoned, device.id);
}

CardReason CardCheck::eligible(const NodeSpec& node, const Device& device, std::uint32_t vendor) {
  return eligible(is_cordoned(node, device), device, vendor);
}

CardReason CardCheck::eligible(bool cordoned, const Device& device, std::uint32_t vendor) {
  if (!device.healthy) return CardReason::kNotHealthy;
  if (cordoned) return CardReason::kCordoned;
  const Constraints* constraints = list_.vendors[vendor].constraints;
  if (constraints == nullptr) return CardReason::kCount;
  if (!model_allowed(*constraints, vendor, device.model)) return CardReason::kTypeMismatch;
  // A mode that the pod does not accept is told as a wrong type (section 9 of the vendor page).
  if (constraints->modes && constraints->modes->find(device.mode) == std::string::npos) {
    return CardReason::kTypeMismatch;
  }
  return CardReason::kCount;
}

CardReason CardCheck::open_for(const Demand& demand, const Device& device,
                               const Usage& seen) const {
  const AskedVendor& vendor = list_.vendors[demand.vendor];
  if (vendor.constraints != nullptr && !passes_id_lists(*vendor.constraints, device.id)) {
    return CardReason::kUuidMismatch;
  }
  if (vendor.rules.slots_count && device.slots <= seen.slots) {
    return CardReason::kTimeSlicingExhausted;
  }
  if (mutex_ && vendor.rules.honours_mutex && seen.slots > 0) {
    return CardReason::kExclusiveConflict;
  }
  return CardReason::kCount;
}

CardReason CardCheck::has_room(const Demand& demand, const Device& device,
                               const Usage& seen) const {
  if (device.partitioned() && mode_ != ScoreMode::kHami) return CardReason::kCount;
  const VendorRules& rules = list_.vendors[demand.vendor].rules;
  const CorePercent total = core_total(list_.vendors[demand.vendor], device);
  if (device.memory - seen.memory < memory_of(demand, device)) {
    return CardReason::kInsufficientMemory;
  }
  if (rules.cores_count && total - seen.cores < demand.cores) return CardReason::kInsufficientCore;
  if (rules.whole_card_is_exclusive && total == kWholeCard && demand.cores == kWholeCard &&
      seen.slots > 0) {
    return CardReason::kExclusiveConflict;
  }
  if (rules.full_cores_close_card && total != CorePercent{} && seen.cores >= total &&
      demand.cores == CorePercent{}) {
    return CardReason::kComputeUnitsExhausted;
  }
  return CardReason::kCount;
}

CardReason CardCheck::plainly(const Demand& demand, const Device& device, const Usage& seen) const {
  const CardReason reason = open_for(demand, device, seen);
  return reason != CardReason::kCount ? reason : has_room(demand, device, seen);
}

}  // namespace tessera::core
