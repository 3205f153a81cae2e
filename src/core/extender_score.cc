#include "core/extender_score.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::core {
namespace {

__extension__ using Wide = __int128;

using Members = std::array<std::int64_t, 4>;

Members members_of(const NodeKey& key) { return {key.before, key.topology, key.load, key.after}; }

/// The smallest and largest value of each member.
struct Bounds {
  Members low, high;
};

Bounds bounds_of(std::span<const NodeKey> keys) {
  Bounds bounds{members_of(keys.front()), members_of(keys.front())};
  for (const NodeKey& key : keys) {
    const Members members = members_of(key);
    for (std::size_t i = 0; i < members.size(); ++i) {
      bounds.low[i] = std::min(bounds.low[i], members[i]);
      bounds.high[i] = std::max(bounds.high[i], members[i]);
    }
  }
  return bounds;
}

/// Exact: the order of two scores is never a matter of rounding in between.
std::int64_t share_of_ten(std::int64_t value, std::int64_t low, std::int64_t high) {
  const Wide range = static_cast<Wide>(high) - low;
  const Wide over = static_cast<Wide>(value) - low;
  return static_cast<std::int64_t>((2 * kMostExtenderScore * over + range) / (2 * range));
}

/// One number for a key whose members differ in several places. Every step keeps the order of its
/// operand, so rounding may merge two keys and can't swap them.
long double blend(const Members& members, const Bounds& bounds) {
  long double value = 0;
  for (std::size_t i = members.size(); i-- > 0;) {
    if (bounds.low[i] == bounds.high[i]) continue;
    const auto low = static_cast<long double>(bounds.low[i]);
    const long double range = static_cast<long double>(bounds.high[i]) - low;
    value = (static_cast<long double>(members[i]) - low + value) / (range + 1);
  }
  return value;
}

std::vector<std::int64_t> blended_scores(std::span<const NodeKey> keys, const Bounds& bounds) {
  std::vector<long double> values;
  values.reserve(keys.size());
  for (const NodeKey& key : keys) values.push_back(blend(members_of(key), bounds));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::vector<std::int64_t> scores;
  scores.reserve(keys.size());
  for (const long double value : values) {
    const long double share = (value - *low) / (*high - *low);
    scores.push_back(std::llround(share * static_cast<long double>(kMostExtenderScore)));
  }
  return scores;
}

}  // namespace

std::vector<std::int64_t> extender_scores(std::span<const NodeKey> keys) {
  if (keys.empty()) return {};
  const Bounds bounds = bounds_of(keys);
  std::size_t differing = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < bounds.low.size(); ++i) {
    if (bounds.low[i] == bounds.high[i]) continue;
    ++differing;
    last = i;
  }
  if (differing == 0) return std::vector<std::int64_t>(keys.size(), kMostExtenderScore);
  if (differing > 1) return blended_scores(keys, bounds);
  std::vector<std::int64_t> scores;
  scores.reserve(keys.size());
  for (const NodeKey& key : keys) {
    scores.push_back(share_of_ten(members_of(key)[last], bounds.low[last], bounds.high[last]));
  }
  return scores;
}

}  // namespace tessera::core
