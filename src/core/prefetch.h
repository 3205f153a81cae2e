/// Asks for the memory of a node's cards before it is needed. A decision looks at the cards of
/// thousands of nodes, one after the other, and does little with each: on 5,000 nodes it took
/// nearly twice as long without (docs/performance.md).
#pragma once

#include <cstddef>

#include "core/cluster.h"

namespace tessera::core {

inline void prefetch_cards(const Node& node) {
  constexpr std::size_t kLine = 64;
  for (const Device& device : node.spec.devices) {
    // The fields that every check reads stand in the first two lines.
    __builtin_prefetch(&device);
    __builtin_prefetch(reinterpret_cast<const char*>(&device) + kLine);
  }
  const auto* used = reinterpret_cast<const char*>(node.used.data());
  for (std::size_t at = 0; at < node.used.size() * sizeof(Usage); at += kLine)
    __builtin_prefetch(used + at);
}

}  // namespace tessera::core
