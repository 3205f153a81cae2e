#include "sim/scheduler_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "obs/log.h"
#include "sim/scheduler_run.h"

namespace tessera::sim {
namespace {

double percentile(const std::deque<double>& samples, double share) {
  if (samples.empty()) return 0;
  std::vector<double> values(samples.begin(), samples.end());
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace

SchedulerLoop::SchedulerLoop(client::ApiClient& api, SchedulerLoopOptions options)
    : impl_(std::make_shared<Impl>(api, std::move(options))) {}
SchedulerLoop::~SchedulerLoop() { stop(); }
void SchedulerLoop::start() { impl_->start(); }
void SchedulerLoop::stop() { impl_->stop(); }

SchedulerLoopStats SchedulerLoop::stats() const {
  const std::lock_guard lock(impl_->mutex_);
  SchedulerLoopStats stats = impl_->stats_;
  stats.pending = impl_->pending_.size();
  stats.filter_p50_ms = percentile(impl_->latencies_ms_, 0.50);
  stats.filter_p99_ms = percentile(impl_->latencies_ms_, 0.99);
  stats.bound_p50_ms = percentile(impl_->bound_ms_, 0.50);
  stats.bound_p99_ms = percentile(impl_->bound_ms_, 0.99);
  return stats;
}

std::vector<WaitingPod> SchedulerLoop::waiting(std::size_t most) const {
  const std::lock_guard lock(impl_->mutex_);
  std::vector<const Impl::Pending*> all;
  for (const auto& [uid, pod] : impl_->pending_) all.push_back(&pod);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(
      all.begin(), end, all.end(),
      [](const Impl::Pending* a, const Impl::Pending* b) { return a->order < b->order; });
  std::vector<WaitingPod> out;
  for (auto it = all.begin(); it != end; ++it)
    out.push_back({(*it)->name, (*it)->asks, (*it)->reason});
  return out;
}

std::string unschedulable_message(std::size_t nodes, const std::vector<std::string>& reasons) {
  std::map<std::string, int> counts;
  for (const std::string& reason : reasons) ++counts[reason];
  std::vector<std::string> pieces;
  for (const auto& [reason, count] : counts) pieces.push_back(fmt::format("{} {}", count, reason));
  std::sort(pieces.begin(), pieces.end());
  return fmt::format("0/{} nodes are available{}{}.", nodes, pieces.empty() ? "" : ": ",
                     text::join(pieces, ", "));
}

SchedulerLoop::Impl::Impl(client::ApiClient& api, SchedulerLoopOptions options)
    : api_(api),
      options_(std::move(options)),
      queue_(options_.backoff_first, options_.backoff_max) {
  extender_ = std::make_unique<client::ApiClient>(
      client::Credentials{.server = options_.extender_url, .insecure = true},
      client::ApiClientOptions{.user_agent = "kube-scheduler-simulated", .qps = -1}, metrics_);
}

void SchedulerLoop::Impl::start() {
  client::ReflectorHandlers nodes;
  nodes.on_list_begin = guarded([](Impl& i) {
    for (auto& [name, node] : i.nodes_) node.listed = false;
  });
  nodes.on_object = guarded([](Impl& i, json::Value v) { i.node_changed(v); });
  nodes.on_delete = guarded([](Impl& i, json::Value v) {
    i.node_deleted(std::string(v["metadata"]["name"].string_or("")));
  });
  nodes.on_list_end = guarded([](Impl& i, bool) { i.nodes_listed(); });
  nodes.on_problem = [](std::string_view problem) {
    log::debug("scheduler loop: node watch", {{"problem", problem}});
  };
  client::ReflectorHandlers pods;
  pods.on_list_begin = guarded([](Impl& i) {
    for (auto& [uid, pod] : i.pending_) pod.listed = false;
    for (auto& [uid, listed] : i.assigned_) listed = false;
  });
  pods.on_object = guarded([](Impl& i, json::Value v) { i.pod_changed(v); });
  pods.on_delete = guarded([](Impl& i, json::Value v) { i.pod_deleted(v); });
  pods.on_list_end = guarded([](Impl& i, bool) { i.pods_listed(); });
  pods.on_problem = [](std::string_view problem) {
    log::debug("scheduler loop: pod watch", {{"problem", problem}});
  };
  node_watch_ = std::make_unique<client::Reflector>(
      api_, client::ReflectorOptions{.path = "/api/v1/nodes"}, std::move(nodes));
  pod_watch_ = std::make_unique<client::Reflector>(
      api_, client::ReflectorOptions{.path = "/api/v1/pods"}, std::move(pods));
  node_watch_->start();
  pod_watch_->start();
}

void SchedulerLoop::Impl::stop() {
  std::unique_ptr<client::Reflector> pods, nodes;
  std::unique_ptr<client::ApiClient> extender;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    pods = std::move(pod_watch_);
    nodes = std::move(node_watch_);
    extender = std::move(extender_);
  }
  // They end outside the mutex, on this thread: a callback under way may be waiting for it.
}

}  // namespace tessera::sim
