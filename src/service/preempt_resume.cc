// Preemptions that an earlier process or another leader began.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/place.h"
#include "obs/log.h"
#include "service/preempt.h"
#include "service/preempt_lift.h"

namespace tessera::service {
void Preemption::resume() {
  if (!options_.own) return;
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : p_.books.pods())
    if (pod.fact.preemption != nullptr && !jobs_.contains(uid)) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  for (const std::string& uid : uids) resume_one(*p_.books.pod(uid));
}

void Preemption::resume_one(PodRecord& pod) {
  const std::shared_ptr<const NoteFact> fact = pod.fact.preemption;
  if (pod.fact.finished || pod.fact.terminating) return;
  if (!pod.fact.node.empty()) {  // it landed, and the note outlived the process that wrote it
    p_.writer.note({pod.fact.ns, pod.fact.name, pod.fact.uid}, std::nullopt, p_.leader.term(),
                   [](const Status&) {});
    return;
  }
  auto job = std::make_shared<Job>();
  job->pod = {pod.fact.ns, pod.fact.name, pod.fact.uid};
  job->priority = pod.fact.priority;
  job->term = p_.leader.term();
  job->begun = p_.clock.mono();
  job->node = fact->note.node;
  job->candidates = {fact->note.node};  // what other plugins say of other nodes is not known
  if (const std::string why = take_up(job, pod, *fact); !why.empty()) return give_up_note(pod, why);
  jobs_[pod.fact.uid] = job;
  for (const Victim& victim : job->victims) victims_[victim.pod.uid] = pod.fact.uid;
  active_.set(static_cast<double>(jobs_.size()));
  count("resumed");
  job->stage = Stage::kChecking;
  step(job);
}

/// False: it may not be evicted for the pod.
bool Preemption::name_victim(Job& job, const PodRecord& pod, const PreemptionNote::Victim& named) {
  const PodRecord* victim = p_.books.pod(named.uid);
  const core::Hold* hold = p_.books.cluster().hold({named.uid});
  if (victim == nullptr || hold == nullptr || hold->allocation.node != job.node) return true;
  const bool leaves = victim->fact.terminating;
  job.victims.push_back({.pod = {named.uid, victim->fact.ns, victim->fact.name},
                         .priority = victim->fact.priority,
                         .fate = leaves ? Fate::kEvicted : Fate::kChosen});
  job.some_evicted = job.some_evicted || leaves;
  return leaves || (victim->fact.priority < pod.fact.priority && !pod.fact.never_preempts);
}

/// Claims the slices anew. "" = done, else why it makes no sense any more.
std::string Preemption::take_up(const JobPtr& job, PodRecord& pod, const NoteFact& fact) {
  if (!fact.problem.empty()) return fact.problem;
  const WallTime now = p_.clock.wall();
  if (fact.note.deadline <= now) return "its deadline has passed";
  core::Cluster& cluster = p_.books.cluster();
  const NodeId node = cluster.find_node(fact.note.node);
  if (!node.valid() || !cluster.node(node).present || !pod.request)
    return fmt::format("node {} is not there", fact.note.node);
  std::string why;
  std::optional<core::Allocation> slices;
  {
    Lifted lifted(cluster);
    for (const PreemptionNote::Victim& named : fact.note.victims) {
      if (!name_victim(*job, pod, named))
        why = fmt::format("pod {}/{} is not of lower priority", named.ns, named.name);
      lifted.off(named.uid);
    }
    slices = core::fit_node(cluster, *pod.request, node).allocation;
    if (fact.allocation && cluster.reserve({pod.fact.uid}, *fact.allocation, {})) {
      slices = *fact.allocation;
      cluster.release({pod.fact.uid});
    }
  }
  if (why.empty() && !slices) why = fmt::format("it would not fit on node {}", fact.note.node);
  if (!why.empty()) return why;
  job->deadline = p_.clock.mono() + (fact.note.deadline - now);
  p_.books.claim(pod, std::move(*slices), job->deadline);
  return {};
}

void Preemption::give_up_note(const PodRecord& pod, const std::string& why) {
  count("given_up");
  Job job;
  job.pod = {pod.fact.ns, pod.fact.name, pod.fact.uid};
  tell(job, EventType::kWarning, "PreemptionEnded",
       "a preemption begun earlier is given up: " + why);
  p_.writer.note(job.pod, std::nullopt, p_.leader.term(), [](const Status&) {});
}

}  // namespace tessera::service
