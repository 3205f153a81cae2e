/// What begins and ends with a term of leadership. Source: decisions D10, spec/scheduler.md section
/// 14. Everything here runs on the state thread.
#include <chrono>
#include <utility>
#include <vector>

#include "obs/log.h"
#include "service/scheduler.h"

namespace tessera::service {
namespace {

/// How long a call that reaches a follower waits for the Lease to name us: kube-scheduler may hear
/// of its own leadership a moment before we do.
constexpr std::chrono::milliseconds kLeaseEventWait{1000};

}  // namespace

void Scheduler::connect_leader() {
  leader.on_start = [this] { begin_term(); };
  leader.on_stop = [this] { end_term(); };
  keeper.may_sweep = [this] { return gate.is_open() && leader.leads(); };
  measures.leader.set(0);
  if (!options.leader_elect) return;
  lease = std::make_unique<LeaseWatch>(
      *api, state, leader, options.leader_elect_namespace, options.leader_elect_name,
      static_cast<std::uint64_t>(clock.wall().time_since_epoch().count()) + 2);
}

/// What was reserved in an earlier term of ours is void: somebody else may have given the same
/// slices away since. Nothing is decided before fresh lists have shown what he did.
void Scheduler::begin_term() {
  measures.leader.set(1);
  const std::uint64_t term = leader.term();
  roles.announce();
  if (!leader.elects()) {
    fresh_term_ = term;  // nobody decided before us: the first lists will do
    return open_gate();
  }
  preemption.drop();
  drop_reservations();
  caches->refresh([this, term] {
    fresh_term_ = term;
    open_gate();
  });
  gate.reconsider();
}

void Scheduler::end_term() {
  measures.leader.set(0);
  gate.close();
  gate.reconsider();
  binder.depose();
  preemption.drop();
  drop_reservations();
}

/// All but those whose Binding is on its way: its answer or the watch tells what became of it.
void Scheduler::drop_reservations() {
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : books.pods()) {
    if (pod.stage != BindStage::kActive) uids.push_back(uid);
  }
  for (const std::string& uid : uids) books.end_reservation(uid);
}

void Scheduler::open_gate() {
  if (!caches->synced() || !leader.holds(fresh_term_)) return;
  // Slices that an earlier preemption holds are claimed before anything is given away.
  if (std::exchange(resumed_term_, fresh_term_) != fresh_term_) preemption.resume();
  gate.open();
}

/// What HAMi does with every tick of its registration; devices and health come by watch here.
void Scheduler::node_pass() {
  if (gate.is_open()) {
    handshakes.pass();
    roles.announce();
  }
  state.after(options.node_pass_every, [this] { node_pass(); });
}

ReadyGate::Obstacle Scheduler::obstacle() const {
  const std::string missing = caches->missing();
  if (!caches->filled()) return {"not ready: " + missing, options.ready_wait};
  if (!leader.leads())
    return {leader.refusal(), leader.unproven() ? options.ready_wait : kLeaseEventWait};
  return {"not ready: " + (missing.empty() ? "a new term of leadership begins" : missing),
          options.ready_wait};
}

}  // namespace tessera::service
