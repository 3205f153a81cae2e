#include "sim/scenario_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "json/writer.h"
#include "vendors/codec.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kMemory = "nvidia.com/gpumem";
constexpr std::string_view kPercent = "nvidia.com/gpumem-percentage",
                           kCores = "nvidia.com/gpucores";
constexpr std::string_view kScoreKey = "hami.io/node-nvidia-score";
constexpr std::string_view kCordonKey = "hami.io/device-cordon";

using Pairs = std::vector<std::pair<std::string, std::string>>;

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

const core::MigProfile* find_profile(const core::Device& device, const std::string& name) {
  if (device.mig == nullptr) return nullptr;
  const auto found = std::find_if(device.mig->begin(), device.mig->end(),
                                  [&](const core::MigProfile& p) { return p.name == name; });
  return found == device.mig->end() ? nullptr : &*found;
}

/// What the pod holds of one card, when the file does not say it.
vendors::DeviceText held_by_limits(const ScenarioPod::Container& container,
                                   const core::Device& device) {
  if (device.vendor.v != 0)
    return {device.id, {}, device.memory.v, device.cores.v};  // the whole card
  const std::int64_t wanted = limit(container, kMemory, 0);
  const std::int64_t memory =
      wanted > 0 ? wanted : device.memory.v * limit(container, kPercent, 100) / 100;
  return {device.id, {}, memory, limit(container, kCores, 0)};
}

vendors::DeviceText held_text(const ScenarioPod::Container& container,
                              const ScenarioPod::Held& held, const core::Device& device) {
  vendors::DeviceText text = held_by_limits(container, device);
  if (const core::MigProfile* profile = find_profile(device, held.profile)) {
    text.memory = profile->memory.v;
    text.cores = profile->cores.v;
  }
  text.memory = held.memory.value_or(text.memory);
  text.cores = held.cores.value_or(text.cores);
  return text;
}

void write_map(json::Writer& w, const Pairs& entries) {
  w.begin_object();
  for (const auto& [key, value] : entries) w.key(key).string(value);
  w.end_object();
}

void add_missing(Pairs& all, std::string_view key, const std::string& value) {
  const bool there =
      std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.first == key; });
  if (!there && !value.empty()) all.emplace_back(key, value);
}

Pairs annotations_of(const Scenario& scenario, const ScenarioPod& pod) {
  Pairs all = pod.annotations;
  add_missing(all, "hami.io/node-scheduler-policy", scenario.node_policy);
  add_missing(all, "hami.io/gpu-scheduler-policy", scenario.device_policy);
  if (pod.node.empty()) return all;
  add_missing(all, "hami.io/vgpu-node", pod.node);
  for (std::size_t v = 0; v < scenario.vendors.size(); ++v)
    add_missing(all, scenario.vendors[v].allocated_key, device_text(scenario, pod, v));
  add_missing(all, scenario.vendors[0].mig_key, instances_text(scenario, pod));
  add_missing(all, "hami.io/bind-phase", "success");
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

void write_init_statuses(json::Writer& w, const ScenarioPod& pod) {
  w.key("initContainerStatuses").begin_array();
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const std::string& kind = pod.containers[i].kind;
    if (kind == "app") continue;
    w.begin_object().key("name").string(fmt::format("c{}", i)).key("state").begin_object();
    w.key(kind == "init" ? "terminated" : "running").begin_object();
    if (kind == "init") w.key("exitCode").integer(0);
    w.end_object().end_object().end_object();
  }
  w.end_array();
}

std::string scores_text(const ScenarioNode& node) {
  json::Writer w;
  w.begin_array();
  for (const core::Device& d : node.devices) {
    w.begin_object().key("uuid").string(d.id).key("score").begin_object();
    for (const ScenarioNode::Link& link : node.links)
      if (link.from == d.id) w.key(link.to).integer(link.score);
    w.end_object().end_object();
  }
  w.end_array();
  return std::move(w).take();
}

std::vector<core::Device> cards_of(const ScenarioNode& node, std::size_t vendor) {
  std::vector<core::Device> own;
  for (const core::Device& d : node.devices)
    if (d.vendor.v == vendor) own.push_back(d);
  return own;
}

/// Every annotation that a scenario can give a node; "" = not there.
Pairs node_annotations(const Scenario& scenario, const ScenarioNode& node) {
  Pairs all;
  for (std::size_t v = 0; v < scenario.vendors.size(); ++v) {
    const AgentVendor& vendor = scenario.vendors[v];
    if (vendor.register_key.empty()) continue;
    const std::vector<core::Device> own = cards_of(node, v);
    const bool there = node.registered && !own.empty();
    all.emplace_back(vendor.register_key, there ? vendors::encode_register_json(own) : "");
  }
  all.emplace_back(kScoreKey, node.links.empty() ? "" : scores_text(node));
  all.emplace_back(kCordonKey, text::join(node.cordoned, ","));
  all.insert(all.end(), node.annotations.begin(), node.annotations.end());
  return all;
}

void write_resources(json::Writer& w, const Scenario& scenario, const ScenarioNode& node) {
  for (const char* section : {"capacity", "allocatable"}) {
    w.key(section).begin_object().key("cpu").string("64").key("memory").string("256Gi");
    w.key("pods").string("110");
    for (std::size_t v = 0; v < scenario.vendors.size(); ++v) {
      std::int64_t units = 0;
      for (const core::Device& d : cards_of(node, v))
        units += scenario.vendors[v].capacity_counts_cards ? 1 : d.slots;
      if (v == 0 || units > 0)
        w.key(scenario.vendors[v].count_resource).string(std::to_string(node.offered ? units : 0));
    }
    w.end_object();
  }
}

}  // namespace

std::string node_object(const Scenario& scenario, const ScenarioNode& node) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Node");
  w.key("metadata").begin_object().key("name").string(node.name).key("labels");
  write_map(w, node.labels);
  w.key("annotations").begin_object();
  for (const auto& [key, value] : node_annotations(scenario, node))
    if (!value.empty()) w.key(key).string(value);
  w.end_object().end_object().key("spec").begin_object().end_object();
  w.key("status").begin_object();
  write_resources(w, scenario, node);
  w.key("conditions").begin_array().begin_object();
  w.key("type").string("Ready").key("status").string("True");
  w.end_object().end_array().end_object().end_object();
  return std::move(w).take();
}

std::string node_patch(const Scenario& scenario, const ScenarioNode& node) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("labels");
  write_map(w, node.labels);
  w.key("annotations").begin_object();
  for (const auto& [key, value] : node_annotations(scenario, node)) {
    w.key(key);
    value.empty() ? w.null() : w.string(value);
  }
  w.end_object().end_object().end_object();
  return std::move(w).take();
}

std::string node_status_patch(const Scenario& scenario, const ScenarioNode& node) {
  json::Writer w;
  w.begin_object().key("status").begin_object();
  write_resources(w, scenario, node);
  w.end_object().end_object();
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
  if (!pod.priority_class.empty()) w.key("priorityClassName").string(pod.priority_class);
  if (pod.deadline_seconds > 0) w.key("activeDeadlineSeconds").integer(pod.deadline_seconds);
  if (!pod.node.empty()) w.key("nodeName").string(pod.node);
  write_containers(w, pod, true);
  write_containers(w, pod, false);
  w.end_object();
  w.key("status").begin_object();
  if (pod.init_done) write_init_statuses(w, pod);
  w.key("phase").string(pod.node.empty() ? "Pending" : "Running").end_object().end_object();
  return std::move(w).take();
}

std::string init_done_patch(const ScenarioPod& pod) {
  json::Writer w;
  w.begin_object().key("status").begin_object();
  write_init_statuses(w, pod);
  w.end_object().end_object();
  return std::move(w).take();
}

std::string quota_object(const ScenarioQuota& quota) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("ResourceQuota");
  w.key("metadata").begin_object().key("name").string(quota.name);
  w.key("namespace").string(kScenarioNamespace).end_object();
  w.key("spec").begin_object().key("hard");
  write_map(w, quota.hard);
  if (!quota.scopes.empty()) {
    w.key("scopes").begin_array();
    for (const std::string& scope : quota.scopes) w.string(scope);
    w.end_array();
  }
  if (!quota.priority_classes.empty()) {
    w.key("scopeSelector").begin_object().key("matchExpressions").begin_array().begin_object();
    w.key("scopeName").string("PriorityClass").key("operator").string("In");
    w.key("values").begin_array();
    for (const std::string& name : quota.priority_classes) w.string(name);
    w.end_array().end_object().end_array().end_object();
  }
  w.end_object().end_object();
  return std::move(w).take();
}

std::string device_text(const Scenario& scenario, const ScenarioPod& pod, std::size_t vendor) {
  std::vector<std::vector<vendors::DeviceText>> positions;
  bool any = vendor == 0 && !pod.cards.empty();
  for (std::size_t i = 0; i < pod.cards.size(); ++i) {
    positions.emplace_back();
    for (const ScenarioPod::Held& held : pod.cards[i]) {
      const core::Device* device = find_device(scenario, pod.node, held.id);
      if (device == nullptr || device->vendor.v != vendor) continue;
      positions.back().push_back(held_text(pod.containers[i], held, *device));
      positions.back().back().type = scenario.vendors[vendor].word;
      any = true;
    }
  }
  return any ? vendors::encode_pod_devices(positions) : std::string();
}

std::string instances_text(const Scenario& scenario, const ScenarioPod& pod) {
  json::Writer w;
  w.begin_array();
  bool any = false;
  for (std::size_t c = 0; c < pod.cards.size(); ++c) {
    for (std::size_t d = 0; d < pod.cards[c].size(); ++d) {
      const ScenarioPod::Held& held = pod.cards[c][d];
      const core::Device* device = find_device(scenario, pod.node, held.id);
      const core::MigProfile* profile =
          device == nullptr ? nullptr : find_profile(*device, held.profile);
      if (profile == nullptr || profile->placements.empty()) continue;
      any = true;
      w.begin_object().key("containerIndex").integer(static_cast<std::int64_t>(c));
      w.key("deviceIndex").integer(static_cast<std::int64_t>(d)).key("gpuUUID").string(held.id);
      w.key("profile").string(held.profile).key("placement").begin_object();
      w.key("start").integer(held.start).key("size").integer(profile->placements.front().size);
      w.end_object().end_object();
    }
  }
  w.end_array();
  return any ? std::move(w).take() : std::string();
}

}  // namespace tessera::sim
