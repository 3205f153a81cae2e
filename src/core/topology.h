/// Which cards belong together by their link scores. Source: spec/devices, section 11,
/// weak points N-6, N-7. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster.h"
#include "core/policy.h"

namespace tessera::core {

/// Up to this many candidates the best set is found exactly; beyond, a good one.
inline constexpr std::size_t kExactLinkedCards = 16;

/// Score of the link from one device of the node towards another; 0 where none is known.
std::int64_t link_score(const NodeSpec& node, std::uint32_t from, std::uint32_t to);

/// How good a set is; larger is better. Several cards: the sum over all pairs. One card: the
/// negated sum of its links to all candidates, so that well linked cards are left for those who
/// need them. A pair is worth its scores in both directions, so that the order of the cards does
/// not matter; in HAMi's mode only the score of the earlier card towards the later one.
std::int64_t linked_value(const NodeSpec& node, std::span<const std::uint32_t> chosen,
                          std::span<const std::uint32_t> candidates, ScoreMode mode);

/// Places (in rising order) in `candidates` of the best `count` of them; equal sets: the one that
/// comes first in the order of the candidates. `candidates` are indices into node.devices, best
/// first, at least `count`; a partitioned card may occur several times.
std::vector<std::uint32_t> best_linked(const NodeSpec& node,
                                       std::span<const std::uint32_t> candidates, std::size_t count,
                                       ScoreMode mode);

}  // namespace tessera::core
