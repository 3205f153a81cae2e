/// The parts of the running scheduler, put together in the order in which they need each other.
/// Thread rule: see each part; what is behind `state` belongs to the state thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "client/api.h"
#include "client/credentials.h"
#include "http/pieces.h"
#include "obs/metrics.h"
#include "service/allocation_watch.h"
#include "service/binder.h"
#include "service/binding_writer.h"
#include "service/books.h"
#include "service/budgets.h"
#include "service/caches.h"
#include "service/caller_check.h"
#include "service/config_reload.h"
#include "service/events.h"
#include "service/facts.h"
#include "service/filter.h"
#include "service/handshake.h"
#include "service/leader.h"
#include "service/lock_keeper.h"
#include "service/lock_writer.h"
#include "service/measures.h"
#include "service/placer.h"
#include "service/pod_watch.h"
#include "service/preempt.h"
#include "service/preempt_verb.h"
#include "service/preempt_writer.h"
#include "service/prioritize.h"
#include "service/quota_view.h"
#include "service/ready_gate.h"
#include "service/role_labels.h"
#include "service/scrape.h"
#include "service/self_check.h"
#include "service/serve_check.h"
#include "service/server.h"
#include "service/task_thread.h"
#include "service/waker.h"

namespace tessera::service {

class Scheduler {
 public:
  Scheduler(const ServeOptions& options, ServePlan plan, const client::Credentials& credentials,
            const Clock& clock);
  ~Scheduler();

  void start();
  /// Two steps, so that answers can still go out between them: refuse and finish; then end the
  /// threads.
  void refuse_new_work();
  void stop();
  /// A page of metrics, taken now and made piece by piece; all of it on the scrape worker. Errors:
  /// the state thread has stopped, too many pages are under way.
  Result<std::unique_ptr<http::PieceSource>> metrics_page();
  std::string self_check();

  const ServeOptions options;
  const Clock& clock;
  obs::Metrics metrics;
  LiveReader live;
  Measures measures;
  CallerCheck callers;
  Leadership leader;
  TaskThread state, scrape;
  TaskThread side;  ///< long answers that no decision may wait for: simulations
  // Ended before what their callbacks use.
  std::unique_ptr<client::ApiClient> api;
  std::unique_ptr<client::ApiClient> event_api;  ///< events only, and never in a hurry
  Books books;
  Budgets budgets;
  Events events;
  LockWriter locks;
  LockKeeper keeper;
  BindingWriter bindings;
  Binder binder;
  AllocationWatch allocations;
  HandshakeHealth handshake_health;
  HandshakeWriter handshakes;
  RoleLabels roles;
  PodWatch pod_watch;
  QuotaView quota_view;
  Placer placer;
  Filter filter;
  Prioritizer prioritizer;
  FilterCallPool filter_calls;
  Waker waker;
  PreemptWriter evictions;
  Preemption preemption;
  PreemptVerb preempt_verb;
  SelfCheck checker;
  std::unique_ptr<Caches> caches;
  std::unique_ptr<LeaseWatch> lease;  ///< with election only
  ReadyGate gate;
  std::unique_ptr<ConfigReload> reload;  ///< with a device configuration file only

 private:
  // Pages of metrics: scheduler_scrape.cc.
  ScrapeFigures figures();  // state thread
  Camera camera_;           // scrape worker
  /// Counted down by whatever thread ends a page, which may be after us.
  const std::shared_ptr<std::atomic<int>> pages_ = std::make_shared<std::atomic<int>>(0);
  void tell_unassigned(const PodRecord& pod);
  // Another vendor table, wake-ups: scheduler_reload.cc.
  void connect_news();
  void adopt(const std::shared_ptr<const vendors::Vendors>& table);
  void tell_own_pod(EventType type, std::string_view reason, const std::string& message);
  void beat();
  void publish_quotas();
  std::uint64_t published_quotas_ = UINT64_MAX;
  void connect();
  void tick();
  void watch_tokens();
  void wait_until(std::chrono::milliseconds limit, const std::function<bool()>& so);
  // The terms of leadership: scheduler_term.cc.
  void connect_leader();
  void begin_term();
  void end_term();
  void drop_reservations();
  void open_gate();
  void node_pass();
  ReadyGate::Obstacle obstacle() const;

  std::uint64_t fresh_term_ = 0;    ///< the term whose lists are complete
  std::uint64_t resumed_term_ = 0;  ///< the term in which earlier preemptions were looked at
};

}  // namespace tessera::service
