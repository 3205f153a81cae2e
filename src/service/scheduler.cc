#include "service/scheduler.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/text.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{1000};
constexpr milliseconds kBindsMayFinish{5000};
constexpr std::string_view kShuttingDown = "scheduler is shutting down";

client::ApiClientOptions client_options(const ServeOptions& options) {
  client::ApiClientOptions out;
  out.user_agent = "tessera/" TESSERA_VERSION;
  out.qps = options.kube_qps;
  out.burst = options.kube_burst;
  out.default_timeout = options.kube_timeout;
  return out;
}

}  // namespace

Scheduler::Scheduler(const ServeOptions& serve, ServePlan plan,
                     const client::Credentials& credentials, const Clock& the_clock)
    : options(serve),
      clock(the_clock),
      live(std::make_shared<FactReader>(std::make_shared<vendors::Vendors>(std::move(plan.vendors)),
                                        std::move(plan.defaults))),
      measures(metrics),
      api(std::make_unique<client::ApiClient>(credentials, client_options(serve), metrics)),
      books(live.get()->vendors().rules(), clock, serve.reservation_ttl, metrics),
      events(*api, clock, serve.scheduler_name, metrics),
      locks(*api, state, live, books),
      keeper(locks, books, events, measures, clock, serve.node_lock_timeout),
      bindings(*api, state, locks, live, clock, serve.write_node_label_by_patch),
      binder({state, books, locks, keeper, bindings, events, measures, live, clock},
             {serve.node_lock_timeout, serve.node_lock_retry_timeout}),
      filter(live, books, events, measures, clock,
             {.nodes_form_is_live = serve.nodes_form == "live"}),
      caches(std::make_unique<Caches>(
          *api, state, live, books, measures, clock,
          Caches::Options{
              .node_label_selector = serve.node_label_selector,
              .jitter_seed = static_cast<std::uint64_t>(clock.wall().time_since_epoch().count())})),
      gate(state, serve.ready_wait,
           [this] { return caches == nullptr ? std::string() : caches->missing(); }) {
  connect();
}

Scheduler::~Scheduler() { stop(); }

void Scheduler::connect() {
  books.on_node_change = [this](const std::string& node) {
    keeper.node_changed(node);
    binder.pump(node);
  };
  books.on_pod_change = [this](const PodRecord& pod) {
    // The end of a pod may be the end of its lock.
    if (pod.fact.node.empty() || !books.locked_nodes().contains(pod.fact.node)) return;
    const std::string node = pod.fact.node;
    binder.pump(node);
    keeper.sweep(node);
  };
  keeper.on_news = [this](const std::string& node) { binder.pump(node); };
  keeper.is_busy = [this](const std::string& node) { return binder.has_work(node); };
  caches->on_synced = [this] {
    log::info("caches are synced", {{"nodes", static_cast<std::uint64_t>(books.nodes().size())},
                                    {"pods", static_cast<std::uint64_t>(books.pods().size())}});
    gate.open();
  };
}

void Scheduler::start() {
  state.post([this] { tick(); });
  caches->start();
}

void Scheduler::tick() {
  books.expire_reservations();
  binder.tick();
  // Before the first lists are complete an owner that is not there yet would look missing.
  if (caches != nullptr && caches->synced()) keeper.sweep_all();
  state.after(kTick, [this] { tick(); });
}

void Scheduler::refuse_new_work() {
  state.run([this] {
    gate.shut(std::string(kShuttingDown));
    binder.shut_down();
  });
  const auto limit = std::chrono::steady_clock::now() + kBindsMayFinish;
  while (std::chrono::steady_clock::now() < limit) {
    std::size_t active = 0;
    if (!state.run([&] { active = binder.active(); }) || active == 0) return;
    std::this_thread::sleep_for(milliseconds(10));
  }
}

void Scheduler::stop() {
  scrape.stop();
  if (caches != nullptr) caches->stop();
  state.stop();
  api.reset();
}

ScrapeFigures Scheduler::figures() {
  return {.bind_waiting = binder.waiting(),
          .bind_active = binder.active(),
          .reservations = books.reservation_count(),
          .pods = books.pods().size(),
          .nodes = books.nodes().size(),
          .locked_nodes = books.locked_nodes().size(),
          .state_queue = state.queued(),
          .synced = caches->synced()};
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
