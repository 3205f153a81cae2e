/// Is our choice at least as good as HAMi's by the policy that the pod asked for? Source:
/// spec/decisions.md D3, "Never worse than HAMi".
#pragma once

#include "core/place.h"

namespace tessera::golden {

/// Same node: the cards of the first container that has some, key by key. Another node: the node's
/// score after the placement. Links count before both where the pod asked for them.
bool not_worse(const core::Cluster& cluster, const core::Request& request,
               const core::Decision& ours, const core::Allocation& theirs);

}  // namespace tessera::golden
