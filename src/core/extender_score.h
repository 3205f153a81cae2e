/// The order of the nodes that fit, as the scores that kube-scheduler takes from an extender.
/// Source: decisions D12, spec/extender-protocol.md section 3.6. Thread rule: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/place.h"

namespace tessera::core {

inline constexpr std::int64_t kMostExtenderScore = 10;

/// By place of the key: round(10 * (s - min) / (max - min)), all equal = 10. The order of the keys
/// is never reversed, neighbours may get the same score. Where one member of the keys differs, s is
/// that member; where several do, the later ones count as fractions of the earlier.
std::vector<std::int64_t> extender_scores(std::span<const NodeKey> keys);

}  // namespace tessera::core
