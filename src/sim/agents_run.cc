// What the agents do with the pods of their nodes: Allocate by the lock, run, finish, delete.
#include "sim/agents_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "k8s/decode.h"
#include "obs/log.h"
#include "sim/agents_mig.h"
#include "sim/agents_objects.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kLockKey = "hami.io/mutex.lock", kPhaseKey = "hami.io/bind-phase",
                           kBindTimeKey = "hami.io/bind-time";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr int kReleaseTries = 5;
constexpr int kNotFound = 404;
constexpr std::chrono::milliseconds kReadAgain{50};
constexpr std::string_view kAdmissionError = "UnexpectedAdmissionError";

std::string value_of(const k8s::StringMap& map, std::string_view key) {
  const std::string* value = k8s::find(map, key);
  return value == nullptr ? std::string() : *value;
}

std::string pod_path(const k8s::Pod& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", pod.ns, pod.name);
}
std::string node_path(const std::string& node) { return "/api/v1/nodes/" + node; }

struct LockView {
  std::string lock, resource_version;
};
LockView lock_of(const client::ApiResponse& response) {
  json::Parser parser;
  const Result<json::Value> node = parser.parse(std::string_view(response.body));
  if (!response.ok() || !node) return {};
  const json::Value meta = (*node)["metadata"];
  return {std::string(meta["annotations"][kLockKey].string_or("")),
          std::string(meta["resourceVersion"].string_or(""))};
}

bool owned_by(std::string_view lock, std::string_view ns, std::string_view name) {
  const std::vector<std::string_view> parts = text::split(lock, ',');
  return parts.size() == 3 && parts[1] == ns && parts[2] == name;
}

bool asks(const k8s::Pod& pod, const AgentVendor& vendor) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const k8s::Container& c) {
    const std::string* limit = k8s::find(c.limits, vendor.count_resource);
    return limit != nullptr && *limit != "0";
  });
}

bool plain_init(const k8s::Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const k8s::Container& c) { return c.init && !c.sidecar; });
}

/// What an agent with this key still has to serve of the pod.
bool left_to_allocate(const k8s::Pod& pod, const AgentVendor& vendor) {
  if (vendor.to_allocate_key.empty()) return false;
  const std::string text = value_of(pod.annotations, vendor.to_allocate_key);
  return text.find(',') != std::string::npos;
}

}  // namespace

Agents::Impl::PodEntry* Agents::Impl::find(const std::string& uid) {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : &it->second;
}

void Agents::Impl::list_begin() {
  for (auto& [uid, entry] : pods_) entry.listed = false;
  listing_.clear();
  in_list_ = true;
}

void Agents::Impl::list_end() {
  in_list_ = false;
  std::vector<k8s::Pod> listed = std::exchange(listing_, {});
  std::vector<std::string> gone;
  for (const auto& [uid, entry] : pods_)
    if (!entry.listed) gone.push_back(uid);
  for (const std::string& uid : gone) forget(uid);
  // Pods known already can only hold less than before.
  std::stable_partition(listed.begin(), listed.end(),
                        [this](const k8s::Pod& p) { return pods_.count(p.uid) != 0; });
  for (k8s::Pod& pod : listed) seen(std::move(pod));
}

void Agents::Impl::forget(const std::string& uid) {
  checker_.pod_gone(uid);
  pods_.erase(uid);
}

void Agents::Impl::object(json::Value value) {
  Result<k8s::Pod> pod = k8s::decode_pod(value);
  if (!pod) return log::warn("agents: unreadable pod", {{"error", pod.error().what}});
  if (nodes_.count(pod->node_name) == 0) return;
  if (!in_list_) return seen(std::move(*pod));
  if (PodEntry* known = find(pod->uid)) known->listed = true;
  listing_.push_back(std::move(*pod));
}

void Agents::Impl::seen(k8s::Pod pod) {
  checker_.pod_seen(pod, clock_.wall());
  PodEntry& entry = pods_[pod.uid];
  entry.listed = true;
  entry.pod = std::move(pod);
  consider(entry);
}

void Agents::Impl::deleted(json::Value value) {
  const std::string uid(value["metadata"]["uid"].string_or(""));
  forget(uid);
}

void Agents::Impl::consider(PodEntry& entry) {
  const k8s::Pod& pod = entry.pod;
  if (pod.terminating) return remove(entry);
  if (pod.finished()) {
    entry.stage = Stage::kEnded;
    if (options_.delete_finished) remove(entry);
    return;
  }
  if (entry.stage != Stage::kNew) return;
  if (pod.phase != k8s::Phase::kRunning) return consider_pending(entry);
  entry.stage = Stage::kRunning;  // it ran before these agents were started
  end_later(entry);
}

void Agents::Impl::consider_pending(PodEntry& entry) {
  const k8s::Pod& pod = entry.pod;
  const std::string phase = value_of(pod.annotations, kPhaseKey);
  bool assigned = false, waits = false, asked = false;
  for (const AgentVendor& vendor : options_.vendors) {
    assigned = assigned || k8s::find(pod.annotations, vendor.allocated_key) != nullptr;
    waits = waits ||
            (vendor.needs_lock && k8s::find(pod.annotations, vendor.to_allocate_key) != nullptr);
    asked = asked || asks(pod, vendor);
  }
  if (phase == "allocating" && waits) {
    NodeEntry& node = nodes_[pod.node_name];
    entry.stage = Stage::kQueued;
    entry.stalled = node.how == Misbehaviour::kNeverAllocate;
    node.queue.push_back(pod.uid);
    return serve_next(node);
  }
  // As the kubelet does when Allocate fails: the pod came here without a scheduler's annotations,
  // or its agent gave up before.
  if (phase == "failed" || (!assigned && asked))
    return fail_admission(entry, "no devices were assigned to this pod by the scheduler");
  run(entry);
}

void Agents::Impl::fail_admission(PodEntry& entry, std::string_view why) {
  entry.stage = Stage::kEnded;
  send(status_patch(entry.pod, failed_status(kAdmissionError, why)),
       [](const client::ApiResponse&) {});
}

void Agents::Impl::serve_next(NodeEntry& node) {
  if (!node.serving.empty() || node.how == Misbehaviour::kNeverAllocate) return;
  while (!node.queue.empty()) {
    const std::string uid = node.queue.front();
    node.queue.pop_front();
    PodEntry* entry = find(uid);
    if (entry == nullptr || entry->stage != Stage::kQueued || entry->pod.terminating) continue;
    if (node.how == Misbehaviour::kDead) {
      fail_admission(*entry, "Allocate failed: no agent answers");
      continue;
    }
    node.serving = uid;
    entry->stage = Stage::kServing;
    return serve(node.spec.name, uid);
  }
}

/// The kubelet calls Allocate; the agent reads the lock to learn for which pod.
void Agents::Impl::serve(const std::string& name, const std::string& uid) {
  send({.method = "GET", .path = node_path(name)},
       [this, name, uid](const client::ApiResponse& response) {
         PodEntry* served = find(uid);
         if (served == nullptr) return end_serving(name, uid);
         if (!response.ok() && response.status != kNotFound)  // the kubelet waits for its answer
           return later(kReadAgain, [this, name, uid] { serve(name, uid); });
         served->lock = lock_of(response).lock;
         const k8s::Pod& pod = served->pod;
         if (owned_by(served->lock, pod.ns, pod.name)) return begin_allocate(name, uid);
         if (served->stalled) return give_up(name, uid);
         confirm_owner(name, uid);
       });
}

/// The lock of a pod that is being deleted before it ran may be gone already; our watch may be
/// behind.
void Agents::Impl::confirm_owner(const std::string& name, const std::string& uid) {
  const PodEntry* entry = find(uid);
  if (entry == nullptr) return end_serving(name, uid);
  send({.method = "GET", .path = pod_path(entry->pod)},
       [this, name, uid](const client::ApiResponse& response) {
         json::Parser parser;
         const Result<json::Value> value = parser.parse(std::string_view(response.body));
         const Result<k8s::Pod> pod =
             response.ok() && value ? k8s::decode_pod(*value) : fail(Code::kNotFound, "gone");
         const bool alive = pod && pod->uid == uid && !pod->terminating && !pod->finished();
         if (!alive && (response.ok() || response.status == kNotFound))
           return end_serving(name, uid);
         if (too_late(uid)) return give_up(name, uid);
         begin_allocate(name, uid);
       });
}

/// Bound so long ago that the scheduler has taken the agent for dead; the lock is older than the
/// Binding by as long as the scheduler's own writes took.
bool Agents::Impl::too_late(const std::string& uid) {
  const PodEntry* entry = find(uid);
  if (entry == nullptr) return true;
  const auto bound = text::parse_int(value_of(entry->pod.annotations, kBindTimeKey), 64);
  const auto age = clock_.wall() - WallTime(std::chrono::seconds(bound.value_or(0)));
  return bound && age + options_.lock_slack > options_.lock_timeout;
}

void Agents::Impl::give_up(const std::string& name, const std::string& uid) {
  if (PodEntry* entry = find(uid))
    fail_admission(*entry, "Allocate failed: the lock was taken away meanwhile");
  end_serving(name, uid);
}

void Agents::Impl::begin_allocate(const std::string& name, const std::string& uid) {
  const PodEntry* entry = find(uid);
  if (entry == nullptr) return end_serving(name, uid);
  checker_.allocate(entry->pod, entry->lock, clock_.wall(),
                    options_.lock_timeout + options_.lock_slack);
  const bool late = nodes_[name].how == Misbehaviour::kLate;
  later(late ? options_.late_delay : options_.allocate_delay,
        [this, name, uid] { allocate(name, uid); });
}

void Agents::Impl::allocate(const std::string& node, const std::string& uid) {
  PodEntry* entry = find(uid);
  if (entry == nullptr) return end_serving(node, uid);
  const k8s::Pod& pod = entry->pod;
  const bool fails = nodes_[node].how == Misbehaviour::kFailAllocate;
  const std::string phase = fails ? "failed" : "success";
  std::vector<AnnotationChange> changes{{kPhaseKey, &phase}};
  std::string left, instances;
  for (const AgentVendor& vendor : options_.vendors) {
    if (fails || !left_to_allocate(pod, vendor)) continue;
    left = emptied(value_of(pod.annotations, vendor.to_allocate_key));
    entry->first_key = vendor.to_allocate_key;
    changes.push_back({vendor.to_allocate_key, &left});
    const std::string* reserved = k8s::find(pod.annotations, vendor.mig_key);
    if (reserved != nullptr) {
      instances = realise_mig(*reserved);
      changes.push_back({vendor.mig_key, &instances});
    }
    break;  // the agent that comes first ends the lock; the others find the pod without
  }
  client::ApiRequest request{.method = "PATCH",
                             .path = pod_path(pod),
                             .body = annotations_patch(changes, uid, {}),
                             .content_type = std::string(kMergePatch)};
  send(std::move(request), [this, node, uid, fails](const client::ApiResponse& response) {
    allocated(node, uid, !fails, response);
  });
}

void Agents::Impl::allocated(const std::string& node, const std::string& uid, bool succeeded,
                             const client::ApiResponse& response) {
  PodEntry* entry = find(uid);
  if (entry == nullptr) return end_serving(node, uid);
  const k8s::Pod pod = entry->pod;
  if (!response.ok()) {  // deleted meanwhile: the scheduler clears the lock
    check_lock_later(pod, entry->lock);
    return end_serving(node, uid);
  }
  if (succeeded) {
    ++served_;
    serve_other_vendors(uid);
  } else {
    fail_admission(*entry, "Allocate failed");
  }
  if (nodes_[node].how == Misbehaviour::kKeepLock) return end_serving(node, uid);
  check_lock_later(pod, entry->lock);
  release_lock(node, uid, pod.ns, pod.name, kReleaseTries);
}

/// Agents of further vendors find the pod by its phase; nothing is locked any more.
void Agents::Impl::serve_other_vendors(const std::string& uid) {
  PodEntry* entry = find(uid);
  if (entry == nullptr) return;
  std::vector<std::string> texts;
  std::vector<AnnotationChange> changes;
  texts.reserve(options_.vendors.size());
  for (const AgentVendor& vendor : options_.vendors) {
    const bool served = vendor.to_allocate_key == entry->first_key;
    if (served || !left_to_allocate(entry->pod, vendor)) continue;
    texts.push_back(emptied(value_of(entry->pod.annotations, vendor.to_allocate_key)));
    changes.push_back({vendor.to_allocate_key, &texts.back()});
  }
  if (changes.empty()) return run(*entry);
  send({.method = "PATCH",
        .path = pod_path(entry->pod),
        .body = annotations_patch(changes, uid, {}),
        .content_type = std::string(kMergePatch)},
       [this, uid](const client::ApiResponse& response) {
         PodEntry* served = find(uid);
         if (served != nullptr && response.ok()) run(*served);
       });
}

/// Invariant 4: by then nobody may hold the node for this pod.
void Agents::Impl::check_lock_later(const k8s::Pod& pod, const std::string& lock) {
  if (lock.empty()) return;
  later(options_.lock_budget, [this, pod, lock] {
    send({.method = "GET", .path = node_path(pod.node_name)},
         [this, pod, lock](const client::ApiResponse& response) {
           if (lock_of(response).lock == lock) checker_.served(pod, lock, options_.lock_budget);
         });
  });
}

/// Only its own lock, and only in the version that was read.
void Agents::Impl::release_lock(const std::string& node, const std::string& uid,
                                const std::string& ns, const std::string& name, int tries) {
  send({.method = "GET", .path = node_path(node)}, [=, this](const client::ApiResponse& read) {
    if (!read.ok() && read.status != kNotFound && tries > 1)
      return release_lock(node, uid, ns, name, tries - 1);
    const LockView view = lock_of(read);
    if (!owned_by(view.lock, ns, name)) return end_serving(node, uid);
    client::ApiRequest request{
        .method = "PATCH",
        .path = node_path(node),
        .body = annotations_patch({{kLockKey, nullptr}}, {}, view.resource_version),
        .content_type = std::string(kMergePatch)};
    send(std::move(request), [=, this](const client::ApiResponse& response) {
      if (response.status == 409 && tries > 1) return release_lock(node, uid, ns, name, tries - 1);
      if (!response.ok())
        log::warn("agents: lock not released", {{"node", node}, {"error", response.message()}});
      end_serving(node, uid);
    });
  });
}

void Agents::Impl::end_serving(const std::string& name, const std::string& uid) {
  NodeEntry& node = nodes_[name];
  if (node.serving == uid) node.serving.clear();
  serve_next(node);
}

void Agents::Impl::run(PodEntry& entry) {
  entry.stage = Stage::kRunning;
  const std::string uid = entry.pod.uid;
  if (options_.init_for.count() == 0 || !plain_init(entry.pod)) return run_apps(uid);
  send(status_patch(entry.pod, initialising_status(entry.pod, clock_.wall())),
       [this, uid](const client::ApiResponse&) {
         later(options_.init_for, [this, uid] { run_apps(uid); });
       });
}

void Agents::Impl::run_apps(const std::string& uid) {
  const PodEntry* entry = find(uid);
  if (entry == nullptr || entry->pod.terminating) return;
  send(status_patch(entry->pod, running_status(entry->pod, clock_.wall())),
       [this, uid](const client::ApiResponse& response) {
         const PodEntry* running = find(uid);
         if (running != nullptr && response.ok()) end_later(*running);
       });
}

void Agents::Impl::end_later(const PodEntry& entry) {
  std::chrono::milliseconds run_for = options_.run_for;
  const std::string wish = value_of(entry.pod.annotations, kRunForKey);
  if (!wish.empty()) {
    const Result<std::chrono::milliseconds> parsed = parse_duration(wish);
    if (!parsed)
      log::warn("agents: unreadable duration", {{"pod", entry.pod.name}, {kRunForKey, wish}});
    if (parsed) run_for = *parsed;
  }
  if (run_for.count() <= 0) return;
  later(run_for, [this, uid = entry.pod.uid] {
    PodEntry* ending = find(uid);
    if (ending == nullptr || ending->stage != Stage::kRunning || ending->pod.terminating) return;
    ending->stage = Stage::kEnded;
    ++finished_;
    send(status_patch(ending->pod, succeeded_status(ending->pod, clock_.wall())),
         [](const client::ApiResponse&) {});
  });
}

void Agents::Impl::remove(PodEntry& entry) {
  if (entry.deleting) return;
  entry.deleting = true;
  const std::string body =
      fmt::format(R"({{"gracePeriodSeconds":0,"preconditions":{{"uid":"{}"}}}})", entry.pod.uid);
  send({.method = "DELETE", .path = pod_path(entry.pod), .body = body},
       [this, uid = entry.pod.uid](const client::ApiResponse& response) {
         PodEntry* kept = find(uid);
         if (kept != nullptr && !response.ok() && response.status != 404) kept->deleting = false;
       });
}

}  // namespace tessera::sim
