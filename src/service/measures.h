/// The counters and histograms of the service, made once and handed around. Names: spec/metrics.md
/// section 8. Thread rule: every handle may be used from any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/reject.h"
#include "obs/metrics.h"

namespace tessera::service {

struct Measures {
  explicit Measures(obs::Metrics& metrics);

  obs::Metrics& metrics;
  obs::Histogram filter_duration, bind_duration, webhook_duration, lock_wait, lock_held;
  obs::Counter scheduled, unschedulable, filter_errors, simulated, passed_through;
  obs::Counter bound, bind_failed, bind_dropped, lock_contention;
  obs::Counter watch_problems_pods, watch_problems_nodes, undecodable_pods, undecodable_nodes;

  void count_reject(const core::Reject& reject) const;
  void count_stale_lock(std::string_view reason) const;

 private:
  std::array<obs::Counter, static_cast<std::size_t>(core::CardReason::kCount)> card_rejects_;
  obs::Counter unregistered_, too_few_devices_;
};

}  // namespace tessera::service
