#include "sim/reason_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"

namespace tessera::sim {
namespace {

struct Words {
  std::string_view word, text;
};
constexpr std::array kCardWords{
    Words{"CardInsufficientMemory", "too little memory left"},
    Words{"CardInsufficientCore", "too few cores left"},
    Words{"CardTimeSlicingExhausted", "no slot left"},
    Words{"CardComputeUnitsExhausted", "all cores taken"},
    Words{"ExclusiveDeviceAllocateConflict", "in use, an unused one is asked for"},
    Words{"CardTypeMismatch", "of a type not asked for"},
    Words{"CardUuidMismatch", "not the one named"},
    Words{"CardNotHealth", "unhealthy"},
    Words{"CardCordoned", "cordoned"},
    Words{"NumaNotFit", "on different NUMA nodes"},
    Words{"AllocatedCardsInsufficientRequest", "free, but too few on one node"},
    Words{"ResourceQuotaNotFit", "beyond the quota"},
    Words{"ModeNotFit", "in a mode not asked for"},
};
constexpr std::array kNodeWords{
    Words{"node unregistered", "no registered card"},
    Words{"NodeInsufficientDevice", "fewer cards than asked for"},
};

template <std::size_t N>
std::optional<std::string_view> look_up(const std::array<Words, N>& table, std::string_view word) {
  for (const Words& w : table)
    if (w.word == word) return w.text;
  return std::nullopt;
}

std::optional<std::int64_t> take_number(std::string_view& piece, char end) {
  const std::size_t at = piece.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const Result<std::int64_t> number = text::parse_int(piece.substr(0, at), 64);
  if (!number) return std::nullopt;
  piece.remove_prefix(at + 1);
  return *number;
}

/// Sums over all nodes; the groups of equal reasons follow each other as "19 1/8 X, 7/8 Y, 1 node
/// unregistered".
class Sums {
 public:
  bool add(std::string_view piece) {
    std::string_view rest = piece;
    if (const auto nodes = take_number(rest, ' ')) {
      nodes_ = *nodes;
      piece = rest;
    }
    if (const auto words = look_up(kNodeWords, piece)) {
      by_text_[fmt::format("node\n{}", *words)] += nodes_;
      return true;
    }
    const auto cards = take_number(piece, '/');
    if (!cards || !take_number(piece, ' ')) return false;
    const auto words = look_up(kCardWords, piece);
    if (words) by_text_[fmt::format("card\n{}", *words)] += nodes_ * *cards;
    return words.has_value();
  }

  std::string text() const {
    std::vector<std::pair<std::int64_t, std::string>> sorted;
    for (const auto& [text, count] : by_text_) sorted.emplace_back(-count, text);
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> pieces;
    for (const auto& [negative, text] : sorted) {
      const std::size_t at = text.find('\n');
      pieces.push_back(fmt::format("{} {}{}: {}", -negative, text.substr(0, at),
                                   negative == -1 ? "" : "s", text.substr(at + 1)));
    }
    return text::join(pieces, "; ");
  }

 private:
  std::int64_t nodes_ = 0;
  std::map<std::string, std::int64_t> by_text_;
};

}  // namespace

std::string reason_in_words(std::string_view message) {
  constexpr std::string_view kIntroduction = "nodes are available: ";
  const std::size_t at = message.find(kIntroduction);
  if (at == std::string_view::npos || message.empty() || message.back() != '.')
    return std::string(message);
  std::string_view list = message.substr(at + kIntroduction.size());
  list.remove_suffix(1);
  Sums sums;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(", "), list.size());
    if (!sums.add(list.substr(0, comma))) return std::string(message);
    list.remove_prefix(std::min(comma + 2, list.size()));
  }
  return sums.text();
}

}  // namespace tessera::sim
