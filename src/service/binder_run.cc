#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "obs/log.h"
#include "service/binder.h"

namespace tessera::service {
namespace {

std::string pod_key(const k8s::BindArgs& args) { return args.pod_namespace + "/" + args.pod_name; }

double seconds(MonoTime from, MonoTime to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

// ---- the queue of a node

bool Binder::clients_gone(const Job& job) const {
  return std::all_of(job.calls.begin(), job.calls.end(), [](const BindCall& call) {
    return call.client_gone != nullptr && call.client_gone->load();
  });
}

void Binder::drop(const JobPtr& job) {
  p_.measures.bind_dropped.increment();
  close(job, "client has gone");
}

void Binder::drop_gone(Queue& queue) {
  std::vector<JobPtr> gone;
  std::copy_if(queue.waiting.begin(), queue.waiting.end(), std::back_inserter(gone),
               [this](const JobPtr& job) { return clients_gone(*job); });
  for (const JobPtr& job : gone) {
    leave_queue(job);
    drop(job);
  }
}

/// Somebody else leads, or did for a while: he may have given the slices away. Nothing is written
/// any more, neither for the pod nor about it.
bool Binder::deposed(const JobPtr& job) {
  if (p_.leader.holds(job->term)) return false;
  leave_queue(job);
  fail_job(job, p_.leader.why_over(), true);
  return true;
}

/// What was true when the call came may have changed while it waited.
bool Binder::recheck(const JobPtr& job) {
  if (deposed(job)) return false;
  PodRecord* pod = p_.books.pod(job->args.pod_uid);
  std::string problem;
  if (pod == nullptr)
    problem = fmt::format("pod \"{}\" not found", job->args.pod_name);
  else if (problem = check_pod(job, *pod); problem.empty() && pod->fact.node == job->args.node) {
    leave_queue(job);
    succeed(job);
    return false;
  }
  if (problem.empty() && p_.books.node(job->args.node) == nullptr) {
    problem = fmt::format("node \"{}\" not found", job->args.node);
    p_.books.end_reservation(job->args.pod_uid);
  }
  if (problem.empty()) problem = secure_reservation(*pod, job->args.node);
  if (problem.empty()) return true;
  leave_queue(job);
  fail_job(job, problem, options_.follow);
  return false;
}

void Binder::pump(std::string name) {
  while (true) {
    const auto found = queues_.find(name);
    if (found == queues_.end() || found->second.active) return;
    drop_gone(found->second);
    if (found->second.waiting.empty()) {
      queues_.erase(name);
      return;
    }
    const JobPtr job = found->second.waiting.front();
    if (!recheck(job)) continue;
    const LockKeeper::View view = p_.keeper.view(name);
    const Result<LockText> lock = parse_lock(view.value);
    const bool own = lock && lock->has_owner() && lock->ns == job->args.pod_namespace &&
                     lock->name == job->args.pod_name;
    if (view.state == LockKeeper::State::kHeld && !own) return;
    if (take_place(job)) return take_lock(job, view);
    if (!found->second.in_line) line_.push_back({.node = name, .plain = nullptr});
    found->second.in_line = true;
    return;
  }
}

void Binder::take_lock(const JobPtr& job, const LockKeeper::View& view) {
  Queue& queue = queues_[job->args.node];
  queue.waiting.pop_front();
  queue.active = job;
  job->active = true;
  set_stage(*job, BindStage::kActive);
  job->lock_value = format_lock(p_.clock.wall(), job->args.pod_namespace, job->args.pod_name);
  std::optional<std::string> replaces;
  if (view.state != LockKeeper::State::kFree) replaces = view.value;
  p_.locks.set(job->args.node, job->lock_value, std::move(replaces), job->term,
               [this, job, view](const Status& status) { lock_answered(job, view, status); });
}

void Binder::lock_answered(const JobPtr& job, const LockKeeper::View& view, const Status& status) {
  if (status) {
    if (view.state == LockKeeper::State::kStale) p_.keeper.report(job->args.node, view);
    p_.measures.lock_wait.observe(seconds(job->arrived, p_.clock.mono()));
    p_.keeper.taken(job->args.node, job->lock_value);
    return write_binding(job);
  }
  if (status.error().code != Code::kConflict) {
    leave_queue(job);
    fail_job(job, status.error().what, true);
    return pump(job->args.node);
  }
  // Somebody else was faster: back to the head of the queue.
  job->active = false;
  give_place_back(job);
  set_stage(*job, BindStage::kQueued);
  Queue& queue = queues_[job->args.node];
  queue.active = nullptr;
  queue.waiting.push_front(job);
  if (shutting_down_ || p_.clock.mono() >= job->deadline) return time_out(job);
  pump(job->args.node);
}

// ---- the Binding and the end

void Binder::write_binding(const JobPtr& job) {
  if (deposed(job)) return pump(job->args.node);
  const core::Hold* hold = p_.books.cluster().hold({job->args.pod_uid});
  const PodRecord* pod = p_.books.pod(job->args.pod_uid);
  if (pod != nullptr && pod->fact.asks_devices &&
      (hold == nullptr || hold->allocation.node != job->args.node)) {
    return back_out(job, fmt::format("pod {}: its reservation on node {} ended", pod_key(job->args),
                                     job->args.node));
  }
  if (pod == nullptr && !job->lock_value.empty())
    return back_out(job, fmt::format("pod \"{}\" not found", job->args.pod_name));
  std::vector<std::string> carried;
  if (pod != nullptr) carried = pod->fact.carried_keys;
  const BindingOrder order{.ns = job->args.pod_namespace,
                           .name = job->args.pod_name,
                           .uid = job->args.pod_uid,
                           .node = job->args.node,
                           .allocation = hold == nullptr ? nullptr : &hold->allocation,
                           .carried_keys = std::move(carried),
                           .decided_at = pod == nullptr ? p_.clock.wall() : pod->reserved_at,
                           .term = job->term};
  p_.bindings.write(order, [this, job](BindingOutcome outcome, const std::string& problem) {
    binding_answered(job, outcome, problem);
  });
}

void Binder::binding_answered(const JobPtr& job, BindingOutcome outcome,
                              const std::string& problem) {
  switch (outcome) {
    case BindingOutcome::kBound:
      p_.books.bound(job->args.pod_uid, job->args.node);
      leave_queue(job);
      succeed(job);
      return pump(job->args.node);
    case BindingOutcome::kRefused:
      return back_out(job, problem);
    case BindingOutcome::kUnknown:
      break;
  }
  // It may be bound. Reservation and lock stay: the watch, the lock keeper or the reservation's end
  // settle it.
  leave_queue(job);
  fail_job(job, problem, false);
  pump(job->args.node);
}

void Binder::back_out(const JobPtr& job, const std::string& problem) {
  const auto finish = [this, job, problem](const Status& released) {
    if (!released)
      log::warn("node lock could not be released",
                {{"node", job->args.node}, {"problem", released.error().what}});
    leave_queue(job);
    fail_job(job, problem, true);
    pump(job->args.node);
  };
  if (job->lock_value.empty()) return finish({});
  p_.locks.clear(job->args.node, job->lock_value, job->term, finish);
}

void Binder::succeed(const JobPtr& job) {
  p_.measures.bound.increment();
  p_.measures.bind_duration.observe(seconds(job->arrived, p_.clock.mono()));
  const bool did_it = job->active;
  const k8s::BindArgs args = job->args;
  close(job, {});
  if (did_it) {
    log::info("bound", {{"pod", pod_key(args)}, {"node", args.node}});
    if (!p_.leader.holds(job->term)) return;
    p_.events.write({"Pod", args.pod_namespace, args.pod_name, args.pod_uid}, EventType::kNormal,
                    "BindingSucceed",
                    fmt::format("Successfully binding node [{}] to {}", args.node, pod_key(args)));
  }
}

void Binder::fail_job(const JobPtr& job, const std::string& problem, bool end_reservation) {
  const k8s::BindArgs args = job->args;
  if (end_reservation) {
    p_.books.end_reservation(args.pod_uid);
    p_.measures.rolled_back.increment();
  }
  p_.measures.bind_failed.increment();
  p_.measures.bind_duration.observe(seconds(job->arrived, p_.clock.mono()));
  close(job, problem);
  log::warn("bind failed", {{"pod", pod_key(args)}, {"node", args.node}, {"problem", problem}});
  if (!p_.leader.holds(job->term)) return;
  p_.events.write({"Pod", args.pod_namespace, args.pod_name, args.pod_uid}, EventType::kWarning,
                  "BindingFailed", problem);
}

void Binder::close(const JobPtr& job, const std::string& error) {
  job->done = true;
  give_place_back(job);
  const auto running = running_.find(job->args.pod_uid);
  if (running != running_.end() && running->second == job) {
    running_.erase(running);
    set_stage(*job, BindStage::kNone);
  }
  for (const BindCall& call : job->calls) call.answer(error);
  job->calls.clear();
}

void Binder::leave_queue(const JobPtr& job) {
  const auto found = queues_.find(job->args.node);
  if (found == queues_.end()) return;
  Queue& queue = found->second;
  if (queue.active == job) queue.active = nullptr;
  queue.waiting.erase(std::remove(queue.waiting.begin(), queue.waiting.end(), job),
                      queue.waiting.end());
}

void Binder::set_stage(const Job& job, BindStage stage) {
  PodRecord* pod = p_.books.pod(job.args.pod_uid);
  if (pod == nullptr) return;
  pod->stage = stage;
  pod->bind_node = stage == BindStage::kNone ? std::string() : job.args.node;
}

// ---- time, shutdown, figures

void Binder::tick() {
  std::vector<std::string> nodes;
  for (const auto& [node, queue] : queues_) nodes.push_back(node);
  for (const std::string& node : nodes) {
    pump(node);
    const auto found = queues_.find(node);
    if (found == queues_.end()) continue;
    drop_gone(found->second);
    const std::deque<JobPtr> waiting = found->second.waiting;
    for (const JobPtr& job : waiting) {
      if (p_.clock.mono() >= job->deadline) time_out(job);
    }
  }
  tend_line();
}

void Binder::refuse_waiting(const std::string& why) {
  std::vector<JobPtr> waiting;
  for (auto& [node, queue] : queues_)
    waiting.insert(waiting.end(), queue.waiting.begin(), queue.waiting.end());
  for (const Turn& turn : line_) {
    if (turn.waits_plainly()) waiting.push_back(turn.plain);
  }
  for (const JobPtr& job : waiting) {
    leave_queue(job);
    close(job, why);
  }
}

void Binder::depose() { refuse_waiting(p_.leader.why_over()); }

void Binder::shut_down() {
  shutting_down_ = true;
  refuse_waiting(std::string(kBinderStops));
}

std::size_t Binder::waiting() const {
  std::size_t sum = 0;
  for (const auto& [node, queue] : queues_) sum += queue.waiting.size();
  return sum +
         static_cast<std::size_t>(std::count_if(
             line_.begin(), line_.end(), [](const Turn& turn) { return turn.waits_plainly(); }));
}

std::size_t Binder::active() const {
  return static_cast<std::size_t>(std::count_if(
      running_.begin(), running_.end(), [](const auto& entry) { return entry.second->active; }));
}

bool Binder::has_work(const std::string& node) const { return queues_.contains(node); }

}  // namespace tessera::service
