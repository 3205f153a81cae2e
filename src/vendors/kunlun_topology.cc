#include "vendors/kunlun_topology.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::vendors {
namespace {

using core::ScoreMode;
using Chosen = std::optional<std::vector<std::uint32_t>>;
using Cards = std::vector<WingCard>;

constexpr std::uint32_t kWing = 4, kBoard = 8;
constexpr std::array<std::array<std::uint32_t, 4>, 6> kCrossQuads = {{
    {0, 1, 4, 5},
    {2, 3, 6, 7},
    {0, 2, 4, 6},
    {1, 3, 5, 7},
    {0, 3, 4, 7},
    {1, 2, 5, 6},
}};

bool cross_pair(std::uint32_t a, std::uint32_t b) {
  return std::max(a, b) - std::min(a, b) == kWing && std::min(a, b) < kWing;
}
bool linked(std::uint32_t a, std::uint32_t b) { return a / kWing == b / kWing || cross_pair(a, b); }

Cards fitting_of(const Cards& cards) {
  Cards fitting;
  for (const WingCard& card : cards) {
    if (card.fits) fitting.push_back(card);
  }
  return fitting;
}

/// Remainders of a wing from least to most useful, for each number of cards.
std::span<const std::size_t> wanted_sizes(std::size_t count) {
  static constexpr std::array<std::size_t, 4> kOne = {1, 3, 2, 4};
  static constexpr std::array<std::size_t, 3> kTwo = {2, 3, 4};
  static constexpr std::array<std::size_t, 1> kFour = {4};
  if (count == 1) return kOne;
  if (count == 2) return kTwo;
  if (count == 4) return kFour;
  return {};
}

/// The first wing, by remainder, that holds all. `wings` have fitting cards only.
Chosen within_wing(const std::vector<Cards>& wings, std::size_t count) {
  for (const std::size_t size : wanted_sizes(count)) {
    for (const Cards& wing : wings) {
      if (wing.size() != size) continue;
      std::vector<std::uint32_t> chosen;
      for (std::size_t i = 0; i < count; ++i) chosen.push_back(wing[i].device);
      return chosen;
    }
  }
  return std::nullopt;
}

Chosen across_two(const Cards& fitting) {
  for (const WingCard& a : fitting) {
    for (const WingCard& b : fitting) {
      if (cross_pair(a.number, b.number)) return std::vector{a.device, b.device};
    }
  }
  return std::nullopt;
}

/// The cards of the quad, or nullopt when one of them does not fit.
Chosen quad_of(const Cards& fitting, const std::array<std::uint32_t, 4>& quad) {
  std::vector<std::uint32_t> chosen;
  for (const std::uint32_t number : quad) {
    const auto card = std::find_if(fitting.begin(), fitting.end(),
                                   [number](const WingCard& c) { return c.number == number; });
    if (card == fitting.end()) return std::nullopt;
    chosen.push_back(card->device);
  }
  return chosen;
}

/// The two that a quad leaves of six are of use together.
bool leaves_linked(const Cards& fitting, const std::array<std::uint32_t, 4>& quad) {
  std::vector<std::uint32_t> left;
  for (const WingCard& c : fitting) {
    if (std::find(quad.begin(), quad.end(), c.number) == quad.end()) left.push_back(c.number);
  }
  return left.size() == 2 && linked(left[0], left[1]);
}

Chosen across_four(const Cards& fitting) {
  if (fitting.size() < 4 || fitting.size() > 6) return std::nullopt;
  Chosen last;
  for (const auto& quad : kCrossQuads) {
    Chosen chosen = quad_of(fitting, quad);
    if (!chosen) continue;
    if (fitting.size() != 6 || leaves_linked(fitting, quad)) return chosen;
    last = std::move(chosen);
  }
  return last;
}

Chosen across_wings(const Cards& fitting, std::size_t count) {
  if (count == 2) return across_two(fitting);
  if (count == 4) return across_four(fitting);
  return std::nullopt;
}

/// Boards of eight by number; numbers become those on the board.
std::vector<Cards> boards_of(const Cards& fitting) {
  std::vector<Cards> boards;
  std::uint32_t last = UINT32_MAX;
  for (WingCard card : fitting) {
    if (card.number / kBoard != last) boards.emplace_back();
    last = card.number / kBoard;
    card.number %= kBoard;
    boards.back().push_back(card);
  }
  return boards;
}

/// Whole boards first, then the lowest numbers.
Chosen eight_of(const std::vector<Cards>& boards) {
  std::vector<std::uint32_t> chosen;
  for (const bool whole : {true, false}) {
    for (const Cards& board : boards) {
      if ((board.size() >= kBoard) != whole) continue;
      for (const WingCard& card : board) {
        if (chosen.size() < kBoard) chosen.push_back(card.device);
      }
    }
  }
  if (chosen.size() < kBoard) return std::nullopt;
  return chosen;
}

/// Agents that leave the index out give every card number 0: then the order numbers them.
void number_by_order_if_unclear(Cards& cards) {
  std::vector<std::uint32_t> numbers;
  for (const WingCard& card : cards) numbers.push_back(card.number);
  std::sort(numbers.begin(), numbers.end());
  if (std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end()) return;
  std::stable_sort(cards.begin(), cards.end(),
                   [](const WingCard& a, const WingCard& b) { return a.device < b.device; });
  for (std::uint32_t i = 0; i < cards.size(); ++i) cards[i].number = i;
}

Chosen choose_by_number(Cards cards, std::size_t count) {
  number_by_order_if_unclear(cards);
  std::stable_sort(cards.begin(), cards.end(),
                   [](const WingCard& a, const WingCard& b) { return a.number < b.number; });
  const std::vector<Cards> boards = boards_of(fitting_of(cards));
  if (count == kBoard) return eight_of(boards);
  std::vector<Cards> wings;
  for (const Cards& board : boards) {
    for (const bool right : {false, true}) {
      Cards& wing = wings.emplace_back();
      for (const WingCard& card : board) {
        if ((card.number >= kWing) == right) wing.push_back(card);
      }
    }
  }
  if (Chosen chosen = within_wing(wings, count)) return chosen;
  for (const Cards& board : boards) {
    if (Chosen chosen = across_wings(board, count)) return chosen;
  }
  return std::nullopt;
}

/// Wings are the first four cards of the list and the others, whatever their numbers.
Chosen choose_by_position(const Cards& cards, std::size_t count) {
  const auto middle = cards.begin() + std::min<std::ptrdiff_t>(kWing, std::ssize(cards));
  const std::vector<Cards> wings = {fitting_of({cards.begin(), middle}),
                                    fitting_of({middle, cards.end()})};
  if (Chosen chosen = within_wing(wings, count)) return chosen;
  return across_wings(fitting_of(cards), count);
}

}  // namespace

Chosen choose_wing_cards(Cards cards, std::size_t count, ScoreMode mode) {
  if (mode == ScoreMode::kHami && count != kBoard && cards.size() <= kBoard) {
    return choose_by_position(cards, count);
  }
  return choose_by_number(std::move(cards), count);
}

std::int64_t wing_bubble(std::span<const std::uint32_t> numbers) {
  if (numbers.empty()) return 1;
  const auto left = std::count_if(numbers.begin(), numbers.end(),
                                  [](std::uint32_t number) { return number < kWing; });
  const auto broken = [](std::ptrdiff_t used) -> std::int64_t {
    if (used == 1) return 2;
    return used == kWing ? 0 : 1;
  };
  return broken(left) + broken(std::ssize(numbers) - left);
}

}  // namespace tessera::vendors
