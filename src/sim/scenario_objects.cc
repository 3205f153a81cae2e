#include "sim/scenario_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "json/writer.h"
#include "vendors/codec.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kCount = "nvidia.com/gpu", kMemory = "nvidia.com/gpumem";
constexpr std::string_view kPercent = "nvidia.com/gpumem-percentage",
                           kCores = "nvidia.com/gpucores";

std::int64_t limit(const ScenarioPod::Container& container, std::string_view resource,
                   std::int64_t fallback) {
  for (const auto& [name, value] : container.limits) {
    if (name == resource) return text::parse_int(value, 64).value_or(fallback);
  }
  return fallback;
}

const core::Device* find_device(const Scenario& scenario, const std::string& node,
                                const std::string& id) {
  for (const ScenarioNode& n : scenario.nodes) {
    if (n.name != node) continue;
    for (const core::Device& d : n.devices)
      if (d.id == id) return &d;
  }
  return nullptr;
}

std::int64_t memory_on(const ScenarioPod::Container& container, const core::Device* device) {
  const std::int64_t wanted = limit(container, kMemory, 0);
  if (wanted > 0) return wanted;
  const std::int64_t total = device == nullptr ? 0 : device->memory.v;
  return total * limit(container, kPercent, 100) / 100;
}

void write_map(json::Writer& w, const std::vector<std::pair<std::string, std::string>>& entries) {
  w.begin_object();
  for (const auto& [key, value] : entries) w.key(key).string(value);
  w.end_object();
}

std::vector<std::pair<std::string, std::string>> annotations_of(const Scenario& scenario,
                                                                const ScenarioPod& pod) {
  auto all = pod.annotations;
  const auto add_missing = [&](std::string_view key, const std::string& value) {
    const bool there =
        std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.first == key; });
    if (!there) all.emplace_back(key, value);
  };
  add_missing("hami.io/node-scheduler-policy", scenario.node_policy);
  add_missing("hami.io/gpu-scheduler-policy", scenario.device_policy);
  if (pod.node.empty()) return all;
  const std::string devices = device_text(scenario, pod);
  add_missing("hami.io/vgpu-node", pod.node);
  add_missing("hami.io/vgpu-devices-allocated", devices);
  add_missing("hami.io/bind-phase", "success");
  return all;
}

void write_containers(json::Writer& w, const ScenarioPod& pod, bool init) {
  w.key(init ? "initContainers" : "containers").begin_array();
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const ScenarioPod::Container& c = pod.containers[i];
    if ((c.kind != "app") != init) continue;
    w.begin_object().key("name").string(fmt::format("c{}", i)).key("image").string("none");
    if (c.kind == "sidecar") w.key("restartPolicy").string("Always");
    w.key("resources").begin_object();
    for (const char* section : {"limits", "requests"}) {
      w.key(section);
      write_map(w, c.limits);
    }
    w.end_object().end_object();
  }
  w.end_array();
}

}  // namespace

std::string node_object(const ScenarioNode& node) {
  std::int64_t slots = 0;
  for (const core::Device& d : node.devices) slots += d.slots;
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Node");
  w.key("metadata").begin_object().key("name").string(node.name).key("annotations").begin_object();
  if (node.registered) {
    w.key("hami.io/node-nvidia-register").string(vendors::encode_register_json(node.devices));
  }
  if (!node.cordoned.empty()) {
    w.key("hami.io/device-cordon").string(text::join(node.cordoned, ","));
  }
  w.end_object().end_object().key("spec").begin_object().end_object();
  w.key("status").begin_object();
  for (const char* section : {"capacity", "allocatable"}) {
    w.key(section).begin_object().key("cpu").string("64").key("memory").string("256Gi");
    w.key("pods").string("110");
    w.key(kCount).string(std::to_string(node.offered ? slots : 0)).end_object();
  }
  w.key("conditions").begin_array().begin_object();
  w.key("type").string("Ready").key("status").string("True");
  w.end_object().end_array().end_object().end_object();
  return std::move(w).take();
}

std::string pod_object(const Scenario& scenario, const ScenarioPod& pod, const std::string& uid) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Pod");
  w.key("metadata").begin_object().key("name").string(pod.name);
  w.key("namespace").string(kScenarioNamespace);
  if (!uid.empty()) w.key("uid").string(uid);
  w.key("annotations");
  write_map(w, annotations_of(scenario, pod));
  w.end_object();
  w.key("spec").begin_object().key("schedulerName").string("hami-scheduler");
  if (!pod.node.empty()) w.key("nodeName").string(pod.node);
  write_containers(w, pod, true);
  write_containers(w, pod, false);
  w.end_object();
  w.key("status").begin_object();
  w.key("phase").string(pod.node.empty() ? "Pending" : "Running").end_object().end_object();
  return std::move(w).take();
}

std::string device_text(const Scenario& scenario, const ScenarioPod& pod) {
  std::vector<std::vector<vendors::DeviceText>> positions;
  for (std::size_t i = 0; i < pod.cards.size(); ++i) {
    positions.emplace_back();
    for (const std::string& id : pod.cards[i]) {
      const std::int64_t memory = memory_on(pod.containers[i], find_device(scenario, pod.node, id));
      positions.back().push_back({id, "NVIDIA", memory, limit(pod.containers[i], kCores, 0)});
    }
  }
  return vendors::encode_pod_devices(positions);
}

}  // namespace tessera::sim
