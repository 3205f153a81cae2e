#include "core/reject.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace tessera::core {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(CardReason::kCount)> kWords = {
    "CardTypeMismatch",
    "CardUuidMismatch",
    "CardTimeSlicingExhausted",
    "CardComputeUnitsExhausted",
    "CardInsufficientMemory",
    "CardInsufficientCore",
    "CardNotHealth",
    "CardCordoned",
    "NumaNotFit",
    "ExclusiveDeviceAllocateConflict",
    "CardMigTopologyInfeasible",
    "AllocatedCardsInsufficientRequest",
    "ResourceQuotaNotFit",
    "ModeNotFit",
};

/// Reasons that no eviction of pods can cure (D5).
constexpr std::array kLasting = {CardReason::kTypeMismatch, CardReason::kUuidMismatch,
                                 CardReason::kModeNotFit,   CardReason::kCordoned,
                                 CardReason::kNotHealthy,   CardReason::kQuotaNotFit};

}  // namespace

std::string_view card_reason_word(CardReason reason) {
  const auto row = static_cast<std::size_t>(reason);
  return row < kWords.size() ? kWords[row] : std::string_view("unknown");
}

bool Reject::unresolvable() const {
  if (node_reason != NodeReason::kNone) return true;
  if (count(CardReason::kModeNotFit) > 0) return true;  // closes the node, counted as one card
  std::uint32_t lasting = 0;
  for (const CardReason reason : kLasting) lasting += count(reason);
  return devices > 0 && lasting >= devices;
}

std::string Reject::text() const {
  if (node_reason == NodeReason::kUnregistered) return "node unregistered";
  if (node_reason == NodeReason::kInsufficientDevice) return "NodeInsufficientDevice";
  std::vector<std::string> pieces;
  for (std::size_t row = 0; row < cards.size(); ++row) {
    const bool shown =
        show_allocated && row == static_cast<std::size_t>(CardReason::kAllocatedCardsInsufficient);
    if (cards[row] == 0 && !shown) continue;
    pieces.push_back(
        fmt::format("{}/{} {}", cards[row], out_of == 0 ? devices : out_of, kWords[row]));
  }
  std::sort(pieces.begin(), pieces.end());
  return fmt::format("{}", fmt::join(pieces, ", "));
}

std::size_t hash_of(const Reject& reject) {
  std::uint64_t hash = static_cast<std::uint64_t>(reject.node_reason);
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
  static_assert(std::tuple_size_v<decltype(reject.cards)> % 2 == 0);
  for (std::size_t i = 0; i < reject.cards.size(); i += 2)
    mix(std::uint64_t{reject.cards[i]} << 32 | reject.cards[i + 1]);
  mix(std::uint64_t{reject.devices} << 32 | reject.out_of);
  mix(std::uint64_t{reject.asked} << 32 | reject.position);
  mix(reject.show_allocated ? 1 : 0);
  return static_cast<std::size_t>(hash);
}

}  // namespace tessera::core
