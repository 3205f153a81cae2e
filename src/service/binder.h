/// The binds of all nodes: a queue per node, one pod at a time between lock and the agent's
/// release, waiting by watch instead of failing. Source: decisions D11, spec/scheduler.md
/// section 13. Thread rule: owned by the state thread.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "k8s/extender.h"
#include "service/binding_writer.h"
#include "service/books.h"
#include "service/events.h"
#include "service/facts.h"
#include "service/leader.h"
#include "service/lock_keeper.h"
#include "service/lock_writer.h"
#include "service/measures.h"
#include "service/task_thread.h"

namespace tessera::service {

inline constexpr std::string_view kBinderStops =
    "scheduler shutting down while waiting for node lock: node lock contention";

struct BindCall {
  k8s::BindArgs args;
  std::function<void(const std::string& error)>
      answer;  ///< "" = bound; called exactly once, unless the client has gone
  std::shared_ptr<std::atomic<bool>> client_gone;  ///< may be null
  MonoTime arrived{};
};

class Binder {
 public:
  struct Parts {
    TaskThread& state;
    Books& books;
    LockWriter& locks;
    LockKeeper& keeper;
    BindingWriter& bindings;
    Events& events;
    const Measures& measures;
    const Leadership& leader;
    const LiveReader& live;
    const Clock& clock;
  };
  struct Options {
    std::chrono::milliseconds lock_timeout{300'000};
    std::chrono::milliseconds retry_timeout{28'000};
    bool follow = false;  ///< kube-scheduler picks the node: what is held elsewhere moves (D12)
    /// Binds between lock and answer at once; as many as the API client has calls on the wire. More
    /// would wait in the client, where their time runs out and nothing can be taken back.
    std::size_t most_active = 64;
  };
  Binder(Parts parts, Options options);

  void bind(BindCall call);
  /// Something that a waiting bind depends on may have changed.
  void pump(std::string name);  ///< by value: the caller's text may die with a job
  /// Once a second: clients that have gone, locks that have expired.
  void tick();
  /// Leadership was lost: everything that waits is refused; what is being written ends with the
  /// next write, which is not sent any more.
  void depose();
  /// Refuses everything that waits; what has its lock goes on.
  void shut_down();

  std::size_t waiting() const;
  std::size_t active() const;
  bool has_work(const std::string& node) const;

 private:
  struct Job {
    k8s::BindArgs args;
    std::vector<BindCall> calls;  ///< repeated calls for the same pod and node share one job
    MonoTime arrived{}, deadline{};
    std::uint64_t term = 0;  ///< of leadership: nothing is written for the job in another one
    std::string lock_value;
    bool active = false;     ///< lock asked for, or binding under way: no way back by time or by a
                             ///< client that hangs up
    bool has_place = false;  ///< counted in places_taken_
    bool done = false;
  };
  using JobPtr = std::shared_ptr<Job>;
  struct Queue {
    std::deque<JobPtr> waiting;
    JobPtr active;
    bool in_line = false;
  };
  /// Who goes on when a place is free: the head of a node's queue, or a bind that needs no lock.
  struct Turn {
    std::string node;
    JobPtr plain;
    bool waits_plainly() const { return plain != nullptr && !plain->done; }
  };

  void find_pod(const JobPtr& job);
  void fetch_pod(const JobPtr& job);
  void admit(const JobPtr& job);
  bool join_running(const JobPtr& job);
  std::string check_pod(const JobPtr& job, const PodRecord& pod) const;
  std::string secure_reservation(PodRecord& pod, const std::string& node);
  std::string reserve_on(PodRecord& pod, const std::string& node);
  bool needs_lock(const PodRecord& pod) const;
  void enqueue(const JobPtr& job);
  void time_out(const JobPtr& job);
  bool take_place(const JobPtr& job);
  void give_place_back(const JobPtr& job);
  void next_in_line();
  void start_plain(const JobPtr& job);
  void go_on_plain(const JobPtr& job);
  void tend_line();
  bool clients_gone(const Job& job) const;
  void drop(const JobPtr& job);
  void drop_gone(Queue& queue);
  bool recheck(const JobPtr& job);
  bool deposed(const JobPtr& job);
  void refuse_waiting(const std::string& why);
  void take_lock(const JobPtr& job, const LockKeeper::View& view);
  void lock_answered(const JobPtr& job, const LockKeeper::View& view, const Status& status);
  void write_binding(const JobPtr& job);
  void binding_answered(const JobPtr& job, BindingOutcome outcome, const std::string& problem);
  void back_out(const JobPtr& job, const std::string& problem);
  void succeed(const JobPtr& job);
  void fail_job(const JobPtr& job, const std::string& problem, bool end_reservation);
  void close(const JobPtr& job, const std::string& error);
  void leave_queue(const JobPtr& job);
  void set_stage(const Job& job, BindStage stage);

  Parts p_;
  Options options_;
  std::unordered_map<std::string, Queue> queues_;    // by node
  std::unordered_map<std::string, JobPtr> running_;  // by pod uid: queued or active
  std::deque<Turn> line_;                            // in the order they came
  std::size_t places_taken_ = 0;
  bool serving_line_ = false;
  bool shutting_down_ = false;
};

}  // namespace tessera::service
