/// Decides whether a node's lock is to be waited for, and removes locks that nobody will release.
/// Asks the API server about an owner only when the caches do not settle it. Source:
/// spec/node-agent-protocol.md section 12, decisions D11. Thread rule: owned by the state thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "service/books.h"
#include "service/events.h"
#include "service/leader.h"
#include "service/lock_writer.h"
#include "service/measures.h"
#include "service/node_lock.h"

namespace tessera::service {

class LockKeeper {
 public:
  enum class State : std::uint8_t { kFree, kHeld, kStale };
  struct View {
    State state = State::kFree;
    std::string value;        ///< of the lock, "" when free
    std::string_view reason;  ///< of kStale
  };

  LockKeeper(LockWriter& locks, Books& books, Events& events, const Measures& measures,
             const Leadership& leader, const Clock& clock, std::chrono::milliseconds lock_timeout);

  /// An owner that has to be asked for counts as holding until on_news tells that the answer is
  /// there.
  View view(const std::string& node);
  /// A lock of ours was written; news of its node tell how long it is held.
  void taken(const std::string& node, const std::string& value);
  void node_changed(const std::string& node);
  /// Tells operators that a lock was put aside.
  void report(const std::string& node, const View& stale);
  /// Removes the lock of a node when it is stale and nobody here is about to take it over; only
  /// while may_sweep says so.
  void sweep(const std::string& node);
  void sweep_all();
  /// Before the process ends: removes the locks that were taken here for pods that are not bound
  /// and that nobody is binding any more.
  void release_unbound();
  std::size_t releasing() const { return releasing_; }

  std::function<void(const std::string& node)> on_news;
  /// We lead, and what we know is of this term. Before the lists are complete an owner that is not
  /// there yet would look missing.
  std::function<bool()> may_sweep;
  /// The binder's own work on that node is under way, or it has a bind waiting that will take the
  /// lock over itself.
  std::function<bool(const std::string& node)> is_busy;

 private:
  struct Lookup {
    std::string value;
    bool running = false;
    MonoTime at{};
    std::optional<LockOwner> owner;
  };
  std::string_view judge(const std::string& node, const std::string& value, const LockText& lock);
  void release_if_unbound(const std::string& node, const std::string& value);
  void start_lookup(const std::string& node, const std::string& value, const LockText& lock);

  LockWriter& locks_;
  Books& books_;
  Events& events_;
  const Measures& measures_;
  const Leadership& leader_;
  const Clock& clock_;
  std::chrono::milliseconds lock_timeout_;
  std::unordered_map<std::string, Lookup> lookups_;  // by node
  std::unordered_set<std::string> clearing_;
  std::unordered_map<std::string, std::string> reported_;  // by node: the lock last told of
  std::size_t releasing_ = 0;
  std::unordered_map<std::string, std::pair<std::string, MonoTime>>
      taken_;  // by node: value, since when
};

}  // namespace tessera::service
