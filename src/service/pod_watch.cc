#include "service/pod_watch.h"

#include <algorithm>
#include <chrono>

namespace tessera::service {
namespace {

constexpr std::string_view kAllocating = "allocating", kSuccess = "success", kFailed = "failed";

}  // namespace

PodWatch::PodWatch(const Books& books, const Measures& measures, const Clock& clock)
    : books_(books), measures_(measures), clock_(clock) {}

void PodWatch::pod_changed(const PodRecord& pod) {
  const bool alive = books_.pods().contains(pod.fact.uid) && !pod.fact.finished;
  follow_agent(pod, alive);
  follow_assignment(pod, alive);
}

void PodWatch::follow_agent(const PodRecord& pod, bool alive) {
  const PodFact& fact = pod.fact;
  // Some agents never write a phase: a pod that runs was served.
  if (alive && !fact.node.empty() && !fact.started && fact.bind_phase == kAllocating) {
    pending_.insert_or_assign(fact.uid, Pending{fact.node, fact.bind_time});
    return;
  }
  const auto found = pending_.find(fact.uid);
  if (found == pending_.end()) return;
  const Pending was = found->second;
  pending_.erase(found);
  // What had ended before we first saw it is no news.
  if (fact.bind_phase == kFailed) measures_.allocate_failed.increment();
  if ((fact.bind_phase == kSuccess || fact.bind_phase == kFailed) && was.since) {
    const std::chrono::duration<double> took = clock_.wall() - *was.since;
    measures_.allocate_duration.observe(std::max(took.count(), 0.0));
  }
}

void PodWatch::follow_assignment(const PodRecord& pod, bool alive) {
  const PodFact& fact = pod.fact;
  const bool without = alive && fact.asks_devices && !fact.node.empty() &&
                       books_.cluster().hold({fact.uid}) == nullptr;
  if (!without) {
    unassigned_.erase(fact.uid);
    return;
  }
  const bool is_new = unassigned_.insert(fact.uid).second;
  if (is_new && !fact.started && on_unassigned) on_unassigned(pod);
}

std::map<std::string, std::size_t> PodWatch::allocating() const {
  std::map<std::string, std::size_t> by_node;
  for (const auto& [uid, pending] : pending_) ++by_node[pending.node];
  return by_node;
}

}  // namespace tessera::service
