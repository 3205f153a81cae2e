/// Who leads: the Lease of the kube-scheduler beside us, as it is seen. The process holds no
/// election of its own. Source: decisions D10, spec/scheduler.md section 14, S-38.
///   Leadership leader({.elect = true, .host = "n1", .ns = "kube-system", .lease = "s"}, clock);
///   leader.observe(lease); … if (leader.holds(term)) write();
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "client/api.h"
#include "client/reflector.h"
#include "k8s/objects.h"
#include "service/task_thread.h"

namespace tessera::service {

/// True when `identity` is that of a kube-scheduler on `host`: "<host>_<anything>", nothing else.
bool is_identity_of(std::string_view identity, std::string_view host);

/// Thread rule: observe, gone, check and refusal belong to the state thread; term and holds may be
/// asked from any thread.
class Leadership {
 public:
  struct Options {
    bool elect = false;  ///< false: always leader
    std::string host;
    std::string ns, lease;
  };
  Leadership(Options options, const Clock& clock);

  /// Without election: the one term begins. With it: nothing, the Lease will tell.
  void begin();
  void observe(const k8s::Lease& lease);
  void gone();   ///< the Lease does not exist
  void check();  ///< notices that the time of a term has run out

  /// 0 while somebody else leads; every own term has a number of its own.
  std::uint64_t term() const;
  /// The term has not ended: what was begun in it may still be written.
  bool holds(std::uint64_t term) const { return term != 0 && this->term() == term; }
  bool leads() const { return term() != 0; }
  bool elects() const { return options_.elect; }
  /// The Lease names our host, but no renewal was seen yet: it may be the Lease of a dead process.
  bool unproven() const { return unproven_; }
  /// Time left of the term, zero when there is none or it does not end by itself.
  std::chrono::nanoseconds left() const;
  /// Why calls are refused, naming who leads; "" while we lead.
  std::string refusal() const;
  /// Why something begun in a term that has ended is not finished.
  std::string why_over() const;

  std::function<void()> on_start, on_stop;

 private:
  void start_term(MonoTime until);
  void stop_term();

  Options options_;
  const Clock& clock_;
  std::optional<k8s::Lease> seen_;
  bool looked_ = false;  ///< the Lease was read, or found not to exist
  bool unproven_ = false;
  std::uint64_t terms_ = 0;
  bool told_ = false;  ///< on_start was called without on_stop since
  std::atomic<std::uint64_t> term_{0};
  std::atomic<std::int64_t> until_{0};  ///< nanoseconds of Clock::mono
};

/// Watches the one Lease and tells Leadership on the state thread; also when time runs out between
/// two events.
class LeaseWatch {
 public:
  LeaseWatch(client::ApiClient& api, TaskThread& state, Leadership& leader, const std::string& ns,
             const std::string& name, std::uint64_t jitter_seed);
  ~LeaseWatch();
  void start();
  void stop();

 private:
  client::ReflectorHandlers handlers();
  void lease_object(json::Value object);
  void expire_later();

  TaskThread& state_;
  Leadership& leader_;
  std::string name_;
  bool listed_ = false;  ///< by the list under way; client thread only
  std::unique_ptr<client::Reflector> reflector_;
};

}  // namespace tessera::service
