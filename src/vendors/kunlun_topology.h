/// A board has eight cards in two wings, 0-3 and 4-7; a card of one wing is linked with one of the
/// other. Which cards are taken together, and how broken the wings are. Source:
/// spec/devices/kunlun.md section 2 with weak points 1, 2, 4, 9. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/policy.h"

namespace tessera::vendors {

/// A card in the order in which the algorithm looks at the node.
struct WingCard {
  std::uint32_t device = 0;  ///< index into the node's devices
  std::uint32_t number = 0;  ///< its place on the board
  bool fits = false;
};

/// Exactly `count` devices, or nullopt. 1, 2, 4 or 8 cards; never split over wings unless the
/// halves are linked, and the wing that is left with the least useful remainder first. Corrected:
/// wings by number. HAMi: wings by the position in `cards`, links by number (1).
std::optional<std::vector<std::uint32_t>> choose_wing_cards(std::vector<WingCard> cards,
                                                            std::size_t count,
                                                            core::ScoreMode mode);

/// How badly the used cards of a board break its wings: 0 is best, 4 worst. No card used: 1.
std::int64_t wing_bubble(std::span<const std::uint32_t> numbers);

}  // namespace tessera::vendors
