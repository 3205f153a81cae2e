#include "service/leader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "k8s/decode.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
/// A duration beyond this is taken for a mistake of whoever wrote it, and cut.
constexpr std::int64_t kLongestLease = 24LL * 3600;

std::int64_t nanoseconds(MonoTime time) { return time.time_since_epoch().count(); }

}  // namespace

bool is_identity_of(std::string_view identity, std::string_view host) {
  // The rest is a UUID, which has no underscore: the last one ends the host's name.
  const std::size_t end = identity.rfind('_');
  return !host.empty() && end != std::string_view::npos && identity.substr(0, end) == host;
}

Leadership::Leadership(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

void Leadership::begin() {
  if (options_.elect || leads()) return;
  until_ = kForever;
  term_ = ++terms_;
  told_ = true;
  if (on_start) on_start();
}

std::uint64_t Leadership::term() const {
  const std::uint64_t term = term_;
  if (term == 0) return 0;
  const std::int64_t until = until_;
  // Read between the end of one term and the next, the time would be of another term.
  if (term_ != term) return 0;
  return until == kForever || nanoseconds(clock_.mono()) < until ? term : 0;
}

std::chrono::nanoseconds Leadership::left() const {
  if (!options_.elect || !leads()) return std::chrono::nanoseconds(0);
  return std::chrono::nanoseconds(until_ - nanoseconds(clock_.mono()));
}

/// A term counts from the moment we saw the Lease renewed, by our own clock: the times in the Lease
/// come from other machines. A Lease that is there when we begin to look may be a dead one's.
void Leadership::observe(const k8s::Lease& lease) {
  check();  // a pause of this process must not be bridged by an event that waited all the while
  const bool appeared = std::exchange(looked_, true) && !seen_;  // there was none, now there is
  const std::optional<k8s::Lease> before = std::exchange(seen_, lease);
  if (!is_identity_of(lease.holder, options_.host) || lease.duration_seconds <= 0) {
    unproven_ = false;
    return stop_term();
  }
  const bool renewed =
      appeared ||
      (before && (before->renew_time != lease.renew_time || before->holder != lease.holder));
  const bool same_holder = before && before->holder == lease.holder;
  if (!renewed) {
    // Nothing new (a list names it again), or the first sight of it.
    if (!leads()) unproven_ = true;
    return;
  }
  unproven_ = false;
  // Another kube-scheduler of this host is another term: between the two somebody may have led.
  if (!same_holder) stop_term();
  const std::int64_t seconds = std::min(lease.duration_seconds, kLongestLease);
  start_term(clock_.mono() + std::chrono::seconds(seconds));
}

void Leadership::gone() {
  looked_ = true;
  seen_.reset();
  unproven_ = false;
  stop_term();
}

void Leadership::check() {
  if (term_ != 0 && term() == 0) stop_term();
}

void Leadership::start_term(MonoTime until) {
  until_ = nanoseconds(until);
  if (term_ != 0) return;
  term_ = ++terms_;
  told_ = true;
  log::info("leading", {{"term", terms_}, {"holder", seen_->holder}});
  if (on_start) on_start();
}

void Leadership::stop_term() {
  term_ = 0;
  if (!std::exchange(told_, false)) return;
  log::warn("no longer leading", {{"term", terms_}, {"why", refusal()}});
  if (on_stop) on_stop();
}

std::string Leadership::refusal() const {
  if (leads()) return {};
  const std::string lease = options_.ns + "/" + options_.lease;
  if (!looked_) return fmt::format("not ready: Lease {} was not read yet", lease);
  if (!seen_) return fmt::format("not the leader: there is no Lease {}", lease);
  if (seen_->holder.empty()) return fmt::format("not the leader: nobody holds Lease {}", lease);
  const bool ours = is_identity_of(seen_->holder, options_.host);
  return fmt::format("not the leader: Lease {} is held by {}{}", lease, seen_->holder,
                     ours ? ", this host, but is not seen to be renewed" : "");
}

std::string Leadership::why_over() const {
  return leads() ? "the term of leadership in which this began has ended" : refusal();
}

LeaseWatch::LeaseWatch(client::ApiClient& api, TaskThread& state, Leadership& leader,
                       const std::string& ns, const std::string& name, std::uint64_t jitter_seed)
    : state_(state), leader_(leader), name_(name) {
  reflector_ = std::make_unique<client::Reflector>(
      api,
      client::ReflectorOptions{
          .path = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", ns),
          .query = "fieldSelector=metadata.name%3D" + name,
          // A Lease is renewed every few seconds: a watch that is silent for longer is dead.
          .watch_silence = std::chrono::seconds(30),
          .backoff_max = std::chrono::seconds(2),
          .jitter_seed = jitter_seed},
      handlers());
}

LeaseWatch::~LeaseWatch() { stop(); }

void LeaseWatch::start() { reflector_->start(); }

void LeaseWatch::stop() { reflector_->stop(); }

client::ReflectorHandlers LeaseWatch::handlers() {
  return {.on_list_begin = [this] { listed_ = false; },
          .on_object = [this](json::Value object) { lease_object(object); },
          .on_delete =
              [this](json::Value object) {
                if (object["metadata"]["name"].string_or("") == name_)
                  state_.post([this] { leader_.gone(); });
              },
          .on_list_end =
              [this](bool) {
                if (!listed_) state_.post([this] { leader_.gone(); });
              },
          .on_problem =
              [](std::string_view problem) {
                log::warn("watch of the Lease interrupted", {{"problem", problem}});
              }};
}

void LeaseWatch::lease_object(json::Value object) {
  if (object["metadata"]["name"].string_or("") != name_) return;
  listed_ = true;
  Result<k8s::Lease> lease = k8s::decode_lease(object);
  if (!lease) {
    log::warn("Lease cannot be read", {{"problem", lease.error().what}});
    state_.post([this] { leader_.gone(); });
    return;
  }
  state_.post([this, lease = std::move(*lease)] {
    leader_.observe(lease);
    expire_later();
  });
}

/// One timer per renewal; each asks once, so a term ends on time and not with the next tick.
void LeaseWatch::expire_later() {
  const auto left = leader_.left();
  if (left.count() <= 0) return;
  state_.after(std::chrono::ceil<std::chrono::milliseconds>(left) + std::chrono::milliseconds(1),
               [this] { leader_.check(); });
}

}  // namespace tessera::service
