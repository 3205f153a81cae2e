#include "service/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/place.h"
#include "obs/log.h"
#include "service/names.h"

namespace tessera::service {
namespace {

std::string pod_key(const k8s::BindArgs& args) { return args.pod_namespace + "/" + args.pod_name; }

/// "" or what is wrong with the call itself.
std::string check_args(const k8s::BindArgs& args) {
  const auto bad = [](std::string_view field, const std::string& value) {
    return fmt::format("extender binding args: {} \"{}\" is not a name", field, value);
  };
  if (!is_object_name(args.pod_name)) return bad("PodName", args.pod_name);
  if (!is_object_name(args.pod_namespace)) return bad("PodNamespace", args.pod_namespace);
  if (!is_object_name(args.node)) return bad("Node", args.node);
  return {};
}

}  // namespace

Binder::Binder(Parts parts, Options options) : p_(parts), options_(options) {}

// ---- from the call to the queue

void Binder::bind(BindCall call) {
  auto job = std::make_shared<Job>();
  job->args = call.args;
  if (job->args.pod_namespace.empty()) job->args.pod_namespace = "default";
  job->arrived = call.arrived;
  job->deadline = call.arrived + options_.retry_timeout;
  job->calls.push_back(std::move(call));
  if (const std::string problem = check_args(job->args); !problem.empty())
    return close(job, problem);
  if (shutting_down_) return close(job, std::string(kBinderStops));
  job->term = p_.leader.term();
  if (job->term == 0) return close(job, p_.leader.why_over());
  find_pod(job);
}

void Binder::find_pod(const JobPtr& job) {
  k8s::BindArgs& args = job->args;
  const PodRecord* namesake = p_.books.pod_by_name(args.pod_namespace, args.pod_name);
  if (args.pod_uid.empty() && namesake != nullptr) args.pod_uid = namesake->fact.uid;
  if (p_.books.pod(args.pod_uid) != nullptr) return admit(job);
  if (namesake != nullptr) {
    return fail_job(job,
                    fmt::format("pod {} has UID {}, the bind names UID {}", pod_key(args),
                                namesake->fact.uid, args.pod_uid),
                    false);
  }
  if (p_.books.deleted_recently(args.pod_uid))
    return close(job, fmt::format("pod \"{}\" not found", args.pod_name));
  fetch_pod(job);
}

void Binder::fetch_pod(const JobPtr& job) {
  p_.locks.fetch_pod(job->args.pod_namespace, job->args.pod_name,
                     [this, job](Result<std::optional<PodFact>> answer) {
                       k8s::BindArgs& args = job->args;
                       if (!answer) return fail_job(job, answer.error().what, false);
                       if (!*answer)
                         return close(job, fmt::format("pod \"{}\" not found", args.pod_name));
                       PodFact& pod = **answer;
                       if (args.pod_uid.empty()) args.pod_uid = pod.uid;
                       if (pod.uid != args.pod_uid) {
                         return fail_job(job,
                                         fmt::format("pod {} has UID {}, the bind names UID {}",
                                                     pod_key(args), pod.uid, args.pod_uid),
                                         false);
                       }
                       if (pod.asks_devices) {
                         p_.books.apply(std::move(pod));
                         return p_.books.pod(args.pod_uid) == nullptr
                                    ? close(job, fmt::format("pod \"{}\" not found", args.pod_name))
                                    : admit(job);
                       }
                       if (pod.node == args.node) return succeed(job);
                       start_plain(job);  // nothing to reserve, nothing to lock
                     });
}

std::string Binder::check_pod(const JobPtr& job, const PodRecord& pod) const {
  const k8s::BindArgs& args = job->args;
  if (pod.fact.ns != args.pod_namespace || pod.fact.name != args.pod_name) {
    return fmt::format("UID {} belongs to pod {}/{}, not to {}", args.pod_uid, pod.fact.ns,
                       pod.fact.name, pod_key(args));
  }
  if (!pod.fact.node.empty() && pod.fact.node != args.node) {
    return fmt::format("pod {} is already bound to node {}, not to {}", pod_key(args),
                       pod.fact.node, args.node);
  }
  if (pod.fact.finished) return fmt::format("pod {} has finished", pod_key(args));
  return {};
}

void Binder::admit(const JobPtr& job) {
  PodRecord& pod = *p_.books.pod(job->args.pod_uid);
  if (const std::string problem = check_pod(job, pod); !problem.empty())
    return fail_job(job, problem, false);
  if (pod.fact.node == job->args.node) return succeed(job);
  if (join_running(job)) return;
  if (p_.books.node(job->args.node) == nullptr) {
    p_.books.end_reservation(job->args.pod_uid);
    p_.events.write({"Pod", pod.fact.ns, pod.fact.name, pod.fact.uid}, EventType::kWarning,
                    "BindingFailed", fmt::format("failed to get node {}", job->args.node));
    p_.measures.bind_failed.increment();
    return close(job, fmt::format("node \"{}\" not found", job->args.node));
  }
  if (const std::string problem = secure_reservation(pod, job->args.node); !problem.empty())
    return fail_job(job, problem, options_.follow);
  p_.books.extend_reservation(job->args.pod_uid, std::chrono::milliseconds(0));
  running_[job->args.pod_uid] = job;
  if (needs_lock(pod)) return enqueue(job);
  start_plain(job);
}

/// A second call for a pod whose bind is still here: the first one's client has given up, or two
/// schedulers ask.
bool Binder::join_running(const JobPtr& job) {
  const auto found = running_.find(job->args.pod_uid);
  if (found == running_.end()) return false;
  const JobPtr running = found->second;
  if (running->args.node == job->args.node) {
    for (BindCall& call : job->calls) running->calls.push_back(std::move(call));
    running->deadline = std::max(running->deadline, job->deadline);
    job->calls.clear();
    return true;
  }
  if (running->active) {
    fail_job(job,
             fmt::format("pod {} is being bound to node {}, not to {}", pod_key(job->args),
                         running->args.node, job->args.node),
             false);
    return true;
  }
  leave_queue(running);
  close(running, fmt::format("superseded by a bind to node {}", job->args.node));
  return false;
}

/// "" when the slices on the node are reserved for the pod, else why not.
std::string Binder::secure_reservation(PodRecord& pod, const std::string& node) {
  const core::Hold* hold = p_.books.cluster().hold({pod.fact.uid});
  if (hold == nullptr || p_.books.only_claims(pod.fact.uid)) return reserve_on(pod, node);
  if (hold->allocation.node == node) return {};
  const std::string held_on = hold->allocation.node;
  if (!options_.follow || hold->state != core::HoldState::kReserved) {
    return fmt::format("pod {}/{} is reserved on node {}, not on node {}", pod.fact.ns,
                       pod.fact.name, held_on, node);
  }
  std::string problem = reserve_on(pod, node);
  if (problem.empty()) {
    p_.measures.bind_moved.increment();
    log::debug("kube-scheduler chose another node than the one held for the pod",
               {{"pod", pod.fact.ns + "/" + pod.fact.name}, {"held", held_on}, {"node", node}});
  }
  return problem;
}

/// In one step with the end of what the pod holds elsewhere; nothing changes when it does not fit.
std::string Binder::reserve_on(PodRecord& pod, const std::string& node) {
  const std::string key = pod.fact.ns + "/" + pod.fact.name;
  if (!pod.request) {
    return pod.fact.problem.empty() ? fmt::format("pod {}: what it asks for is not known", key)
                                    : pod.fact.problem;
  }
  core::Fit fit = core::fit_node(p_.books.cluster(), *pod.request, p_.books.node(node)->id);
  if (!fit.allocation) {
    p_.measures.bind_refused_full.increment();
    return fmt::format("pod {} does not fit on node {}: {}", key, node, fit.reject.text());
  }
  const Status reserved = p_.books.reserve(pod, std::move(*fit.allocation));
  return reserved ? std::string() : reserved.error().what;
}

bool Binder::needs_lock(const PodRecord& pod) const {
  return !pod.request || p_.live.get()->vendors().needs_lock(*pod.request);
}

void Binder::enqueue(const JobPtr& job) {
  set_stage(*job, BindStage::kQueued);
  // Waiting does not age the reservation.
  p_.books.extend_reservation(job->args.pod_uid, options_.retry_timeout);
  queues_[job->args.node].waiting.push_back(job);
  pump(job->args.node);
  if (job->done || job->active) return;
  if (options_.retry_timeout <= std::chrono::milliseconds(0)) return time_out(job);
  p_.state.after(options_.retry_timeout, [this, job] {
    if (!job->done && !job->active && p_.clock.mono() >= job->deadline) time_out(job);
  });
}

void Binder::time_out(const JobPtr& job) {
  leave_queue(job);
  const bool locked = p_.keeper.view(job->args.node).state == LockKeeper::State::kHeld;
  const std::string waited = format_duration(
      std::chrono::duration_cast<std::chrono::milliseconds>(p_.clock.mono() - job->arrived));
  p_.books.extend_reservation(job->args.pod_uid, std::chrono::milliseconds(0));
  if (!locked && !shutting_down_ && places_taken_ >= options_.most_active) {
    return fail_job(job,
                    fmt::format("the API server takes binds too slowly: pod {} has waited {} "
                                "for its turn behind others",
                                pod_key(job->args), waited),
                    false);
  }
  p_.measures.lock_contention.increment();
  fail_job(job,
           fmt::format("node {} has been locked within {}: node lock contention", job->args.node,
                       format_duration(options_.lock_timeout)),
           false);
}

}  // namespace tessera::service
