/// What a filter call's events say: HAMi's forms, capped, and one sentence for the pod. Source:
/// spec/scheduler.md sections 3.4 and 11.2, S-40, D5. Thread rule: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/place.h"
#include "core/place_index.h"

namespace tessera::service {

/// "1 nodes CardInsufficientMemory(n1), 2 nodes node unregistered(n2,n3)": by reason, names capped.
std::string summarize_rejects(const std::vector<std::pair<std::string, std::string>>& node_texts);

/// "find fit node(n2), 1 nodes not fit, 2 nodes fit(n1:12.50,n2:25.00)": a few of those that fit,
/// the chosen one last. The cluster may hold the pod's own reservation already.
std::string placed_text(const core::Cluster& cluster, const core::Request& request,
                        const core::PlaceIndex::Choice& choice,
                        const std::vector<NodeId>& candidates);

/// The same in scored mode: "3 nodes fit(n1:12.50,…,n2:25.00), 1 nodes not fit; kube-scheduler
/// chooses among them, n2 is held meanwhile".
std::string scored_text(const core::Cluster& cluster, const core::Request& request,
                        const core::Outcome& outcome, const std::vector<NodeId>& candidates);

/// How many nodes fail for what, and what would have fitted; names the quotas that stand in the
/// way. For an outcome without a decision; `candidates` are its nodes.
std::string pod_sentence(const core::Cluster& cluster, const core::Request& request,
                         const core::Outcome& outcome, std::span<const NodeId> candidates);

/// "no available node, 3 nodes do not meet: …": the reasons, then the sentence.
std::string nowhere_text(const core::Cluster& cluster, const core::Request& request,
                         const core::Outcome& outcome, const std::vector<NodeId>& candidates,
                         const std::vector<std::pair<std::string, std::string>>& node_texts);

}  // namespace tessera::service
