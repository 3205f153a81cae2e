// What the fit of a Kunlun pod needs beyond the shared checks.
#include <algorithm>
#include <set>
#include <utility>

#include "vendors/kunlun.h"
#include "vendors/kunlun_topology.h"

namespace tessera::vendors {
namespace {

using core::CardReason;
using core::Device;
using core::Usage;

bool lists_accept(const core::AskedVendor& vendor, const std::string& id) {
  if (vendor.constraints == nullptr) return true;
  const auto has = [&id](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  const core::Constraints& c = *vendor.constraints;
  return (c.use_ids.empty() || has(c.use_ids)) && !has(c.nouse_ids);
}

/// The list as HAMi walks it begins with the card that it would try last.
std::vector<WingCard> wing_cards(const core::ChoiceView& view) {
  std::vector<WingCard> cards;
  for (std::size_t i = view.listed.size(); i-- > 0;) {
    const std::uint32_t device = view.listed[i];
    cards.push_back(
        {device, view.node.devices[device].index, view.reasons[i] == CardReason::kCount});
  }
  return cards;
}

void set_single_reason(core::Reject& reject, CardReason reason, std::uint32_t count) {
  reject.cards.fill(0);
  reject.count(reason) = count;
}

std::uint32_t refused_by_lists(const core::ChoiceView& view) {
  return static_cast<std::uint32_t>(
      std::count_if(view.listed.begin(), view.listed.end(), [&](std::uint32_t device) {
        return !lists_accept(view.vendor, view.node.devices[device].id);
      }));
}

bool refused_by_quota(const core::ChoiceView& view) {
  return std::find(view.reasons.begin(), view.reasons.end(), CardReason::kQuotaNotFit) !=
         view.reasons.end();
}

/// Both kinds of Kunlun card: the choice by wings, and a refusal that names one reason only.
class WingHooks : public core::VendorHooks {
 public:
  bool chooses(const core::ChoiceView& /*view*/) const override { return true; }

  std::optional<std::vector<std::uint32_t>> choose(const core::ChoiceView& view) const override {
    return choose_wing_cards(wing_cards(view), view.count(), view.mode);
  }

  void explain(const core::ChoiceView& view, core::Reject& reject) const override {
    if (refused_by_quota(view)) return;  // what a quota forbids is never told as a lack of cards
    if (const std::uint32_t refused = refused_by_lists(view); refused > 0) {
      set_single_reason(reject, CardReason::kUuidMismatch, refused);
    } else {
      set_single_reason(reject, CardReason::kNumaNotFit, 1);
    }
  }
};

using Numbers = std::set<std::uint32_t>;

std::int64_t bubble_of(const Numbers& numbers) {
  return wing_bubble(std::vector(numbers.begin(), numbers.end()));
}

/// Boards of more than one are judged one by one.
std::int64_t bubbles_of(const Numbers& numbers, const Numbers& boards) {
  constexpr std::uint32_t kBoard = 8;
  std::int64_t sum = 0;
  for (const std::uint32_t board : boards) {
    Numbers here;
    for (const std::uint32_t number : numbers) {
      if (number / kBoard == board) here.insert(number % kBoard);
    }
    sum += bubble_of(here);
  }
  return sum;
}

class CardHooks final : public WingHooks {
 public:
  /// By how much the pod mends or breaks the wings, of this vendor's cards alone (4).
  std::int64_t topology_score(const core::TopologyView& view) const override {
    constexpr std::int64_t kStep = 1000, kNoChange = 4000;
    Numbers used, united, boards;
    for (std::uint32_t i = 0; i < view.node.devices.size(); ++i) {
      const Device& device = view.node.devices[i];
      if (device.vendor != view.vendor) continue;
      boards.insert(device.index / 8);
      if (view.before[i].slots > 0) used.insert(device.index);
    }
    united = used;
    for (const auto& pick : view.picks) united.insert(view.node.devices[pick.device].index);
    return kNoChange - kStep * (bubbles_of(united, boards) - bubbles_of(used, boards));
  }

  float hami_score(const core::TopologyView& view) const override {
    const auto foreign = [](const Device& d) {
      return d.model.view().find("kunlun") == std::string::npos;
    };
    if (std::any_of(view.node.devices.begin(), view.node.devices.end(), foreign)) return 0.0F;
    Numbers used, granted;
    for (std::uint32_t i = 0; i < view.node.devices.size(); ++i) {
      if (view.before[i].slots > 0) used.insert(view.node.devices[i].index);
    }
    for (const auto& pick : view.picks) granted.insert(view.node.devices[pick.device].index);
    switch (bubble_of(granted) - bubble_of(used)) {
      case -1:
        return 3000.0F;
      case 0:
        return 2000.0F;
      case 2:
        return 0.0F;
      default:
        return 1000.0F;
    }
  }
};

/// A card is shared by slices of one size only.
bool slice_suits(const Device& card, const Usage& seen, const core::Demand& demand) {
  if (card.memory - seen.memory < demand.memory) return false;
  return seen.slots == 0 || seen.memory.v / seen.slots == demand.memory.v;
}

class SliceHooks final : public WingHooks {
 public:
  CardReason admit_card(const Device& card, const Usage& seen, const core::Demand& demand,
                        const core::AskedVendor& /*vendor*/) const override {
    return slice_suits(card, seen, demand) ? CardReason::kCount : CardReason::kNumaNotFit;
  }

  void explain(const core::ChoiceView& view, core::Reject& reject) const override {
    std::uint32_t shared = 0;
    for (std::size_t i = 0; i < view.listed.size() && view.mutex; ++i) {
      const Device& card = view.node.devices[view.listed[i]];
      shared +=
          card.healthy && view.seen[i].slots > 0 && slice_suits(card, view.seen[i], view.demand);
    }
    if (shared == 0) return WingHooks::explain(view, reject);
    set_single_reason(reject, CardReason::kExclusiveConflict, shared);
  }
};

}  // namespace

std::shared_ptr<const core::VendorHooks> kunlun_card_hooks() {
  return std::make_shared<CardHooks>();
}

std::shared_ptr<const core::VendorHooks> kunlun_slice_hooks() {
  return std::make_shared<SliceHooks>();
}

}  // namespace tessera::vendors
