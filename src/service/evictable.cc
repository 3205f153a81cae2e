#include "service/evictable.h"

#include <utility>

#include "service/keys.h"

namespace tessera::service {
namespace {

const PodRecord* find_pod(const Books& books, const std::string& uid) {
  const auto found = books.pods().find(uid);
  return found == books.pods().end() ? nullptr : &found->second;
}

bool is_mid_bind(const Books& books, const PodRecord& pod) {
  if (pod.stage == BindStage::kActive) return true;
  return pod.fact.bind_phase == kPhaseAllocating && !pod.fact.started &&
         books.locked_nodes().contains(pod.fact.node);
}

/// The younger one is evicted; a pod that has not started yet has done the least work.
std::int64_t start_of(const PodFact& fact) {
  const auto time = fact.start_time ? fact.start_time : fact.created;
  return time ? unix_seconds(*time) : 0;
}

}  // namespace

EvictablePods evictable_on(const Books& books, const Budgets& budgets,
                           std::span<const NodeId> nodes, const EvictableQuery& query) {
  EvictablePods out;
  out.budgets = budgets.allowed();
  for (const NodeId node : nodes) {
    for (const PodUid& uid : books.cluster().holders_on(node)) {
      const PodRecord* pod = find_pod(books, uid.v);
      if (pod == nullptr || !pod->seen || uid.v == query.preemptor) continue;
      const core::Hold* hold = books.cluster().hold(uid);
      const bool there = hold != nullptr && hold->state == core::HoldState::kBound &&
                         !pod->fact.finished && !pod->fact.terminating;
      if (!there || pod->fact.priority >= query.priority) continue;
      if (query.leave_out && query.leave_out(uid.v)) continue;
      if (is_mid_bind(books, *pod)) {
        out.some_are_mid_bind = true;
        continue;
      }
      out.pods.push_back({.uid = uid,
                          .priority = pod->fact.priority,
                          .started = start_of(pod->fact),
                          .budgets = budgets.over(pod->fact.ns, pod->fact.labels)});
    }
  }
  return out;
}

bool has_left(const Books& books, const std::string& uid) {
  const PodRecord* pod = find_pod(books, uid);
  return pod == nullptr || pod->fact.finished || books.cluster().hold({uid}) == nullptr;
}

}  // namespace tessera::service
