#include "setup/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/text.h"

namespace tessera::setup {
namespace {

constexpr std::size_t kLongest = 64;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > kLongest) return {};
  const std::string lower = text::lower(word);
  std::string_view best;
  std::size_t best_distance = word.size() <= 4 ? 2 : 3;  // one above what is still near
  for (const std::string_view candidate : known) {
    const std::size_t d = distance(lower, text::lower(candidate));
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace tessera::setup
