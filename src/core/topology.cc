#include "core/topology.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace tessera::core {
namespace {

/// Steps after which the exact search is content with the best set so far. 16 cards have at most
/// 12870 sets; a node with hostile scores must not hold up a decision.
constexpr int kSteps = 200'000;

std::int64_t pair_score(const NodeSpec& node, std::uint32_t a, std::uint32_t b, ScoreMode mode) {
  const std::int64_t there = link_score(node, a, b);
  return mode == ScoreMode::kHami ? there : there + link_score(node, b, a);
}

/// Branch and bound over the sets of `count` candidates in lexicographic order. A set replaces the
/// best one only when it is better, so the first of equals stays.
class SetSearch {
 public:
  SetSearch(const NodeSpec& node, std::span<const std::uint32_t> candidates, std::size_t count,
            ScoreMode mode)
      : node_(node), candidates_(candidates), count_(count), mode_(mode) {
    for (std::size_t a = 0; a < candidates.size(); ++a) {
      for (std::size_t b = a + 1; b < candidates.size(); ++b) {
        best_pair_ = std::max(best_pair_, pair(a, b));
      }
    }
  }

  std::vector<std::uint32_t> run() {
    descend(0, 0);
    return best_;
  }

 private:
  std::int64_t pair(std::size_t a, std::size_t b) const {
    return pair_score(node_, candidates_[a], candidates_[b], mode_);
  }

  /// No set that continues `picked_` with cards from `from` on is worth more: the missing cards are
  /// those that add most to the picked ones, and every pair among them is the best pair there is.
  std::int64_t bound(std::size_t from, std::int64_t value) {
    const std::size_t missing = count_ - picked_.size();
    gains_.clear();
    for (std::size_t at = from; at < candidates_.size(); ++at) {
      std::int64_t gain = 0;
      for (const std::uint32_t earlier : picked_) gain += pair(earlier, at);
      gains_.push_back(gain);
    }
    const auto middle = gains_.begin() + static_cast<std::ptrdiff_t>(missing);
    std::nth_element(gains_.begin(), middle - 1, gains_.end(), std::greater<>());
    value = std::accumulate(gains_.begin(), middle, value);
    const auto pairs = static_cast<std::int64_t>(missing * (missing - 1) / 2);
    return value + pairs * best_pair_;
  }

  void descend(std::size_t from, std::int64_t value) {
    if (picked_.size() == count_) {
      if (best_.empty() || value > best_value_) {
        best_ = picked_;
        best_value_ = value;
      }
      return;
    }
    const std::size_t last = candidates_.size() - (count_ - picked_.size());
    for (std::size_t at = from; at <= last; ++at) {
      if (!best_.empty() && (bound(at, value) <= best_value_ || --steps_left_ < 0)) return;
      std::int64_t gain = 0;
      for (const std::uint32_t earlier : picked_) gain += pair(earlier, at);
      picked_.push_back(static_cast<std::uint32_t>(at));
      descend(at + 1, value + gain);
      picked_.pop_back();
    }
  }

  const NodeSpec& node_;
  std::span<const std::uint32_t> candidates_;
  std::size_t count_;
  ScoreMode mode_;
  std::int64_t best_pair_ = 2 * std::int64_t{std::numeric_limits<std::int32_t>::min()};
  std::vector<std::uint32_t> picked_, best_;
  std::vector<std::int64_t> gains_;
  std::int64_t best_value_ = 0;
  int steps_left_ = kSteps;
};

/// From every card on: always the one that adds most. The best of these sets.
std::vector<std::uint32_t> grown(const NodeSpec& node, std::span<const std::uint32_t> candidates,
                                 std::size_t count, ScoreMode mode) {
  std::vector<std::uint32_t> best;
  std::int64_t best_value = 0;
  const auto both_ways = [&](std::size_t a, std::size_t b) {
    const std::size_t first = std::min(a, b), second = std::max(a, b);
    return pair_score(node, candidates[first], candidates[second], mode);
  };
  for (std::uint32_t seed = 0; seed < candidates.size(); ++seed) {
    std::vector<std::int64_t> gain(candidates.size(), 0);
    std::vector<bool> taken(candidates.size(), false);
    std::vector<std::uint32_t> picked;
    std::int64_t value = 0;
    for (std::uint32_t next = seed; picked.size() < count;) {
      taken[next] = true;
      value += gain[next];
      picked.push_back(next);
      std::uint32_t best_next = 0;
      bool found = false;
      for (std::uint32_t c = 0; c < candidates.size(); ++c) {
        if (taken[c]) continue;
        gain[c] += both_ways(next, c);
        if (!found || gain[c] > gain[best_next]) best_next = c;
        found = true;
      }
      if (!found) break;
      next = best_next;
    }
    if (!best.empty() && value <= best_value) continue;
    best = std::move(picked);
    best_value = value;
  }
  std::sort(best.begin(), best.end());
  return best;
}

std::vector<std::uint32_t> least_linked(const NodeSpec& node,
                                        std::span<const std::uint32_t> candidates, ScoreMode mode) {
  std::uint32_t best = 0;
  std::int64_t best_value = 0;
  for (std::uint32_t at = 0; at < candidates.size(); ++at) {
    const std::int64_t value = linked_value(node, candidates.subspan(at, 1), candidates, mode);
    if (at > 0 && value <= best_value) continue;
    best = at;
    best_value = value;
  }
  return {best};
}

}  // namespace

std::int64_t link_score(const NodeSpec& node, std::uint32_t from, std::uint32_t to) {
  if (from == to || node.links.empty()) return 0;
  return node.links[std::size_t{from} * node.devices.size() + to];
}

std::int64_t linked_value(const NodeSpec& node, std::span<const std::uint32_t> chosen,
                          std::span<const std::uint32_t> candidates, ScoreMode mode) {
  std::int64_t sum = 0;
  if (chosen.size() == 1) {
    for (const std::uint32_t other : candidates) {
      sum -= pair_score(node, chosen.front(), other, mode);
    }
    return sum;
  }
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    for (std::size_t b = a + 1; b < chosen.size(); ++b) {
      sum += pair_score(node, chosen[a], chosen[b], mode);
    }
  }
  return sum;
}

std::vector<std::uint32_t> best_linked(const NodeSpec& node,
                                       std::span<const std::uint32_t> candidates, std::size_t count,
                                       ScoreMode mode) {
  if (count == 1) return least_linked(node, candidates, mode);
  if (candidates.size() > kExactLinkedCards && candidates.size() > count) {
    return grown(node, candidates, count, mode);
  }
  return SetSearch(node, candidates, count, mode).run();
}

}  // namespace tessera::core
