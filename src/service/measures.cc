#include "service/measures.h"

namespace tessera::service {

Measures::Measures(obs::Metrics& m)
    : metrics(m),
      filter_duration(m.histogram("tessera_filter_duration_seconds",
                                  "Time from the request to the answer of a filter call.",
                                  obs::latency_bounds())),
      bind_duration(m.histogram("tessera_bind_duration_seconds",
                                "Time from the request to the answer of a bind call.",
                                obs::latency_bounds())),
      webhook_duration(m.histogram("tessera_webhook_duration_seconds",
                                   "Time taken by an admission call.", obs::latency_bounds())),
      lock_wait(m.histogram("tessera_lock_wait_seconds",
                            "Time a bind waited for the lock of its node.", obs::latency_bounds())),
      lock_held(m.histogram("tessera_lock_held_seconds",
                            "Time from taking a node lock until its release was seen.",
                            obs::latency_bounds())),
      scheduled(m.counter("tessera_schedule_attempts_total", "Filter calls by outcome.",
                          {{"result", "scheduled"}})),
      unschedulable(m.counter("tessera_schedule_attempts_total", "Filter calls by outcome.",
                              {{"result", "unschedulable"}})),
      filter_errors(m.counter("tessera_schedule_attempts_total", "Filter calls by outcome.",
                              {{"result", "error"}})),
      simulated(m.counter("tessera_schedule_attempts_total", "Filter calls by outcome.",
                          {{"result", "simulated"}})),
      passed_through(m.counter("tessera_schedule_attempts_total", "Filter calls by outcome.",
                               {{"result", "no_device"}})),
      bound(m.counter("tessera_bind_total", "Bind calls by outcome.", {{"result", "bound"}})),
      bind_failed(
          m.counter("tessera_bind_total", "Bind calls by outcome.", {{"result", "failed"}})),
      bind_dropped(
          m.counter("tessera_bind_total", "Bind calls by outcome.", {{"result", "dropped"}})),
      lock_contention(m.counter("tessera_node_lock_contention_total",
                                "Bind calls that gave up waiting for the lock of their node.")),
      watch_problems_pods(m.counter("tessera_watch_problems_total",
                                    "Lists and watches that ended with a problem.",
                                    {{"resource", "pods"}})),
      watch_problems_nodes(m.counter("tessera_watch_problems_total",
                                     "Lists and watches that ended with a problem.",
                                     {{"resource", "nodes"}})),
      undecodable_pods(m.counter("tessera_undecodable_objects_total",
                                 "Objects from the API server that could not be read.",
                                 {{"resource", "pods"}})),
      undecodable_nodes(m.counter("tessera_undecodable_objects_total",
                                  "Objects from the API server that could not be read.",
                                  {{"resource", "nodes"}})) {
  const auto reject = [&m](std::string_view reason) {
    return m.counter("tessera_node_reject_total", "Nodes that a filter call refused, by reason.",
                     {{"reason", std::string(reason)}});
  };
  unregistered_ = reject("NodeUnregistered");
  too_few_devices_ = reject("NodeInsufficientDevice");
  for (std::size_t i = 0; i < card_rejects_.size(); ++i) {
    card_rejects_[i] = reject(core::card_reason_word(static_cast<core::CardReason>(i)));
  }
}

void Measures::count_reject(const core::Reject& reject) const {
  if (reject.node_reason == core::NodeReason::kUnregistered) return unregistered_.increment();
  if (reject.node_reason == core::NodeReason::kInsufficientDevice)
    return too_few_devices_.increment();
  for (std::size_t i = 0; i < reject.cards.size(); ++i) {
    if (reject.cards[i] > 0) card_rejects_[i].increment();
  }
}

void Measures::count_stale_lock(std::string_view reason) const {
  metrics
      .counter("tessera_node_lock_stale_total",
               "Node locks that were released or taken over because nobody would release them.",
               {{"reason", std::string(reason)}})
      .increment();
}

}  // namespace tessera::service
