// What the fit of an Ascend pod needs beyond the shared checks.
#include <algorithm>
#include <map>

#include "vendors/ascend.h"
#include "vendors/ascend_topology.h"

namespace tessera::vendors {
namespace {

using core::CardReason;
using core::Device;
using core::ScoreMode;

bool wants_soft(const core::AskedVendor& vendor) {
  return vendor.constraints != nullptr && (vendor.constraints->traits & kAscendSoft) != 0;
}

bool serves_soft(const core::NodeSpec& node, VendorId vendor) {
  return vendor.v < node.traits.size() && (node.traits[vendor.v] & kAscendSoft) != 0;
}

/// Cards of each container of the pod.
std::map<std::uint32_t, std::vector<std::uint32_t>> cards_by_position(
    const core::TopologyView& view) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> cards;
  for (const auto& pick : view.picks) cards[pick.position].push_back(pick.device);
  return cards;
}

class AscendHooks final : public core::VendorHooks {
 public:
  explicit AscendHooks(const AscendChip& chip)
      : linked_(chip.linked()), paired_(chip.paired()), whole_modules_(chip.super_pod) {}

  CardReason admit_node(const core::NodeSpec& node,
                        const core::AskedVendor& vendor) const override {
    if (!wants_soft(vendor) || serves_soft(node, vendor.id)) return CardReason::kCount;
    return CardReason::kModeNotFit;
  }

  bool chooses(const core::ChoiceView& view) const override {
    if (view.demand.count <= 1) return false;
    return pairs(view) || grouped(view);
  }

  std::optional<std::vector<std::uint32_t>> choose(const core::ChoiceView& view) const override {
    if (pairs(view)) {
      if (whole_modules_ && view.count() % 2 != 0) return std::nullopt;
      return choose_by_module(view.node.devices, view.fitting, view.count(), view.mode);
    }
    if (view.fitting.size() < view.count()) return std::nullopt;
    return choose_by_group(view.node.devices, view.fitting, view.count(), view.mode);
  }

  /// Of a paired chip the figures count against what was asked, and the chips of whole modules are
  /// named even when there are none.
  void explain(const core::ChoiceView& view, core::Reject& reject) const override {
    if (!pairs(view)) return;
    reject.count(CardReason::kAllocatedCardsInsufficient) =
        whole_module_chips(view.node.devices, view.fitting, view.count());
    reject.out_of = reject.asked;
    reject.show_allocated = true;
  }

  std::int64_t topology_score(const core::TopologyView& view) const override {
    if (!linked_) return 0;
    std::int64_t score = 0;
    for (const auto& [position, cards] : cards_by_position(view)) {
      const GroupShare share = group_share(view.node.devices, cards);
      score += core::kPartsPerMillion * share.largest / share.all;
    }
    return score;
  }

  float hami_score(const core::TopologyView& view) const override {
    if (!linked_) return 0.0F;
    float sum = 0.0F;
    for (const auto& [position, cards] : cards_by_position(view)) {
      const GroupShare share = group_share(view.node.devices, cards);
      if (!share.every_card_grouped) return 0.0F;
      sum += static_cast<float>(share.largest) / static_cast<float>(share.all);
    }
    return 10.0F * sum;
  }

 private:
  bool pairs(const core::ChoiceView& view) const { return paired_ && view.demand.count > 1; }

  /// HAMi looks at links only where every card names its group.
  bool grouped(const core::ChoiceView& view) const {
    if (!linked_) return false;
    const auto has_group = [&](std::uint32_t card) {
      return view.node.devices[card].group != Device::kNoGroup;
    };
    return view.mode == ScoreMode::kHami
               ? std::all_of(view.listed.begin(), view.listed.end(), has_group)
               : std::any_of(view.listed.begin(), view.listed.end(), has_group);
  }

  bool linked_, paired_, whole_modules_;
};

}  // namespace

std::shared_ptr<const core::VendorHooks> ascend_hooks(const AscendChip& chip) {
  return std::make_shared<AscendHooks>(chip);
}

}  // namespace tessera::vendors
