/// The moving part of SchedulerLoop: pods and nodes from two watches, one filter under way, any
/// number of binds.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "client/reflector.h"
#include "obs/metrics.h"
#include "sim/scheduler_loop.h"
#include "sim/scheduler_queue.h"

namespace tessera::sim {

/// What an extender's filter answered. `error` not empty: the call failed.
struct FilterAnswer {
  std::vector<std::string> nodes;
  std::vector<std::string> reasons;  ///< of refused nodes
  std::string error;
};
FilterAnswer read_filter_answer(const client::ApiResponse& response, bool full_nodes);
/// The node with the highest score; among equals the first. Without scores, all are equal.
std::string best_node(const std::vector<std::string>& nodes, const client::ApiResponse& scores);
std::string read_bind_answer(const client::ApiResponse& response);  ///< the error, empty = bound

struct SchedulerLoop::Impl : std::enable_shared_from_this<SchedulerLoop::Impl> {
  Impl(client::ApiClient& api, SchedulerLoopOptions options);

  void start();
  void stop();

  struct Pending {
    std::string uid, ns, name, text;  ///< text: the object as JSON
    std::string asks;
    std::uint64_t order = 0;
    MonoTime first_seen{};
    std::string reason;  ///< of the last failed attempt
    bool managed = false, listed = true;
  };
  struct NodeRecord {
    std::string fingerprint;  ///< of what may let a waiting pod fit
    std::string text;         ///< only with full_nodes
    bool listed = true;
  };

  // Everything below runs with the mutex held.
  void pods_listed();
  void pod_changed(json::Value pod);
  void pod_deleted(json::Value pod);
  void pod_left(const std::string& uid);
  void pending_changed(json::Value pod, const std::string& uid);
  void nodes_listed();
  void node_changed(json::Value node);
  void node_deleted(const std::string& name);
  void something_changed();

  void pump();
  void filter(const Pending& pod);
  void filtered(const std::string& uid, MonoTime sent, std::uint64_t changes,
                const client::ApiResponse& response);
  std::string filter_body(const Pending& pod);
  /// Several nodes fit: the extender's scores decide, as there are no plugins here.
  void prioritize(const Pending& pod, std::vector<std::string> nodes);
  void prioritized(const std::string& uid, const std::vector<std::string>& nodes,
                   const client::ApiResponse& response);
  std::string nodes_in_call(const std::vector<std::string>& names) const;
  void bind(const Pending& pod, const std::string& node);
  void bind_without_extender(const Pending& pod);
  void bound(const std::string& uid, MonoTime first_seen, const std::string& node,
             const std::string& error);
  void failed(Pending& pod, const std::string& condition_reason, const std::string& message);
  void pump_later(std::chrono::milliseconds delay);
  void write_condition(const Pending& pod, const std::string& reason, const std::string& message);
  void write_event(const Pending& pod, bool warning, const std::string& reason,
                   const std::string& message);
  bool ours(json::Value pod) const;
  bool is_managed(json::Value pod) const;

  template <class F>
  auto guarded(F f);

  client::ApiClient& api_;
  const SchedulerLoopOptions options_;
  SystemClock clock_;
  obs::Metrics metrics_;
  mutable std::mutex mutex_;
  bool stopped_ = false, filtering_ = false;
  bool nodes_synced_ = false, pods_synced_ = false;  ///< nothing is scheduled before both lists
  SchedulerQueue queue_;
  std::unordered_map<std::string, Pending> pending_;
  std::unordered_map<std::string, bool>
      assigned_;  ///< live pods on a node: uid -> seen by the list under way
  std::map<std::string, NodeRecord> nodes_;
  std::string nodes_text_;  ///< of a filter call, see nodes_in_call; empty = to be made
  std::uint64_t changes_ = 0, order_ = 0, events_ = 0, rotation_ = 0;
  SchedulerLoopStats stats_;
  std::deque<double> latencies_ms_, bound_ms_;
  std::unique_ptr<client::ApiClient> extender_;
  std::unique_ptr<client::Reflector> pod_watch_, node_watch_;
};

/// Calls f with the Impl and the rest of the arguments under the mutex, unless the loop has stopped
/// or is gone.
template <class F>
auto SchedulerLoop::Impl::guarded(F f) {
  return [self = weak_from_this(), f = std::move(f)](auto&&... arguments) {
    const std::shared_ptr<Impl> impl = self.lock();
    if (!impl) return;
    const std::lock_guard lock(impl->mutex_);
    if (!impl->stopped_) f(*impl, arguments...);
  };
}

}  // namespace tessera::sim
