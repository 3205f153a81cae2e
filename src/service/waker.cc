#include "service/waker.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/place.h"
#include "json/writer.h"
#include "obs/log.h"
#include "service/names.h"
#include "service/trial.h"

namespace tessera::service {
namespace {

/// Decisions wait while a tick runs: so few pods are looked at in one.
constexpr int kLooksPerTick = 16;
/// A look over the whole cluster costs as much as a filter call.
constexpr int kWideLooksPerTick = 2;
constexpr std::chrono::milliseconds kPauseAfterDeferral{500};
constexpr std::chrono::minutes kStrangerAfter{1};
constexpr std::size_t kNodesPerRound = 64;
constexpr std::size_t kNodesTried = 8;

std::string wake_up_patch(const std::string& uid, WallTime now) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("uid").string(uid);
  w.key("annotations").begin_object().key(kWakeUpKey).string(format_rfc3339(now));
  w.end_object().end_object().end_object();
  return std::move(w).take();
}

}  // namespace

Waker::Waker(client::ApiClient& api, Books& books, const Clock& clock, obs::Metrics& metrics,
             Options options)
    : api_(api),
      books_(books),
      clock_(clock),
      options_(options),
      bucket_(options.per_second, options.burst, clock.mono()) {
  const auto counter = [&](const char* result) {
    return metrics.counter("tessera_wake_ups_total",
                           "Pending pods that were touched because there may be room for them.",
                           {{"result", result}});
  };
  sent_ = counter("sent");
  failed_ = counter("failed");
}

void Waker::refused(const std::string& uid) {
  if (!options_.enabled || uid.empty()) return;
  auto [entry, is_new] = sleepers_.try_emplace(uid);
  entry->second.asleep = true;
  entry->second.refused_at = clock_.mono();
  if (!is_new) return;
  entry->second.order = next_order_++;
  entry->second.pause = options_.first_pause;
}

void Waker::placed(const std::string& uid) {
  const auto found = sleepers_.find(uid);
  if (found != sleepers_.end()) found->second.asleep = false;
}

void Waker::urge(const std::string& uid) {
  if (!options_.enabled || (may_write && !may_write())) return;
  const PodRecord* pod = books_.pod(uid);
  if (pod == nullptr || !pod->fact.node.empty()) return;
  refused(uid);
  wake(uid, *pod, sleepers_[uid]);
}

void Waker::settled(const std::string& uid) { sleepers_.erase(uid); }

void Waker::room(std::string_view node, std::string_view ns) {
  if (sleepers_.empty()) return;
  if (!node.empty()) nodes_.emplace(node);
  if (!ns.empty() && books_.cluster().quotas().limits(ns)) namespaces_.emplace(ns);
  // A limit that is gone leaves no quota behind.
  if (node.empty() && !ns.empty()) namespaces_.emplace(ns);
}

void Waker::everything_is_new() {
  if (!options_.enabled) return;
  round_ = {};  // node numbers and vendor ids may have changed
  for (const auto& [uid, pod] : books_.pods()) {
    if (pod.seen && pod.fact.node.empty() && pod.fact.unschedulable_since) refused(uid);
  }
  everywhere_ = !sleepers_.empty();
}

// ---- a round

/// Pods that no watch has shown long after a filter call named them.
void Waker::forget_strangers() {
  const MonoTime now = clock_.mono();
  for (auto entry = sleepers_.begin(); entry != sleepers_.end();) {
    const bool stranger =
        now - entry->second.refused_at > kStrangerAfter && books_.pod(entry->first) == nullptr;
    entry = stranger ? sleepers_.erase(entry) : std::next(entry);
  }
}

bool Waker::begin_round() {
  if (sleepers_.empty()) {
    nodes_.clear();
    namespaces_.clear();
    everywhere_ = false;
    return false;
  }
  if (nodes_.empty() && namespaces_.empty() && !everywhere_) return false;
  forget_strangers();
  round_ = {};
  round_.everywhere = std::exchange(everywhere_, false);
  round_.namespaces = std::exchange(namespaces_, {});
  while (!nodes_.empty() && round_.nodes.size() < kNodesPerRound) {
    const NodeId id = books_.cluster().find_node(*nodes_.begin());
    nodes_.erase(nodes_.begin());
    if (id.valid()) round_.nodes.push_back(id);
  }
  std::vector<std::pair<std::uint64_t, std::string>> ordered;
  for (const auto& [uid, sleeper] : sleepers_) {
    if (sleeper.asleep) ordered.emplace_back(sleeper.order, uid);
  }
  std::sort(ordered.rbegin(), ordered.rend());
  for (auto& [order, uid] : ordered) round_.pods.push_back(std::move(uid));
  round_.trial = std::make_unique<core::Cluster>(books_.cluster().rules());
  copy_quotas_left(books_.cluster().quotas(), *round_.trial);
  deferred_ = false;
  return true;
}

void Waker::finish_round() {
  if (deferred_) {
    next_round_ = clock_.mono() + kPauseAfterDeferral;
    everywhere_ = everywhere_ || round_.everywhere;
    namespaces_.insert(round_.namespaces.begin(), round_.namespaces.end());
    for (const NodeId node : round_.nodes) {
      if (node.v < books_.cluster().node_count())
        nodes_.insert(books_.cluster().node(node).spec.name);
    }
  }
  round_ = {};
}

void Waker::tick() {
  if (!options_.enabled || (may_write && !may_write())) return;
  if (round_.trial == nullptr && (clock_.mono() < next_round_ || !begin_round())) return;
  int looks = kLooksPerTick, wide = kWideLooksPerTick;
  while (!round_.pods.empty() && looks > 0 && wide > 0) {
    const std::string uid = std::move(round_.pods.back());
    round_.pods.pop_back();
    --looks;
    if (look_at(uid)) --wide;
  }
  if (round_.pods.empty()) finish_round();
}

/// True when the whole cluster was looked at for it.
bool Waker::look_at(const std::string& uid) {
  const auto found = sleepers_.find(uid);
  if (found == sleepers_.end() || !found->second.asleep) return false;
  const PodRecord* pod = books_.pod(uid);
  if (pod == nullptr || !pod->request) return false;
  if (!pod->fact.node.empty() || pod->stage != BindStage::kNone ||
      books_.cluster().hold({uid}) != nullptr)
    return false;
  const bool wide = round_.everywhere || round_.namespaces.contains(pod->fact.ns);
  const bool fits =
      fits_in_trial(*pod->request, wide ? books_.cluster().present_nodes() : round_.nodes);
  if (!fits) return wide;
  if (clock_.mono() < found->second.not_before || !bucket_.take(clock_.mono())) {
    deferred_ = true;
    return wide;
  }
  wake(uid, *pod, found->second);
  return wide;
}

/// On the books first, which is quick to say no, then beside those who were woken in this round.
bool Waker::fits_in_trial(const core::Request& request, const std::vector<NodeId>& nodes) {
  const core::Outcome outcome = core::place(books_.cluster(), request, nodes);
  if (!outcome.decision) return false;
  std::vector<NodeId> tried = {outcome.decision->node};
  for (const std::uint32_t index : outcome.fitting) {
    if (tried.size() >= kNodesTried) break;
    if (nodes[index] != tried.front()) tried.push_back(nodes[index]);
  }
  for (const NodeId node : tried) {
    const std::string& name = books_.cluster().node(node).spec.name;
    if (!round_.trial->find_node(name).valid()) copy_node(books_.cluster(), node, *round_.trial);
    core::Fit fit = core::fit_node(*round_.trial, request, round_.trial->find_node(name));
    if (fit.allocation && round_.trial->reserve(request.uid, std::move(*fit.allocation), {}))
      return true;
  }
  return false;
}

void Waker::wake(const std::string& uid, const PodRecord& pod, Sleeper& sleeper) {
  sleeper.asleep = false;
  sleeper.not_before = clock_.mono() + sleeper.pause;
  sleeper.pause = std::min(sleeper.pause * 2, options_.longest_pause);
  if (!is_object_name(pod.fact.ns) || !is_object_name(pod.fact.name)) return;
  log::info("pending pod is woken: there may be room",
            {{"pod", pod.fact.ns + "/" + pod.fact.name}});
  client::ApiRequest request{
      .method = "PATCH",
      .path = fmt::format("/api/v1/namespaces/{}/pods/{}", pod.fact.ns, pod.fact.name),
      .body = wake_up_patch(uid, clock_.wall()),
      .content_type = "application/merge-patch+json",
      .low_priority = true};
  request.still_wanted = may_write;
  api_.send(std::move(request),
            [sent = sent_, failed = failed_](const client::ApiResponse& response) {
              if (response.ok()) return sent.increment();
              failed.increment();
              log::debug("pending pod could not be woken", {{"problem", response.message()}});
            });
}

}  // namespace tessera::service
