#include "service/preempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "obs/log.h"

namespace tessera::service {
namespace {

/// kube-scheduler asks the nominated node alone first, and all nodes right after it.
constexpr std::chrono::milliseconds kSecondCallWithin{500};
/// A pod whose room is free is woken again while nothing comes of it.
constexpr std::chrono::seconds kUrgeAgainAfter{5};
constexpr std::size_t kRememberPauses = 10'000;

/// Quick to say no, which is the usual answer where all have one priority.
bool somebody_below(const Books& books, std::int64_t priority) {
  return std::any_of(books.pods().begin(), books.pods().end(), [&](const auto& entry) {
    const PodFact& fact = entry.second.fact;
    return fact.priority < priority && !fact.node.empty() && !fact.finished;
  });
}

std::vector<NodeId> curable(const core::Outcome& outcome, const std::vector<NodeId>& candidates) {
  std::vector<NodeId> nodes;
  for (const core::Outcome::Rejected& rejected : outcome.rejected) {
    const NodeId node = candidates[rejected.candidate];
    if (node.valid() && !rejected.reject.unresolvable()) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

Preemption::Preemption(const Parts& parts, const Options& options)
    : p_(parts),
      options_(options),
      bucket_(options.per_second, options.burst, parts.clock.mono()),
      duration_(parts.metrics.histogram(
          "tessera_preemption_duration_seconds",
          "Time from the decision to evict until the pod was bound, victims' grace included.",
          {0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600})),
      planning_(parts.metrics.histogram(
          "tessera_preemption_plan_seconds",
          "Time to find out whom to evict, or that it would not help.", obs::latency_bounds())),
      evicted_(parts.metrics.counter("tessera_preemption_victims_total",
                                     "Pods that a preemption asked to evict, by outcome.",
                                     {{"result", "evicted"}})),
      spared_(parts.metrics.counter("tessera_preemption_victims_total",
                                    "Pods that a preemption asked to evict, by outcome.",
                                    {{"result", "refused"}})),
      active_(parts.metrics.gauge("tessera_preemptions_active", "Preemptions in progress.")) {}

void Preemption::count(std::string_view result) {
  p_.metrics
      .counter("tessera_preemption_attempts_total",
               "Preemptions by outcome; see docs/preemption.md for the words.",
               {{"result", std::string(result)}})
      .increment();
}

void Preemption::tell(const Job& job, EventType type, std::string_view reason,
                      std::string message) {
  log::info("preemption", {{"pod", job.pod.ns + "/" + job.pod.name},
                           {"step", std::string(reason)},
                           {"message", message}});
  p_.events.write({"Pod", job.pod.ns, job.pod.name, job.pod.uid}, type, reason, std::move(message));
}

// ---- begin

void Preemption::refused(const k8s::Pod& pod, const core::Request& request,
                         const core::Outcome& outcome, const std::vector<NodeId>& candidates) {
  if (!options_.own) return;
  if (const auto found = jobs_.find(pod.uid); found != jobs_.end())
    return refused_again(JobPtr(found->second), candidates);
  if (pod.never_preempts || pod.terminating || !p_.leader.leads()) return;
  if (!somebody_below(p_.books, pod.priority) || pauses(pod.uid)) return;
  const std::vector<NodeId> nodes = curable(outcome, candidates);
  const EvictablePods evictable = evictable_on(
      p_.books, p_.budgets, nodes,
      {.priority = pod.priority, .preemptor = pod.uid, .leave_out = [this](const std::string& uid) {
         return leave_out(uid);
       }});
  if (evictable.pods.empty()) {
    if (evictable.some_are_mid_bind) back_off(pod.uid, true);
    return;
  }
  if (!may_begin(pod, candidates)) return;
  const MonoTime before = p_.clock.mono();
  const auto plan =
      core::plan_preemption(p_.books.cluster(), request, nodes, evictable.pods, evictable.budgets);
  planning_.observe(std::chrono::duration<double>(p_.clock.mono() - before).count());
  if (!plan || plan->victims.empty()) {
    count("no_help");
    return back_off(pod.uid, evictable.some_are_mid_bind);
  }
  begin(pod, request, nodes, *plan);
}

bool Preemption::pauses(const std::string& uid) {
  const auto pause = pauses_.find(uid);
  if (pause == pauses_.end() || p_.clock.mono() >= pause->second.not_before) return false;
  pause->second.ask_again = true;
  return true;
}

/// False: not now. Who is turned away by a limit is woken when it may try.
bool Preemption::may_begin(const k8s::Pod& pod, const std::vector<NodeId>& candidates) {
  const MonoTime now = p_.clock.mono();
  if (pauses_.size() > kRememberPauses) pauses_.clear();
  Pause& pause = pauses_[pod.uid];
  const bool alone = !pod.nominated_node.empty() && candidates.size() == 1;
  if (alone && now - std::exchange(pause.alone_at, now) > kSecondCallWithin) return false;
  if (bucket_.take(now)) return true;
  count("limited");
  pause.not_before = now + bucket_.wait(now);
  pause.ask_again = true;
  return false;
}

void Preemption::back_off(const std::string& uid, bool ask_again) {
  Pause& pause = pauses_[uid];
  pause.length = pause.length.count() == 0 ? options_.first_pause
                                           : std::min(pause.length * 2, options_.longest_pause);
  pause.not_before = p_.clock.mono() + pause.length;
  pause.ask_again = ask_again;
}

void Preemption::begin(const k8s::Pod& pod, const core::Request& request,
                       const std::vector<NodeId>& nodes, const core::PreemptionPlan& plan) {
  PodRecord& record = p_.books.note_pod(pod.ns, pod.name, pod.uid);
  if (!record.request) record.request = request;
  auto job = std::make_shared<Job>();
  job->pod = {pod.ns, pod.name, pod.uid};
  job->priority = pod.priority;
  job->term = p_.leader.term();
  job->begun = p_.clock.mono();
  for (const NodeId node : nodes)
    job->candidates.push_back(p_.books.cluster().node(node).spec.name);
  jobs_[pod.uid] = job;
  active_.set(static_cast<double>(jobs_.size()));
  count("begun");
  take_plan(job, plan, record);
}

// ---- while it goes on

/// The victims are gone and it does not fit where its room was: somebody without a claim took it,
/// or a device went.
void Preemption::refused_again(const JobPtr& job, const std::vector<NodeId>& candidates) {
  if (job->stage != Stage::kRoom) return;
  const NodeId node = p_.books.cluster().find_node(job->node);
  if (std::find(candidates.begin(), candidates.end(), node) == candidates.end()) return;
  end(job, "lost", fmt::format("the room made on node {} is gone", job->node));
}

void Preemption::placed(const std::string& uid) {
  const auto found = jobs_.find(uid);
  if (found == jobs_.end()) return;
  const JobPtr job = found->second;
  if (job->stage == Stage::kRoom) return;
  if (!job->some_evicted) return end(job, "unneeded", "the pod fits without it");
  job->stage = Stage::kRoom;  // whoever was not asked to leave may stay
  job->urged = p_.clock.mono();
}

void Preemption::pod_changed(const PodRecord& pod) {
  if (!options_.own) return;
  const std::string uid = pod.fact.uid;
  const PodRecord* known = p_.books.pod(uid);
  if (known == nullptr || known->fact.finished || !known->fact.node.empty()) pauses_.erase(uid);
  if (const auto victim = victims_.find(uid); victim != victims_.end()) {
    const auto waiting = jobs_.find(victim->second);
    if (waiting != jobs_.end()) look(JobPtr(waiting->second));
  }
  const auto own = jobs_.find(uid);
  if (own == jobs_.end()) return;
  const JobPtr job = own->second;
  if (known == nullptr || known->fact.finished || known->fact.terminating)
    return end(job, "pod_gone", "the pod itself ends");
  if (known->fact.node.empty()) return;
  const bool here = known->fact.node == job->node;
  if (here) duration_.observe(std::chrono::duration<double>(p_.clock.mono() - job->begun).count());
  end(job, here ? "landed" : "elsewhere",
      fmt::format("the pod is bound to node {}", known->fact.node));
}

void Preemption::end(const JobPtr& job, std::string_view result, const std::string& why) {
  job->ended = true;
  jobs_.erase(job->pod.uid);
  active_.set(static_cast<double>(jobs_.size()));
  std::erase_if(victims_, [&](const auto& entry) { return entry.second == job->pod.uid; });
  p_.books.end_claim(job->pod.uid);
  count(result);
  const bool landed = result == "landed";
  const bool well = landed || result == "elsewhere" || result == "unneeded";
  if (result != "pod_gone") {
    tell(*job, well ? EventType::kNormal : EventType::kWarning, "PreemptionEnded", why);
    p_.writer.note(job->pod, std::nullopt, job->term, [](const Status&) {});
  }
  if (!well && result != "pod_gone") back_off(job->pod.uid, true);
}

void Preemption::drop() {
  for (const auto& [uid, job] : jobs_) {
    job->ended = true;
    p_.books.end_claim(uid);
  }
  jobs_.clear();
  victims_.clear();
  pauses_.clear();
  active_.set(0);
}

void Preemption::tick() {
  if (!options_.own) return;
  const MonoTime now = p_.clock.mono();
  std::vector<JobPtr> jobs;
  for (const auto& [uid, job] : jobs_) jobs.push_back(job);
  for (const JobPtr& job : jobs) {
    if (now >= job->deadline) {
      end(job, "expired",
          fmt::format("the pod was not bound to node {} in time: its slices are free for others",
                      job->node));
    } else if (job->stage == Stage::kRoom && p_.books.only_claims(job->pod.uid) &&
               now - job->urged >= kUrgeAgainAfter) {
      job->urged = now;
      p_.waker.urge(job->pod.uid);
    }
  }
  ask_again();
}

void Preemption::ask_again() {
  if (!p_.leader.leads()) return;
  const MonoTime now = p_.clock.mono();
  for (auto& [uid, pause] : pauses_) {
    if (!pause.ask_again || now < pause.not_before) continue;
    pause.ask_again = false;
    const PodRecord* pod = p_.books.pod(uid);
    const bool waits = pod != nullptr && pod->fact.node.empty() &&
                       p_.books.cluster().hold({uid}) == nullptr && !jobs_.contains(uid);
    if (waits) p_.waker.urge(uid);
  }
}

}  // namespace tessera::service
