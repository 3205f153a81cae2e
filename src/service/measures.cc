#include "service/measures.h"

#include <algorithm>

namespace tessera::service {
namespace {

constexpr std::array<std::string_view, 4> kVerbWords = {"filter", "bind", "webhook", "prioritize"};

constexpr std::array<std::string_view, static_cast<std::size_t>(Phase::kCount)> kPhaseWords = {
    "read", "wait", "names", "decide", "hold", "encode", "send"};

obs::Counter attempts(obs::Metrics& m, std::string_view result, const std::string& vendors) {
  return m.counter("tessera_schedule_attempts_total", "Filter calls by outcome.",
                   {{"result", std::string(result)}, {"vendor", vendors}});
}

obs::Counter binds(obs::Metrics& m, std::string_view result) {
  return m.counter("tessera_bind_total", "Bind calls by outcome.",
                   {{"result", std::string(result)}});
}

}  // namespace

Measures::Measures(obs::Metrics& m)
    : metrics(m),
      bind_duration(m.histogram("tessera_bind_duration_seconds",
                                "Time from a bind call's arrival to its answer, waiting included.",
                                obs::latency_bounds())),
      lock_wait(m.histogram("tessera_node_lock_wait_seconds",
                            "Time a bind waited for the lock of its node.", obs::latency_bounds())),
      lock_held(m.histogram("tessera_node_lock_held_seconds",
                            "Time from taking a node lock until its release was seen.",
                            obs::latency_bounds())),
      allocate_duration(
          m.histogram("tessera_allocate_duration_seconds",
                      "Time from bind until the node's agent reported success or failure.",
                      {0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300})),
      filter_errors(attempts(m, "error", "")),
      simulated(attempts(m, "simulated", "")),
      passed_through(attempts(m, "no_device", "")),
      leader(m.gauge("tessera_leader", "Whether this process decides and binds: 1 or 0.")),
      bound(binds(m, "bound")),
      bind_failed(binds(m, "failed")),
      bind_dropped(binds(m, "dropped")),
      lock_contention(m.counter("tessera_node_lock_contention_total",
                                "Bind calls that gave up waiting for the lock of their node.")),
      allocate_failed(m.counter(
          "tessera_allocate_failed_total",
          "Pods whose node's agent reported that it could not serve them, or never answered.")),
      rolled_back(m.counter("tessera_reservations_rolled_back_total",
                            "Reservations given back because their bind failed.")),
      bind_moved(m.counter("tessera_bind_moved_total",
                           "Binds to another node than the one held for the pod: kube-scheduler "
                           "preferred it.")),
      bind_refused_full(m.counter("tessera_bind_refused_full_total",
                                  "Binds refused because the pod fits on their node no more.")),
      scrape_duplicates(m.counter("tessera_metrics_duplicates_total",
                                  "Rows left out of a page of metrics because an equal one was in "
                                  "it already.")),
      scrape_duration(m.histogram("tessera_metrics_page_seconds", "Time to make a page of metrics.",
                                  obs::latency_bounds())),
      lock_expired_(m.counter("tessera_node_lock_expired_total",
                              "Node locks put aside because they were older than the limit.")),
      lock_dangling_(m.counter("tessera_node_lock_dangling_total",
                               "Node locks put aside because nobody would release them.")) {
  for (std::size_t verb = 0; verb < kVerbs; ++verb) {
    for (std::size_t code = 0; code < kCodes.size(); ++code) {
      durations_[verb][code] = m.histogram(
          "tessera_extender_request_duration_seconds",
          "Time from the arrival of a call to its answer, by what the answer means.",
          obs::latency_bounds(),
          {{"verb", std::string(kVerbWords[verb])}, {"code", std::to_string(kCodes[code])}});
    }
  }
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    phases_[i] = m.histogram("tessera_filter_phase_seconds",
                             "Where the time of filter calls goes that were decided.",
                             obs::phase_bounds(), {{"phase", std::string(kPhaseWords[i])}});
  }
  for (std::size_t i = 0; i < webhook_results_.size(); ++i) {
    webhook_results_[i] =
        m.counter("tessera_webhook_requests_total", "Admission reviews by outcome.",
                  {{"result", std::string(webhook_result_word(static_cast<WebhookResult>(i)))}});
  }
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

void Measures::answered(Verb verb, int code, double seconds) const {
  const auto* found = std::find(kCodes.begin(), kCodes.end(), code);
  const auto index =
      found == kCodes.end() ? kCodes.size() - 1 : static_cast<std::size_t>(found - kCodes.begin());
  durations_[static_cast<std::size_t>(verb)][index].observe(seconds);
}

void Measures::count_webhook(WebhookResult result) const {
  webhook_results_[static_cast<std::size_t>(result)].increment();
}

void Measures::count_attempt(bool scheduled, std::string_view vendors) const {
  const std::lock_guard guard(attempts_->mutex);
  auto& counters = attempts_->counters[scheduled ? 1 : 0];
  auto found = counters.find(vendors);
  if (found == counters.end()) {
    const std::string words(vendors);
    found =
        counters.emplace(words, attempts(metrics, scheduled ? "scheduled" : "unschedulable", words))
            .first;
  }
  found->second.increment();
}

void Measures::count_reject(const core::Reject& reject, std::uint32_t nodes) const {
  if (reject.node_reason == core::NodeReason::kUnregistered) return unregistered_.increment(nodes);
  if (reject.node_reason == core::NodeReason::kInsufficientDevice)
    return too_few_devices_.increment(nodes);
  for (std::size_t i = 0; i < reject.cards.size(); ++i) {
    if (reject.cards[i] > 0) card_rejects_[i].increment(nodes);
  }
}

void Measures::count_stale_lock(std::string_view reason) const {
  (reason == "expired" ? lock_expired_ : lock_dangling_).increment();
  metrics
      .counter("tessera_node_lock_stale_total",
               "Node locks that were released or taken over because nobody would release them.",
               {{"reason", std::string(reason)}})
      .increment();
}

std::string vendor_words(const core::Request& request, const vendors::Vendors& vendors) {
  std::string words;
  write_vendor_words(request, vendors, words);
  return words;
}

void write_vendor_words(const core::Request& request, const vendors::Vendors& vendors,
                        std::string& out) {
  out.clear();
  for (const core::Constraints& constraints : request.constraints) {
    if (constraints.vendor.v >= vendors.all().size()) continue;
    if (!out.empty()) out += '+';
    out += vendors.at(constraints.vendor).word;
  }
}

}  // namespace tessera::service
