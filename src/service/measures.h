/// The counters and histograms of the service, made once and handed around. Names and meaning:
/// docs/metrics.md. Thread rule: every handle may be used from any thread.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "core/reject.h"
#include "core/request.h"
#include "obs/metrics.h"
#include "service/webhook.h"
#include "vendors/vendors.h"

namespace tessera::service {

/// The extender's and the webhook's calls that are timed, by how they ended. HTTP always says 200
/// to kube-scheduler; the code told here is what the answer means: 200, 403 for a denial, 400 for
/// what cannot be read, 500 for an Error.
enum class Verb : std::uint8_t { kFilter, kBind, kWebhook, kPrioritize };

/// The parts of a filter call, in their order. docs/metrics.md tells where each ends.
enum class Phase : std::uint8_t { kRead, kWait, kNames, kDecide, kHold, kEncode, kSend, kCount };

struct PhaseClock {
  MonoTime last{};  ///< the end of the phase before
};

struct Measures {
  explicit Measures(obs::Metrics& metrics);

  obs::Metrics& metrics;
  obs::Histogram bind_duration, lock_wait, lock_held, allocate_duration;
  obs::Counter filter_errors, simulated, passed_through;
  obs::Gauge leader;
  obs::Counter bound, bind_failed, bind_dropped, lock_contention, allocate_failed;
  obs::Counter rolled_back;
  obs::Counter bind_moved, bind_refused_full;
  obs::Counter scrape_duplicates;
  obs::Histogram scrape_duration;

  void answered(Verb verb, int code, double seconds) const;
  /// What lies between the clock's last time and `now` was this phase. One clock read, no lock.
  void phase_ends(PhaseClock& phases, Phase phase, MonoTime now) const {
    phases_[static_cast<std::size_t>(phase)].observe(
        std::chrono::duration<double>(now - phases.last).count());
    phases.last = now;
  }
  void count_webhook(WebhookResult result) const;
  /// A filter call that was decided; vendors: see vendor_words.
  void count_attempt(bool scheduled, std::string_view vendors) const;
  void count_reject(const core::Reject& reject, std::uint32_t nodes = 1) const;
  void count_stale_lock(std::string_view reason) const;

 private:
  static constexpr std::array kCodes = {200, 400, 403, 500};
  static constexpr std::size_t kVerbs = 4, kResults = 4;
  struct Attempts {
    std::mutex mutex;
    std::array<std::map<std::string, obs::Counter, std::less<>>, 2> counters;
  };

  std::array<obs::Histogram, static_cast<std::size_t>(Phase::kCount)> phases_;
  std::array<std::array<obs::Histogram, kCodes.size()>, kVerbs> durations_;
  std::array<obs::Counter, kResults> webhook_results_;
  std::array<obs::Counter, static_cast<std::size_t>(core::CardReason::kCount)> card_rejects_;
  obs::Counter unregistered_, too_few_devices_, lock_expired_, lock_dangling_;
  // Few words, made when first seen: the table of vendors may be replaced while we run.
  std::shared_ptr<Attempts> attempts_ = std::make_shared<Attempts>();
};

/// The words of the vendors a pod asks for, joined by "+"; "" when it asks for none.
std::string vendor_words(const core::Request& request, const vendors::Vendors& vendors);
/// The same into memory that was used before.
void write_vendor_words(const core::Request& request, const vendors::Vendors& vendors,
                        std::string& out);

}  // namespace tessera::service
