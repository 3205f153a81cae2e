// What the agents do with the pods of their nodes: Allocate by the lock, run, finish, delete.
#include "sim/agents_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "k8s/decode.h"
#include "obs/log.h"
#include "sim/agents_objects.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kLockKey = "hami.io/mutex.lock", kPhaseKey = "hami.io/bind-phase";
constexpr std::string_view kRunForKey = "tessera.io/run-for";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr int kReleaseTries = 5;
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

bool asks(const k8s::Pod& pod, const std::string& resource) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const k8s::Container& c) {
    const std::string* limit = k8s::find(c.limits, resource);
    return limit != nullptr && *limit != "0";
  });
}

}  // namespace

Agents::Impl::PodEntry* Agents::Impl::find(const std::string& uid) {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : &it->second;
}

void Agents::Impl::list_begin() {
  for (auto& [uid, entry] : pods_) entry.listed = false;
}

void Agents::Impl::list_end() {
  std::vector<std::string> gone;
  for (const auto& [uid, entry] : pods_)
    if (!entry.listed) gone.push_back(uid);
  for (const std::string& uid : gone) forget(uid);
}

void Agents::Impl::forget(const std::string& uid) {
  checker_.pod_gone(uid);
  pods_.erase(uid);
}

void Agents::Impl::object(json::Value value) {
  Result<k8s::Pod> pod = k8s::decode_pod(value);
  if (!pod) return log::warn("agents: unreadable pod", {{"error", pod.error().what}});
  if (nodes_.count(pod->node_name) == 0) return;
  checker_.pod_seen(*pod);
  PodEntry& entry = pods_[pod->uid];
  entry.listed = true;
  entry.pod = std::move(*pod);
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
  const bool has_text = k8s::find(pod.annotations, options_.to_allocate_key) != nullptr;
  if (phase == "allocating" && has_text) {
    NodeEntry& node = nodes_[pod.node_name];
    entry.stage = Stage::kQueued;
    node.queue.push_back(pod.uid);
    return serve_next(node);
  }
  if (phase == "failed" || (!has_text && asks(pod, options_.count_resource))) {
    // As the kubelet does when Allocate fails: the pod came here without a scheduler's annotations,
    // or its agent gave up before.
    entry.stage = Stage::kEnded;
    return send(
        status_patch(pod, failed_status(kAdmissionError,
                                        "no devices were assigned to this pod by the scheduler")),
        [](const client::ApiResponse&) {});
  }
  run(entry);
}

void Agents::Impl::serve_next(NodeEntry& node) {
  if (!node.serving.empty() || node.how == Misbehaviour::kNeverAllocate) return;
  while (!node.queue.empty()) {
    const std::string uid = node.queue.front();
    node.queue.pop_front();
    PodEntry* entry = find(uid);
    if (entry == nullptr || entry->stage != Stage::kQueued || entry->pod.terminating) continue;
    node.serving = uid;
    entry->stage = Stage::kServing;
    // The kubelet calls Allocate; the agent reads the lock to learn for which pod.
    const std::string name = node.spec.name;
    return send({.method = "GET", .path = node_path(name)},
                [this, name, uid](const client::ApiResponse& response) {
                  const PodEntry* served = find(uid);
                  if (served == nullptr) return end_serving(name, uid);
                  checker_.allocate(served->pod, lock_of(response).lock, clock_.wall(),
                                    options_.lock_timeout);
                  later(options_.allocate_delay, [this, name, uid] { allocate(name, uid); });
                });
  }
}

void Agents::Impl::allocate(const std::string& node, const std::string& uid) {
  const PodEntry* entry = find(uid);
  if (entry == nullptr) return end_serving(node, uid);
  const k8s::Pod& pod = entry->pod;
  const bool fails = nodes_[node].how == Misbehaviour::kFailAllocate;
  const std::string phase = fails ? "failed" : "success";
  const std::string left = emptied(value_of(pod.annotations, options_.to_allocate_key));
  std::vector<AnnotationChange> changes{{kPhaseKey, &phase}};
  if (!fails) changes.push_back({options_.to_allocate_key, &left});
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
  if (entry == nullptr || !response.ok())
    return end_serving(node, uid);  // deleted meanwhile: the scheduler clears the lock
  const k8s::Pod pod = entry->pod;
  if (succeeded) {
    ++served_;
    run(*entry);
  } else {
    entry->stage = Stage::kEnded;
    send(status_patch(pod, failed_status(kAdmissionError, "Allocate failed")),
         [](const client::ApiResponse&) {});
  }
  if (nodes_[node].how == Misbehaviour::kKeepLock) return end_serving(node, uid);
  release_lock(node, uid, pod.ns, pod.name, kReleaseTries);
}

/// Only its own lock, and only in the version that was read.
void Agents::Impl::release_lock(const std::string& node, const std::string& uid,
                                const std::string& ns, const std::string& name, int tries) {
  send({.method = "GET", .path = node_path(node)}, [=, this](const client::ApiResponse& read) {
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
  send(status_patch(entry.pod, running_status(entry.pod, clock_.wall())),
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
