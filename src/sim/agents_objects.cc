#include "sim/agents_objects.h"

#include <fmt/format.h>

#include "json/writer.h"
#include "vendors/codec.h"

namespace tessera::sim {
namespace {

void condition(json::Writer& w, std::string_view type, std::string_view status,
               const std::string& now, std::string_view reason = {}) {
  w.begin_object().key("type").string(type).key("status").string(status);
  if (!reason.empty()) w.key("reason").string(reason);
  w.key("lastTransitionTime").string(now).end_object();
}

/// Units of a vendor's count resource on the node.
std::int64_t units(const std::vector<core::Device>& devices, std::size_t vendor,
                   const AgentVendor& agent) {
  std::int64_t sum = 0;
  for (const core::Device& d : devices)
    if (d.vendor.v == vendor) sum += agent.capacity_counts_cards ? 1 : d.slots;
  return sum;
}

void node_status(json::Writer& w, const AgentNode& node, const AgentOptions& options, bool offered,
                 const std::string& now) {
  w.begin_object();
  for (const char* section : {"capacity", "allocatable"}) {
    w.key(section).begin_object();
    w.key("cpu").string(fmt::format("{}m", node.cpu_milli));
    w.key("memory").string(fmt::format("{}Mi", node.memory_mib)).key("pods").string("110");
    for (std::size_t v = 0; v < options.vendors.size(); ++v) {
      const AgentVendor& agent = options.vendors[v];
      const std::int64_t there = units(node.devices, v, agent);
      if (there > 0 || v == 0)
        w.key(agent.count_resource).string(std::to_string(offered ? there : 0));
    }
    w.end_object();
  }
  w.key("conditions").begin_array();
  condition(w, "Ready", "True", now, "KubeletReady");
  w.end_array().key("nodeInfo").begin_object();
  for (const char* field :
       {"architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
        "machineID", "osImage", "operatingSystem", "systemUUID"}) {
    w.key(field).string("");
  }
  w.key("kubeletVersion").string("v1.36.0-simulated").end_object().end_object();
}

enum class ContainerState { kWaiting, kRunning, kEnded };

void container_status(json::Writer& w, const k8s::Container& container, ContainerState state,
                      const std::string& now) {
  const bool running = state == ContainerState::kRunning;
  w.begin_object()
      .key("name")
      .string(container.name)
      .key("ready")
      .boolean(running || (container.init && state == ContainerState::kEnded));
  w.key("restartCount")
      .integer(0)
      .key("image")
      .string("simulated")
      .key("imageID")
      .string("")
      .key("started")
      .boolean(running);
  w.key("state").begin_object();
  if (running) {
    w.key("running").begin_object().key("startedAt").string(now).end_object();
  } else if (state == ContainerState::kWaiting) {
    w.key("waiting").begin_object().key("reason").string("PodInitializing").end_object();
  } else {
    w.key("terminated").begin_object().key("exitCode").integer(0).key("reason").string("Completed");
    w.key("startedAt").string(now).key("finishedAt").string(now).end_object();
  }
  w.end_object().end_object();
}

void container_statuses(json::Writer& w, const k8s::Pod& pod, ContainerState apps,
                        const std::string& now) {
  for (const bool init : {true, false}) {
    w.key(init ? "initContainerStatuses" : "containerStatuses").begin_array();
    for (const k8s::Container& c : pod.containers) {
      if (c.init != init) continue;
      const bool ended_before = c.init && !c.sidecar;
      container_status(w, c, ended_before ? ContainerState::kEnded : apps, now);
    }
    w.end_array();
  }
}

std::string pod_status(const k8s::Pod& pod, std::string_view phase, ContainerState apps,
                       WallTime time) {
  const std::string now = format_rfc3339(time);
  const bool running = apps == ContainerState::kRunning;
  json::Writer w;
  w.begin_object().key("status").begin_object().key("phase").string(phase);
  if (running) w.key("startTime").string(now);
  w.key("conditions").begin_array();
  condition(w, "Initialized", "True", now);
  condition(w, "Ready", running ? "True" : "False", now, running ? "" : "PodCompleted");
  condition(w, "ContainersReady", running ? "True" : "False", now, running ? "" : "PodCompleted");
  w.end_array();
  container_statuses(w, pod, apps, now);
  w.end_object().end_object();
  return std::move(w).take();
}

}  // namespace

std::vector<core::Device> registered_devices(const AgentNode& node, Misbehaviour how) {
  std::vector<core::Device> devices = node.devices;
  for (core::Device& d : devices) {
    if (how == Misbehaviour::kUnhealthy) d.healthy = false;
    if (how == Misbehaviour::kShrunk) {
      d.memory = {d.memory.v / 2};
      d.slots = 1;
    }
  }
  return devices;
}

std::vector<std::pair<std::string, std::string>> registrations(
    const std::vector<core::Device>& devices, const AgentOptions& options) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t v = 0; v < options.vendors.size(); ++v) {
    std::vector<core::Device> own;
    for (const core::Device& d : devices)
      if (d.vendor.v == v) own.push_back(d);
    const std::string& key = options.vendors[v].register_key;
    if (!own.empty() && !key.empty()) out.emplace_back(key, vendors::encode_register_json(own));
  }
  return out;
}

std::string reported(WallTime now) {
  std::string text = format_rfc3339(now);  // 2026-08-21T08:00:00Z
  if (const std::size_t at = text.find('T'); at != std::string::npos) text[at] = ' ';
  if (!text.empty() && text.back() == 'Z') text.pop_back();
  return fmt::format("Reported {}.000000001 +0000 UTC", text);
}

std::string agent_node_object(const AgentNode& node, const AgentOptions& options, WallTime now) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Node");
  w.key("metadata").begin_object().key("name").string(node.name);
  w.key("labels").begin_object().key("kubernetes.io/hostname").string(node.name);
  w.key("kubernetes.io/arch").string("amd64").key("kubernetes.io/os").string("linux");
  for (const auto& [key, value] : node.labels) w.key(key).string(value);
  w.end_object().key("annotations").begin_object();
  for (const auto& [key, value] : registrations(node.devices, options)) w.key(key).string(value);
  for (const auto& [key, value] : node.annotations) w.key(key).string(value);
  w.end_object().end_object();
  w.key("spec").begin_object().end_object().key("status");
  node_status(w, node, options, true, format_rfc3339(now));
  w.end_object();
  return std::move(w).take();
}

std::string agent_node_status(const AgentNode& node, const AgentOptions& options, bool offered,
                              WallTime now) {
  json::Writer w;
  w.begin_object().key("status");
  node_status(w, node, options, offered, format_rfc3339(now));
  w.end_object();
  return std::move(w).take();
}

std::string annotations_patch(const std::vector<AnnotationChange>& changes, std::string_view uid,
                              std::string_view resource_version) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object();
  if (!uid.empty()) w.key("uid").string(uid);
  if (!resource_version.empty()) w.key("resourceVersion").string(resource_version);
  w.key("annotations").begin_object();
  for (const AnnotationChange& change : changes) {
    w.key(change.key);
    change.value == nullptr ? w.null() : w.string(*change.value);
  }
  w.end_object().end_object().end_object();
  return std::move(w).take();
}

std::string initialising_status(const k8s::Pod& pod, WallTime time) {
  const std::string now = format_rfc3339(time);
  json::Writer w;
  w.begin_object().key("status").begin_object().key("phase").string("Pending");
  w.key("startTime").string(now).key("conditions").begin_array();
  condition(w, "Initialized", "False", now, "ContainersNotInitialized");
  w.end_array().key("initContainerStatuses").begin_array();
  bool waits = false;
  for (const k8s::Container& c : pod.containers) {
    if (!c.init) continue;
    container_status(w, c, waits ? ContainerState::kWaiting : ContainerState::kRunning, now);
    waits = waits || !c.sidecar;
  }
  w.end_array().end_object().end_object();
  return std::move(w).take();
}

std::string running_status(const k8s::Pod& pod, WallTime now) {
  return pod_status(pod, "Running", ContainerState::kRunning, now);
}
std::string succeeded_status(const k8s::Pod& pod, WallTime now) {
  return pod_status(pod, "Succeeded", ContainerState::kEnded, now);
}

std::string failed_status(std::string_view reason, std::string_view message) {
  json::Writer w;
  w.begin_object().key("status").begin_object().key("phase").string("Failed");
  w.key("reason").string(reason).key("message").string(message).end_object().end_object();
  return std::move(w).take();
}

std::string emptied(std::string_view to_allocate) {
  const auto positions = vendors::decode_pod_devices(to_allocate);
  // Agents re-encode the piece behind the last ';' as well, so the text grows by one.
  return std::string(positions ? positions->size() : 1, ';');
}

}  // namespace tessera::sim
