/// Parts of the books copied into a cluster of their own, to try placements on without reserving
/// anything. Thread rule: pure functions; the owner of the books calls those that read them.
#pragma once

#include <string_view>

#include "core/cluster.h"
#include "core/quota.h"

namespace tessera::service {

/// Quotas with what is left of their limits; whoever was copied as a hold has paid already. Only
/// those of one namespace when it is named.
void copy_quotas_left(const core::QuotaBook& book, core::Cluster& trial, std::string_view ns = {});

/// A hold for a trial: charged to its devices, to no quota.
core::Allocation hold_for_trial(const core::Hold& hold);

/// A node with everything that is held on it.
void copy_node(const core::Cluster& books, NodeId node, core::Cluster& trial);

}  // namespace tessera::service
