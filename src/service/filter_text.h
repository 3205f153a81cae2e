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
#include "service/placed_facts.h"
#include "service/reject_groups.h"

namespace tessera::service {

/// Who was refused: the group of each refusal, and the names that `candidate` of a refusal means.
struct Refused {
  const std::vector<std::string_view>& names;
  const RejectGroups& groups;
};
/// "1 nodes CardInsufficientMemory(n1), 2 nodes node unregistered(n2,n3)": by reason, names capped.
std::string summarize_rejects(const core::Outcome& outcome, const Refused& refused);

/// A few of the nodes that fit with their scores, the chosen one last.
void note_placed(PlacedFacts& out, const core::Cluster& cluster,
                 const core::PlaceIndex::Choice& choice, const std::vector<NodeId>& candidates);
/// The same of an outcome with keys, in scored mode.
void note_scored(PlacedFacts& out, const core::Cluster& cluster, const core::Request& request,
                 const core::Outcome& outcome, const std::vector<NodeId>& candidates);

/// How many nodes fail for what, and what would have fitted; names the quotas that stand in the
/// way. For an outcome without a decision; `candidates` are its nodes.
std::string pod_sentence(const core::Cluster& cluster, const core::Request& request,
                         const core::Outcome& outcome, std::span<const NodeId> candidates);

/// "no available node, 3 nodes do not meet: …": the reasons, then the sentence.
std::string nowhere_text(const core::Cluster& cluster, const core::Request& request,
                         const core::Outcome& outcome, const std::vector<NodeId>& candidates,
                         const Refused& refused);

}  // namespace tessera::service
