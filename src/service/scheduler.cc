#include "service/scheduler.h"

#include <chrono>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{1000};
constexpr milliseconds kBindsMayFinish{5000};
constexpr milliseconds kLocksMayGo{2000};
constexpr milliseconds kEventsMayGo{500};
constexpr std::string_view kShuttingDown = "scheduler is shutting down";

client::ApiClientOptions client_options(const ServeOptions& options) {
  client::ApiClientOptions out;
  out.user_agent = "tessera/" TESSERA_VERSION;
  out.qps = options.kube_qps;
  out.burst = options.kube_burst;
  out.default_timeout = options.kube_timeout;
  return out;
}

/// Nothing that decides waits for an event, and nothing that an event needs stands before it.
client::ApiClientOptions event_options(const ServeOptions& options) {
  client::ApiClientOptions out = client_options(options);
  out.low_qps = -1;  // the budget of the events is kept by them
  out.background = true;
  return out;
}

Leadership::Options leader_options(const ServeOptions& options) {
  return {.elect = options.leader_elect,
          .host = options.leader_elect_host,
          .ns = options.leader_elect_namespace,
          .lease = options.leader_elect_name};
}

NodesForm nodes_form(const ServeOptions& options) {
  return options.nodes_form == "live" ? NodesForm::kLive : NodesForm::kSimulate;
}

}  // namespace

Scheduler::Scheduler(const ServeOptions& serve, ServePlan plan,
                     const client::Credentials& credentials, const Clock& the_clock)
    : options(serve),
      clock(the_clock),
      live(std::make_shared<FactReader>(std::make_shared<vendors::Vendors>(std::move(plan.vendors)),
                                        std::move(plan.defaults), 1, serve.preemption == "own")),
      measures(metrics),
      callers({.certificates = !serve.extender_client_ca.empty(),
               .token_file = serve.extender_token_file},
              clock, metrics),
      leader(leader_options(serve), clock),
      api(std::make_unique<client::ApiClient>(credentials, client_options(serve), metrics)),
      event_api(std::make_unique<client::ApiClient>(credentials, event_options(serve), metrics)),
      books(live.get()->vendors().rules(), clock, serve.reservation_ttl, metrics,
            serve.tentative_ttl),
      budgets(clock),
      events(*event_api, clock, serve.scheduler_name, metrics,
             {.enabled = serve.events, .limits = {}}),
      locks(*api, state, live, books, leader),
      keeper(locks, books, events, measures, leader, clock, serve.node_lock_timeout),
      bindings(*api, state, locks, live, leader, clock, serve.write_node_label_by_patch),
      binder({state, books, locks, keeper, bindings, events, measures, leader, live, clock},
             {.lock_timeout = serve.node_lock_timeout,
              .retry_timeout = serve.node_lock_retry_timeout,
              .follow = serve.answer == "scored"}),
      allocations(books, live, events, measures, leader, clock, serve.node_lock_timeout),
      handshakes(*api, books, leader, clock, {}),
      roles(*api, leader, {.pod_name = serve.pod_name, .pod_namespace = serve.pod_namespace}),
      pod_watch(books, measures, clock),
      placer(books, {.classes = serve.request_classes,
                     .threads = static_cast<unsigned>(serve.placement_threads)}),
      filter(live, books, placer, events, measures, clock,
             {.nodes = nodes_form(serve),
              .prefer_unlocked = serve.prefer_unlocked_nodes,
              .quotas = &quota_view,
              .scored = serve.answer == "scored"}),
      prioritizer(live, placer, measures, clock,
                  {.nodes = nodes_form(serve), .quotas = &quota_view}),
      waker(*api, books, clock, metrics, {.enabled = serve.wake_up_pending}),
      evictions(*api, state, leader),
      preemption({state, books, budgets, evictions, events, waker, live, leader, clock, metrics},
                 {.own = serve.preemption == "own",
                  .per_second = serve.preemption_qps,
                  .burst = serve.preemption_burst,
                  .deadline = serve.preemption_deadline}),
      preempt_verb(live, books, budgets, clock, metrics),
      checker(state, books, metrics, {.interval = serve.self_check_interval}),
      caches(std::make_unique<Caches>(
          *api, state, live, books, measures, clock,
          Caches::Options{
              .node_label_selector = serve.node_label_selector,
              .jitter_seed = static_cast<std::uint64_t>(clock.wall().time_since_epoch().count()),
              .budgets = serve.preemption == "own" ? &budgets : nullptr})),
      gate(state, [this] { return obstacle(); }) {
  connect();
  connect_news();
  connect_leader();
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::connect() {
  books.judge_node = [this](NodeFact& fact) { handshake_health.judge(fact); };
  books.on_node_change = [this](const std::string& node) {
    if (books.node(node) == nullptr) {
      handshake_health.forget(node);
      handshakes.forget(node);
    }
    keeper.node_changed(node);
    binder.pump(node);
  };
  books.on_pod_change = [this](const PodRecord& pod) {
    pod_watch.pod_changed(pod);
    allocations.pod_changed(pod);
    const bool gone = books.pod(pod.fact.uid) == nullptr;
    if (gone || pod.fact.finished || !pod.fact.node.empty()) waker.settled(pod.fact.uid);
    preemption.pod_changed(pod);
    // The end of a pod may be the end of its lock.
    if (pod.fact.node.empty() || !books.locked_nodes().contains(pod.fact.node)) return;
    const std::string node = pod.fact.node;
    binder.pump(node);
    keeper.sweep(node);
  };
  pod_watch.on_unassigned = [this](const PodRecord& pod) { tell_unassigned(pod); };
  keeper.on_news = [this](const std::string& node) { binder.pump(node); };
  keeper.is_busy = [this](const std::string& node) { return binder.has_work(node); };
  caches->on_synced = [this] {
    log::info("caches are synced", {{"nodes", static_cast<std::uint64_t>(books.nodes().size())},
                                    {"pods", static_cast<std::uint64_t>(books.pods().size())}});
    waker.everything_is_new();
    open_gate();
  };
}

void Scheduler::start() {
  state.post([this] {
    tick();
    beat();
  });
  if (options.self_check_interval.count() > 0)
    state.after(options.self_check_interval, [this] { checker.start(); });
  if (!options.extender_token_file.empty()) watch_tokens();
  state.after(options.node_pass_every, [this] { node_pass(); });
  if (lease != nullptr) {
    lease->start();
  } else {
    state.post([this] { leader.begin(); });
  }
  caches->start();
}

void Scheduler::watch_tokens() {
  side.after(options.cert_poll, [this] {
    std::ignore = callers.reload();
    watch_tokens();
  });
}

void Scheduler::tick() {
  books.expire_reservations();
  preemption.tick();
  binder.tick();
  leader.check();
  keeper.sweep_all();
  allocations.tick();
  state.after(kTick, [this] { tick(); });
}

void Scheduler::refuse_new_work() {
  state.run([this] {
    gate.shut(std::string(kShuttingDown));
    binder.shut_down();
  });
  wait_until(kBindsMayFinish, [this] { return binder.active() == 0; });
  // The Lease is kube-scheduler's; what is ours are the locks.
  state.run([this] { keeper.release_unbound(); });
  wait_until(kLocksMayGo, [this] { return keeper.releasing() == 0; });
}

/// Asks on the state thread, until it is so or the time is over.
void Scheduler::wait_until(milliseconds limit, const std::function<bool()>& so) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    bool done = false;
    if (!state.run([&] { done = so(); }) || done) return;
    std::this_thread::sleep_for(milliseconds(10));
  }
}

void Scheduler::stop() {
  if (reload != nullptr) reload->stop();
  scrape.stop();
  side.stop();
  if (lease != nullptr) lease->stop();
  if (caches != nullptr) caches->stop();
  state.stop();
  if (event_api != nullptr) events.finish(kEventsMayGo);
  event_api.reset();
  api.reset();
}

std::string Scheduler::self_check() {
  std::string out;
  const bool ran = state.run([&] {
    const core::Cluster plain = books.cluster().rebuild();
    out = text::join(books.cluster().differences(plain), "; ");
  });
  return ran ? out : std::string(kShuttingDown);
}

}  // namespace tessera::service
