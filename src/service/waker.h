/// Wakes pods that a filter call refused once there may be room for them: their scheduler sleeps on
/// them until something about them changes, so an annotation is touched. Only as many as could fit
/// beside each other, oldest first, each at growing intervals, all together under one budget.
/// Source: spec/scheduler.md S-41. Thread rule: owned by the state thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "client/token_bucket.h"
#include "core/cluster.h"
#include "obs/metrics.h"
#include "service/books.h"

namespace tessera::service {

inline constexpr std::string_view kWakeUpKey = "tessera.io/wake-up";

class Waker {
 public:
  struct Options {
    bool enabled = true;
    std::chrono::milliseconds first_pause{1'000}, longest_pause{60'000};  ///< of one pod
    double per_second = 20, burst = 40;                                   ///< of all pods
  };
  Waker(client::ApiClient& api, Books& books, const Clock& clock, obs::Metrics& metrics,
        Options options);

  /// A filter call found no node for it.
  void refused(const std::string& uid);
  /// One found a node. It may be refused again before it is bound: its pause is kept.
  void placed(const std::string& uid);
  /// It is bound, has ended or is gone.
  void settled(const std::string& uid);
  /// Room has appeared on a node or under the quotas of a namespace; "" = not there.
  void room(std::string_view node, std::string_view ns);
  /// The whole picture is new: every pod that its scheduler calls unschedulable is asked again.
  void everything_is_new();
  /// Touches the pod now, whatever its pause: room is being held for it.
  void urge(const std::string& uid);
  /// Ten times a second or so; looks at a few pods each time.
  void tick();

  std::size_t sleeping() const { return sleepers_.size(); }
  /// Any thread: whether this process may write at all.
  std::function<bool()> may_write;

 private:
  struct Sleeper {
    std::uint64_t order = 0;  ///< of first refusal
    bool asleep = true;       ///< refused since it was touched last
    MonoTime refused_at{}, not_before{};
    std::chrono::milliseconds pause{};
  };
  /// One pass over the sleepers, spread over several ticks.
  struct Round {
    std::vector<NodeId> nodes;
    std::set<std::string, std::less<>> namespaces;
    bool everywhere = false;
    std::vector<std::string> pods;         ///< oldest last
    std::unique_ptr<core::Cluster> trial;  ///< the nodes, with those who were woken placed on them
  };

  void forget_strangers();
  bool begin_round();
  void finish_round();
  bool look_at(const std::string& uid);
  bool fits_in_trial(const core::Request& request, const std::vector<NodeId>& nodes);
  void wake(const std::string& uid, const PodRecord& pod, Sleeper& sleeper);

  client::ApiClient& api_;
  Books& books_;
  const Clock& clock_;
  Options options_;
  std::unordered_map<std::string, Sleeper> sleepers_;  // by uid
  std::uint64_t next_order_ = 0;
  std::set<std::string, std::less<>> nodes_, namespaces_;  // with room that nobody was asked about
  bool everywhere_ = false;
  Round round_;
  MonoTime next_round_{};
  bool deferred_ = false;       // somebody who fits had to wait: the same room is looked at again
  client::TokenBucket bucket_;  // of all pods
  obs::Counter sent_, failed_;
};

}  // namespace tessera::service
