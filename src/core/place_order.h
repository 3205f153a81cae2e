/// Which of two nodes that fit is taken. One rule for the plain decision and the kept index.
#pragma once

#include "core/cluster.h"
#include "core/place.h"

namespace tessera::core {

struct Best {
  NodeId node;
  NodeKey key;
  bool locked = false;
};

/// Larger key, then no lock, then the lower name (D18).
inline bool wins(const Cluster& cluster, const Best& challenger, const Best& best,
                 bool prefer_unlocked) {
  if (challenger.key != best.key) return challenger.key > best.key;
  if (prefer_unlocked && challenger.locked != best.locked) return best.locked;
  return cluster.rank(challenger.node) < cluster.rank(best.node);
}

}  // namespace tessera::core
