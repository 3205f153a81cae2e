/// Preemption of our own: kube-scheduler finds no shortage in resources that it was told to ignore,
/// so a device pod that fits nowhere and would fit without some pods of lower priority gets its
/// room here. Its steps: plan (core), claim the slices, write the note on the pod, ask for every
/// eviction with dryRun, evict, wait for the victims' end, wake the pod. The claim lasts until the
/// pod is bound or the deadline passes. Source: decisions D13. Thread rule: owned by the state
/// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "client/token_bucket.h"
#include "core/place.h"
#include "core/preempt.h"
#include "k8s/objects.h"
#include "obs/metrics.h"
#include "service/books.h"
#include "service/budgets.h"
#include "service/events.h"
#include "service/evictable.h"
#include "service/facts.h"
#include "service/leader.h"
#include "service/preempt_writer.h"
#include "service/task_thread.h"
#include "service/waker.h"

namespace tessera::service {

class Preemption {
 public:
  struct Parts {
    TaskThread& state;
    Books& books;
    const Budgets& budgets;
    PreemptWriter& writer;
    Events& events;
    Waker& waker;
    const LiveReader& live;
    const Leadership& leader;
    const Clock& clock;
    obs::Metrics& metrics;
  };
  struct Options {
    bool own = false;
    double per_second = 5, burst = 10;            ///< plans, of all pods
    std::chrono::milliseconds deadline{300'000};  ///< beyond the victims' grace
    std::chrono::milliseconds first_pause{2'000}, longest_pause{60'000};  ///< of one pod
  };
  Preemption(const Parts& parts, const Options& options);

  /// A filter call found no node for the pod. `candidates` are its nodes, kube-scheduler's other
  /// plugins have accepted them.
  void refused(const k8s::Pod& pod, const core::Request& request, const core::Outcome& outcome,
               const std::vector<NodeId>& candidates);
  /// A filter call found one.
  void placed(const std::string& uid);
  /// After news of a pod, and after it was removed from the books.
  void pod_changed(const PodRecord& pod);
  /// Fresh lists are there, the gate is about to open: what an earlier process or leader began is
  /// claimed again and goes on, or is given up.
  void resume();
  /// The term is over: nothing goes on, the notes stay for the next leader.
  void drop();
  /// Once a second or so.
  void tick();

  std::size_t active() const { return jobs_.size(); }

 private:
  enum class Stage : std::uint8_t { kNoting, kChecking, kEvicting, kLeaving, kRoom };
  enum class Fate : std::uint8_t { kChosen, kChecked, kEvicted, kGone };
  struct Victim {
    PreemptionNote::Victim pod;
    std::int64_t priority = 0;
    Fate fate = Fate::kChosen;
  };
  struct Job {
    PodName pod;
    std::int64_t priority = 0;
    std::string node;
    std::vector<Victim> victims;
    std::vector<std::string> candidates;  ///< names of nodes, for another plan
    std::set<std::string> spared;         ///< uids that must stay: their eviction was refused
    Stage stage = Stage::kNoting;
    std::uint64_t term = 0;
    MonoTime begun{}, deadline{}, urged{};
    int failures = 0;           ///< of the API server, in a row
    bool some_evicted = false;  ///< by us: there is a way back no more
    bool partial = false;       ///< one was refused after others went
    bool ended = false;
  };
  using JobPtr = std::shared_ptr<Job>;
  struct Pause {
    MonoTime not_before{}, alone_at{};
    std::chrono::milliseconds length{};
    bool ask_again = false;  ///< was turned away meanwhile: woken when the pause is over
  };

  // preempt.cc: when it begins and ends
  bool pauses(const std::string& uid);
  bool may_begin(const k8s::Pod& pod, const std::vector<NodeId>& candidates);
  void refused_again(const JobPtr& job, const std::vector<NodeId>& candidates);
  bool leave_out(const std::string& uid) const { return victims_.contains(uid); }
  void begin(const k8s::Pod& pod, const core::Request& request, const std::vector<NodeId>& nodes,
             const core::PreemptionPlan& plan);
  void end(const JobPtr& job, std::string_view result, const std::string& why);
  void back_off(const std::string& uid, bool ask_again);
  void ask_again();
  void tell(const Job& job, EventType type, std::string_view reason, std::string message);
  void count(std::string_view result);
  // preempt_steps.cc: what happens between
  void take_plan(const JobPtr& job, const core::PreemptionPlan& plan, const PodRecord& pod);
  void write_note(const JobPtr& job);
  void noted(const JobPtr& job, const Status& status);
  void step(const JobPtr& job);
  void ask(const JobPtr& job, const Victim& victim);
  void answered(const JobPtr& job, const std::string& uid, Eviction eviction,
                const std::string& problem);
  void accepted(const JobPtr& job, Victim& victim);
  void try_later(const JobPtr& job, const std::string& uid, const std::string& problem);
  void spare(const JobPtr& job, const std::string& uid, const std::string& problem);
  void plan_again(const JobPtr& job);
  std::optional<core::PreemptionPlan> plan_without(const JobPtr& job, const PodRecord& pod,
                                                   const std::vector<std::string>& nodes);
  bool fits_without_the_rest(const Job& job);
  void all_asked(const JobPtr& job);
  void look(const JobPtr& job);
  void mark_gone(Job& job);
  // preempt_resume.cc
  void resume_one(PodRecord& pod);
  std::string take_up(const JobPtr& job, PodRecord& pod, const NoteFact& fact);
  bool name_victim(Job& job, const PodRecord& pod, const PreemptionNote::Victim& named);
  void give_up_note(const PodRecord& pod, const std::string& why);

  Parts p_;
  Options options_;
  std::unordered_map<std::string, JobPtr> jobs_;          // by the preemptor's uid
  std::unordered_map<std::string, std::string> victims_;  // uid -> uid of the preemptor
  std::unordered_map<std::string, Pause> pauses_;         // by the preemptor's uid
  client::TokenBucket bucket_;
  obs::Histogram duration_, planning_;
  obs::Counter evicted_, spared_;
  obs::Gauge active_;
};

}  // namespace tessera::service
