#include "service/lock_keeper.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "obs/log.h"

namespace tessera::service {
namespace {

/// How long an owner that was asked for is believed.
constexpr std::chrono::seconds kLookupLife{5};
constexpr std::string_view kNotBound = "owner not bound";

}  // namespace

LockKeeper::LockKeeper(LockWriter& locks, Books& books, Events& events, const Measures& measures,
                       const Leadership& leader, const Clock& clock,
                       std::chrono::milliseconds lock_timeout)
    : locks_(locks),
      books_(books),
      events_(events),
      measures_(measures),
      leader_(leader),
      clock_(clock),
      lock_timeout_(lock_timeout) {}

LockKeeper::View LockKeeper::view(const std::string& node) {
  const NodeRecord* record = books_.node(node);
  if (record == nullptr || !record->fact.lock) {
    lookups_.erase(node);
    return {};
  }
  View view{.state = State::kHeld, .value = *record->fact.lock, .reason = {}};
  const Result<LockText> lock = parse_lock(view.value);
  view.reason = judge_lock_text(lock, clock_.wall(), lock_timeout_);
  if (view.reason.empty() && lock->has_owner()) view.reason = judge(node, view.value, *lock);
  if (!view.reason.empty()) view.state = State::kStale;
  return view;
}

std::string_view LockKeeper::judge(const std::string& node, const std::string& value,
                                   const LockText& lock) {
  const PodRecord* pod = books_.pod_by_name(lock.ns, lock.name);
  if (pod != nullptr && (pod->seen || !pod->fact.node.empty())) {
    const std::string_view reason =
        judge_lock_owner(lock, lock_owner(pod->fact, node), clock_.wall());
    // "Not bound" may be news that the watch has not brought yet: taking that lock would let two
    // pods in. Ask.
    if (reason != kNotBound) return reason;
  }
  const auto found = lookups_.find(node);
  const bool fresh = found != lookups_.end() && found->second.value == value &&
                     (found->second.running || clock_.mono() - found->second.at < kLookupLife);
  if (!fresh) {
    start_lookup(node, value, lock);
    return {};
  }
  return found->second.owner ? judge_lock_owner(lock, *found->second.owner, clock_.wall())
                             : std::string_view{};
}

void LockKeeper::start_lookup(const std::string& node, const std::string& value,
                              const LockText& lock) {
  lookups_[node] = Lookup{.value = value, .running = true};
  locks_.fetch_pod(lock.ns, lock.name, [this, node, value](Result<std::optional<PodFact>> answer) {
    const auto found = lookups_.find(node);
    if (found == lookups_.end() || found->second.value != value) return;
    found->second.running = false;
    found->second.at = clock_.mono();
    if (answer) {
      found->second.owner = *answer ? lock_owner(**answer, node) : LockOwner{};
    } else {
      log::warn("owner of a node lock cannot be looked up",
                {{"node", node}, {"lock", value}, {"problem", answer.error().what}});
    }
    if (on_news) on_news(node);
  });
}

void LockKeeper::taken(const std::string& node, const std::string& value) {
  taken_[node] = {value, clock_.mono()};
}

void LockKeeper::node_changed(const std::string& node) {
  const auto found = taken_.find(node);
  if (found == taken_.end()) return;
  const NodeRecord* record = books_.node(node);
  if (record != nullptr && record->fact.lock == found->second.first) return;
  measures_.lock_held.observe(
      std::chrono::duration<double>(clock_.mono() - found->second.second).count());
  taken_.erase(found);
}

void LockKeeper::report(const std::string& node, const View& stale) {
  // The sweep and a bind that takes the lock over may both have put the same one aside.
  std::string& last = reported_[node];
  if (last == stale.value) return;
  last = stale.value;
  measures_.count_stale_lock(stale.reason);
  log::warn("stale node lock put aside",
            {{"node", node}, {"lock", stale.value}, {"reason", stale.reason}});
  const NodeRecord* record = books_.node(node);
  events_.write({.kind = "Node",
                 .ns = {},
                 .name = node,
                 .uid = record == nullptr ? std::string() : record->fact.uid},
                EventType::kWarning, "NodeLockReleased",
                fmt::format("lock {} was put aside: {}", text::quote(stale.value), stale.reason));
}

void LockKeeper::sweep(const std::string& node) {
  if (may_sweep && !may_sweep()) return;
  if (clearing_.contains(node) || (is_busy && is_busy(node))) return;
  const View stale = view(node);
  if (stale.state != State::kStale) return;
  clearing_.insert(node);
  locks_.clear(node, stale.value, leader_.term(), [this, node, stale](const Status& status) {
    clearing_.erase(node);
    if (status)
      report(node, stale);
    else
      log::warn("stale node lock could not be removed",
                {{"node", node}, {"problem", status.error().what}});
    if (on_news) on_news(node);
  });
}

void LockKeeper::release_unbound() {
  for (const auto& [node, lock] : taken_) {
    const NodeRecord* record = books_.node(node);
    const bool still_there = record != nullptr && record->fact.lock == lock.first;
    if (still_there && !clearing_.contains(node)) release_if_unbound(node, lock.first);
  }
}

/// Asks the API server: the answer of a Binding may have been lost, and the lock of a bound pod is
/// its agent's.
void LockKeeper::release_if_unbound(const std::string& node, const std::string& value) {
  const Result<LockText> lock = parse_lock(value);
  const PodRecord* pod = lock ? books_.pod_by_name(lock->ns, lock->name) : nullptr;
  const bool settled =
      pod != nullptr && (!pod->fact.node.empty() || pod->stage != BindStage::kNone);
  if (!lock || settled) return;
  ++releasing_;
  locks_.fetch_pod(
      lock->ns, lock->name, [this, node, value](const Result<std::optional<PodFact>>& answer) {
        --releasing_;
        if (!answer || (*answer && !(*answer)->node.empty())) return;
        ++releasing_;
        locks_.clear(
            node, value, leader_.term(),
            [this](const Status& /*logged by nobody: the process ends*/) { --releasing_; });
      });
}

void LockKeeper::sweep_all() {
  const std::vector<std::string> nodes(books_.locked_nodes().begin(), books_.locked_nodes().end());
  for (const std::string& node : nodes) sweep(node);
}

}  // namespace tessera::service
