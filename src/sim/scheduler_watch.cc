// What the scheduling loop learns from the watches.
#include <algorithm>

#include "sim/scheduler_run.h"

namespace tessera::sim {
namespace {

bool finished(json::Value pod) {
  const std::string_view phase = pod["status"]["phase"].string_or("");
  return phase == "Succeeded" || phase == "Failed";
}

/// All that may let a waiting pod fit. The lock changes with every bind and says nothing of room,
/// heartbeats neither.
std::string fingerprint_of(json::Value node) {
  std::string out = node["status"]["allocatable"].dump() + node["metadata"]["labels"].dump() +
                    node["spec"].dump();
  node["metadata"]["annotations"].for_each_member([&](std::string_view key, json::Value value) {
    if (key == "hami.io/mutex.lock" || key.find("handshake") != std::string_view::npos) return;
    out.append(key).append("=").append(value.string_or("")).append("\n");
  });
  return out;
}

/// The limits that carry a domain, without it: "gpu=1 gpumem=1000"; containers with " + " between.
std::string asks_of(json::Value pod) {
  std::string out;
  pod["spec"]["containers"].for_each_element([&](json::Value container) {
    std::string one;
    container["resources"]["limits"].for_each_member([&](std::string_view name, json::Value value) {
      const std::size_t slash = name.find('/');
      if (slash == std::string_view::npos) return;
      if (!one.empty()) one += ' ';
      one.append(name.substr(slash + 1))
          .append("=")
          .append(value.string() ? std::string(*value.string()) : value.dump());
    });
    if (!one.empty()) out.append(out.empty() ? "" : " + ").append(one);
  });
  return out;
}

}  // namespace

bool SchedulerLoop::Impl::ours(json::Value pod) const {
  const std::string_view name = pod["spec"]["schedulerName"].string_or("default-scheduler");
  return name == options_.scheduler_name ||
         (options_.default_scheduler_too && name == "default-scheduler");
}

/// kube-scheduler's interest test: named in requests or limits of a container or init container,
/// even with 0.
bool SchedulerLoop::Impl::is_managed(json::Value pod) const {
  if (options_.managed_resources.empty()) return true;
  bool found = false;
  for (const char* list : {"initContainers", "containers"}) {
    pod["spec"][list].for_each_element([&](json::Value container) {
      for (const char* section : {"requests", "limits"}) {
        container["resources"][section].for_each_member([&](std::string_view name, json::Value) {
          const auto& managed = options_.managed_resources;
          found = found || std::find(managed.begin(), managed.end(), name) != managed.end();
        });
      }
    });
  }
  return found;
}

void SchedulerLoop::Impl::pod_changed(json::Value pod) {
  const std::string uid(pod["metadata"]["uid"].string_or(""));
  if (uid.empty()) return;
  if (finished(pod)) return pod_left(uid);
  if (!pod["spec"]["nodeName"].string_or("").empty()) {
    queue_.remove(uid);
    pending_.erase(uid);
    assigned_[uid] = true;
    return;
  }
  const bool terminating = !pod["metadata"]["deletionTimestamp"].is_null_or_missing();
  if (!ours(pod) || terminating) {
    queue_.remove(uid);
    pending_.erase(uid);
    return;
  }
  pending_changed(pod, uid);
}

void SchedulerLoop::Impl::pending_changed(json::Value pod, const std::string& uid) {
  const auto [it, fresh] = pending_.try_emplace(uid);
  Pending& record = it->second;
  record.listed = true;
  record.text = pod.dump();
  if (!fresh) return;
  record.uid = uid;
  record.ns = pod["metadata"]["namespace"].string_or("default");
  record.name = pod["metadata"]["name"].string_or("");
  record.asks = asks_of(pod);
  record.order = order_++;
  record.first_seen = clock_.mono();
  record.managed = is_managed(pod);
  queue_.add(uid);
  pump();
}

void SchedulerLoop::Impl::pod_deleted(json::Value pod) {
  pod_left(std::string(pod["metadata"]["uid"].string_or("")));
}

void SchedulerLoop::Impl::pod_left(const std::string& uid) {
  queue_.remove(uid);
  const bool waited = pending_.erase(uid) > 0;
  const bool made_room = assigned_.erase(uid) > 0;
  if (waited || made_room) something_changed();
}

void SchedulerLoop::Impl::pods_listed() {
  std::vector<std::string> gone;
  for (const auto& [uid, pod] : pending_)
    if (!pod.listed) gone.push_back(uid);
  for (const auto& [uid, listed] : assigned_)
    if (!listed) gone.push_back(uid);
  for (const std::string& uid : gone) pod_left(uid);
  pods_synced_ = true;
  pump();
}

void SchedulerLoop::Impl::node_changed(json::Value node) {
  const std::string name(node["metadata"]["name"].string_or(""));
  if (name.empty()) return;
  const auto [it, fresh] = nodes_.try_emplace(name);
  it->second.listed = true;
  if (options_.full_nodes) it->second.text = node.dump();
  if (fresh || options_.full_nodes) nodes_text_.clear();
  std::string fingerprint = fingerprint_of(node);
  if (!fresh && fingerprint == it->second.fingerprint) return;
  it->second.fingerprint = std::move(fingerprint);
  something_changed();
}

void SchedulerLoop::Impl::node_deleted(const std::string& name) {
  if (nodes_.erase(name) == 0) return;
  nodes_text_.clear();
  something_changed();
}

void SchedulerLoop::Impl::nodes_listed() {
  std::vector<std::string> gone;
  for (const auto& [name, node] : nodes_)
    if (!node.listed) gone.push_back(name);
  for (const std::string& name : gone) node_deleted(name);
  nodes_synced_ = true;
  pump();
}

void SchedulerLoop::Impl::something_changed() {
  ++changes_;
  const std::chrono::milliseconds until = queue_.wake(clock_.mono());
  pump();
  if (until.count() > 0) pump_later(until);
}

}  // namespace tessera::sim
