/// Why a node (or a card) does not fit: data, made into words once, at the edge. Source:
/// spec/scheduler.md section 11, D5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::core {

/// A whole node is out before any card is looked at.
enum class NodeReason : std::uint8_t {
  kNone,                ///< see the card counters
  kUnregistered,        ///< unknown node, or no device of any vendor is offered
  kInsufficientDevice,  ///< more cards asked than cards of the vendor on the node
};

/// One card is out; order = HAMi's list. The word on the wire is card_reason_word().
enum class CardReason : std::uint8_t {
  kTypeMismatch,
  kUuidMismatch,
  kTimeSlicingExhausted,
  kComputeUnitsExhausted,
  kInsufficientMemory,
  kInsufficientCore,
  kNotHealthy,
  kCordoned,
  kNumaNotFit,
  kExclusiveConflict,
  kMigTopologyInfeasible,
  kAllocatedCardsInsufficient,
  kQuotaNotFit,
  kModeNotFit,
  kCount
};
std::string_view card_reason_word(CardReason reason);  ///< "CardInsufficientMemory", …

struct Reject {
  NodeReason node_reason = NodeReason::kNone;
  std::array<std::uint32_t, static_cast<std::size_t>(CardReason::kCount)>
      cards{};                  ///< how many cards failed for each reason
  std::uint32_t devices = 0;    ///< cards of the vendor on the node
  std::uint32_t out_of = 0;     ///< denominator of the text if not devices; 0 = devices
  std::uint32_t asked = 0;      ///< cards the failing container asked for
  std::uint32_t position = 0;   ///< the first container that did not fit
  bool show_allocated = false;  ///< kAllocatedCardsInsufficient is told even when it is 0

  std::uint32_t& count(CardReason r) { return cards[static_cast<std::size_t>(r)]; }
  std::uint32_t count(CardReason r) const { return cards[static_cast<std::size_t>(r)]; }
  /// True when evicting pods cannot help (D5): unregistered, too few devices, or every card fails
  /// for type, uuid, mode, cordon, health or quota.
  bool unresolvable() const;
  /// HAMi's text: "node unregistered", "NodeInsufficientDevice", "1/4 CardInsufficientMemory, 3/4
  /// CardNotHealth" (pieces sorted as text).
  std::string text() const;
  bool operator==(const Reject&) const = default;
};
std::size_t hash_of(const Reject& reject);

}  // namespace tessera::core
