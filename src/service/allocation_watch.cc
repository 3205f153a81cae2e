#include "service/allocation_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "obs/log.h"
#include "service/keys.h"

namespace tessera::service {

AllocationWatch::AllocationWatch(const Books& books, const LiveReader& live, Events& events,
                                 const Measures& measures, const Leadership& leader,
                                 const Clock& clock, std::chrono::milliseconds timeout)
    : books_(books),
      live_(live),
      events_(events),
      measures_(measures),
      leader_(leader),
      clock_(clock),
      timeout_(timeout) {}

void AllocationWatch::pod_changed(const PodRecord& pod) {
  const PodFact& fact = pod.fact;
  const bool known = books_.pods().contains(fact.uid);
  // A pod that runs was served, whatever the annotation says.
  const bool waits = known && !fact.node.empty() && !fact.finished && !fact.terminating &&
                     !fact.started && fact.bind_phase == kPhaseAllocating;
  if (!waits)
    allocating_.erase(fact.uid);
  else
    allocating_.try_emplace(fact.uid, Waiting{.seen = clock_.mono()});
}

/// Some vendors' agents never touch the phase: those that do not rely on the lock.
bool AllocationWatch::agent_answers(const std::string& uid) const {
  const core::Hold* hold = books_.cluster().hold({uid});
  if (hold == nullptr) return false;
  const auto reader = live_.get();
  return std::any_of(hold->allocation.grants.begin(), hold->allocation.grants.end(),
                     [&](const core::Grant& grant) {  // While a new configuration takes over the id
                                                      // may be of the other table.
                       return grant.vendor.v < reader->vendors().all().size() &&
                              reader->vendors().at(grant.vendor).locks_node;
                     });
}

/// By the time of the bind; where that is missing or from a clock that is off, by our own watching.
bool AllocationWatch::overdue(const PodRecord& pod, const Waiting& waiting) const {
  if (clock_.mono() - waiting.seen > timeout_) return true;
  return pod.fact.bind_time && clock_.wall() - *pod.fact.bind_time > timeout_;
}

void AllocationWatch::tick() {
  if (!leader_.leads()) return;
  for (auto& [uid, waiting] : allocating_) {
    if (waiting.told) continue;
    const auto found = books_.pods().find(uid);
    if (found == books_.pods().end() || !overdue(found->second, waiting)) continue;
    waiting.told = true;
    if (agent_answers(uid)) tell(found->second);
  }
}

void AllocationWatch::tell(const PodRecord& pod) {
  const PodFact& fact = pod.fact;
  measures_.allocate_failed.increment();
  const std::string words = fmt::format(
      "the node agent of {} has not served the pod within {} after its bind; its devices stay "
      "charged until the pod ends",
      fact.node, format_duration(timeout_));
  log::warn("node agent does not answer",
            {{"pod", fact.ns + "/" + fact.name}, {"node", fact.node}});
  events_.write({"Pod", fact.ns, fact.name, fact.uid}, EventType::kWarning, "AllocateTimeout",
                words);
}

}  // namespace tessera::service
