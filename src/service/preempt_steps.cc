// A preemption from its plan to the free room.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/place.h"
#include "obs/log.h"
#include "service/preempt.h"
#include "service/preempt_lift.h"

namespace tessera::service {
namespace {

/// An eviction or a note that the API server does not take is tried again that often, a little
/// later each time.
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kRetryPause{500};

}  // namespace

// ---- plan, claim, note

void Preemption::take_plan(const JobPtr& job, const core::PreemptionPlan& plan,
                           const PodRecord& pod) {
  const std::string node = p_.books.cluster().node(plan.node).spec.name;
  // Those who were sent away on this node are part of the new plan, elsewhere they went in vain.
  std::erase_if(job->victims, [&](const Victim& victim) {
    const bool stays = victim.fate == Fate::kEvicted && node == job->node;
    if (!stays) victims_.erase(victim.pod.uid);
    return !stays;
  });
  job->node = node;
  std::chrono::seconds longest{0};
  for (const PodUid& uid : plan.victims) {
    const PodRecord* record = p_.books.pod(uid.v);
    if (record == nullptr) continue;
    job->victims.push_back({.pod = {uid.v, record->fact.ns, record->fact.name},
                            .priority = record->fact.priority,
                            .fate = Fate::kChosen});
  }
  for (const Victim& victim : job->victims) {
    victims_[victim.pod.uid] = job->pod.uid;
    if (const PodRecord* record = p_.books.pod(victim.pod.uid); record != nullptr)
      longest = std::max(longest, record->fact.grace);
  }
  job->deadline = p_.clock.mono() + longest + options_.deadline;
  p_.books.claim(pod, plan.allocation, job->deadline);
  job->failures = 0;
  write_note(job);
}

void Preemption::write_note(const JobPtr& job) {
  job->stage = Stage::kNoting;
  const core::Hold* hold = p_.books.cluster().hold({job->pod.uid});
  if (hold == nullptr) return end(job, "failed", "the claim is gone");
  PreemptionNote note{.node = job->node, .devices = {}, .victims = {}, .deadline = {}};
  note.devices = p_.live.get()->vendors().encode(hold->allocation, p_.clock.wall());
  for (const Victim& victim : job->victims) note.victims.push_back(victim.pod);
  note.deadline =
      p_.clock.wall() + std::chrono::ceil<std::chrono::seconds>(job->deadline - p_.clock.mono());
  p_.writer.note(job->pod, encode_note(note), job->term,
                 [this, job](const Status& status) { noted(job, status); });
}

void Preemption::noted(const JobPtr& job, const Status& status) {
  if (job->ended || job->stage != Stage::kNoting) return;
  if (!status) {
    if (status.error().code == Code::kNotFound) return end(job, "pod_gone", status.error().what);
    if (++job->failures >= kTries)
      return end(job, "failed", "the pod's annotation cannot be written: " + status.error().what);
    return p_.state.after(kRetryPause * job->failures, [this, job] {
      if (!job->ended && job->stage == Stage::kNoting) write_note(job);
    });
  }
  job->failures = 0;
  std::vector<std::string> names;
  for (const Victim& victim : job->victims) {
    if (victim.fate == Fate::kChosen)
      names.push_back(
          fmt::format("{}/{} (priority {})", victim.pod.ns, victim.pod.name, victim.priority));
  }
  tell(*job, EventType::kNormal, "Preempting",
       fmt::format("needs room on node {}: of lower priority, to be evicted: {}", job->node,
                   text::join(names, ", ")));
  job->stage = Stage::kChecking;
  step(job);
}

// ---- evictions

void Preemption::mark_gone(Job& job) {
  for (Victim& victim : job.victims)
    if (has_left(p_.books, victim.pod.uid)) victim.fate = Fate::kGone;
}

/// All are asked with dryRun before the first is asked in earnest.
void Preemption::step(const JobPtr& job) {
  if (job->ended) return;
  mark_gone(*job);
  const auto next = [&](Fate fate) {
    return std::find_if(job->victims.begin(), job->victims.end(),
                        [fate](const Victim& v) { return v.fate == fate; });
  };
  if (job->stage == Stage::kChecking) {
    const auto victim = next(Fate::kChosen);
    if (victim != job->victims.end()) return ask(job, *victim);
    job->stage = Stage::kEvicting;
  }
  if (job->stage != Stage::kEvicting) return;
  const auto victim = next(Fate::kChecked);
  if (victim == job->victims.end() || fits_without_the_rest(*job)) return all_asked(job);
  ask(job, *victim);
}

/// Others have left meanwhile: those who were not asked yet may stay.
bool Preemption::fits_without_the_rest(const Job& job) {
  const PodRecord* pod = p_.books.pod(job.pod.uid);
  const NodeId node = p_.books.cluster().find_node(job.node);
  if (pod == nullptr || !pod->request || !node.valid()) return false;
  Lifted lifted(p_.books.cluster());
  for (const Victim& victim : job.victims)
    if (victim.fate == Fate::kEvicted) lifted.off(victim.pod.uid);
  return core::fit_node(p_.books.cluster(), *pod->request, node).allocation.has_value();
}

void Preemption::ask(const JobPtr& job, const Victim& victim) {
  const bool dry_run = job->stage == Stage::kChecking;
  p_.writer.evict(victim.pod, dry_run, job->term,
                  [this, job, uid = victim.pod.uid](Eviction eviction, const std::string& problem) {
                    answered(job, uid, eviction, problem);
                  });
}

void Preemption::answered(const JobPtr& job, const std::string& uid, Eviction eviction,
                          const std::string& problem) {
  if (job->ended) return;
  const auto victim = std::find_if(job->victims.begin(), job->victims.end(),
                                   [&](const Victim& v) { return v.pod.uid == uid; });
  if (victim == job->victims.end()) return;
  switch (eviction) {
    case Eviction::kAccepted:
      accepted(job, *victim);
      break;
    case Eviction::kGone:
      victim->fate = Fate::kGone;
      break;
    case Eviction::kRefused:
      return spare(job, uid, problem);
    case Eviction::kForbidden:
      return end(
          job, "forbidden",
          "pods may not be evicted, the right to create pods/eviction is missing: " + problem);
    case Eviction::kFailed:
      return try_later(job, uid, problem);
  }
  job->failures = 0;
  step(job);
}

void Preemption::accepted(const JobPtr& job, Victim& victim) {
  if (victim.fate == Fate::kChosen) {
    victim.fate = Fate::kChecked;
    return;
  }
  victim.fate = Fate::kEvicted;
  job->some_evicted = true;
  evicted_.increment();
  p_.events.write({"Pod", victim.pod.ns, victim.pod.name, victim.pod.uid}, EventType::kNormal,
                  "EvictedForDevices",
                  fmt::format("its devices on node {} go to pod {}/{} of priority {}", job->node,
                              job->pod.ns, job->pod.name, job->priority));
}

void Preemption::try_later(const JobPtr& job, const std::string& uid, const std::string& problem) {
  if (++job->failures >= kTries) {
    job->failures = 0;
    return spare(job, uid, problem);
  }
  p_.state.after(kRetryPause * job->failures, [this, job] { step(job); });
}

void Preemption::spare(const JobPtr& job, const std::string& uid, const std::string& problem) {
  spared_.increment();
  job->spared.insert(uid);
  const PodRecord* pod = p_.books.pod(uid);
  tell(*job, EventType::kNormal, "PreemptionReplanned",
       fmt::format("pod {} is not evicted: {}",
                   pod == nullptr ? uid : pod->fact.ns + "/" + pod->fact.name, problem));
  plan_again(job);
}

/// Another set. What the evicted leave behind counts as free; if that is of no use, any node will
/// do.
void Preemption::plan_again(const JobPtr& job) {
  mark_gone(*job);
  if (job->some_evicted && !job->partial) {
    job->partial = true;
    count("partial");
  }
  const PodRecord* pod = p_.books.pod(job->pod.uid);
  if (pod == nullptr || !pod->request) return end(job, "pod_gone", "the pod is gone");
  std::optional<core::PreemptionPlan> plan;
  if (job->some_evicted) plan = plan_without(job, *pod, {job->node});
  if (!plan) plan = plan_without(job, *pod, job->candidates);
  if (!plan) return end(job, "refused", "no other set of pods would help");
  take_plan(job, *plan, *pod);
}

std::optional<core::PreemptionPlan> Preemption::plan_without(
    const JobPtr& job, const PodRecord& pod, const std::vector<std::string>& names) {
  core::Cluster& cluster = p_.books.cluster();
  std::vector<NodeId> nodes;
  for (const std::string& name : names) {
    const NodeId node = cluster.find_node(name);
    if (node.valid() && cluster.node(node).present) nodes.push_back(node);
  }
  const EvictablePods evictable = evictable_on(
      p_.books, p_.budgets, nodes,
      {.priority = job->priority,
       .preemptor = job->pod.uid,
       .leave_out = [&](const std::string& uid) {
         const auto chosen = victims_.find(uid);
         const bool by_another = chosen != victims_.end() && chosen->second != job->pod.uid;
         return by_another || job->spared.contains(uid);
       }});
  Lifted lifted(cluster);
  lifted.off(job->pod.uid);
  std::vector<core::Evictable> pods = evictable.pods;
  for (const Victim& victim : job->victims) {
    if (victim.fate != Fate::kEvicted) continue;
    lifted.off(victim.pod.uid);
    std::erase_if(pods, [&](const core::Evictable& e) { return e.uid.v == victim.pod.uid; });
  }
  return core::plan_preemption(cluster, *pod.request, nodes, pods, evictable.budgets);
}

// ---- the victims leave

void Preemption::all_asked(const JobPtr& job) {
  job->stage = Stage::kLeaving;
  p_.writer.nominate(job->pod, job->node, job->term);
  look(job);
}

void Preemption::look(const JobPtr& job) {
  if (job->ended || job->stage != Stage::kLeaving) return;
  mark_gone(*job);
  const bool waiting = std::any_of(job->victims.begin(), job->victims.end(),
                                   [](const Victim& v) { return v.fate == Fate::kEvicted; });
  if (waiting) return;
  job->stage = Stage::kRoom;
  job->urged = p_.clock.mono();
  tell(*job, EventType::kNormal, "PreemptionRoomFree",
       fmt::format("its slices on node {} are free and held for it", job->node));
  p_.waker.urge(job->pod.uid);
}

}  // namespace tessera::service
