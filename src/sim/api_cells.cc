#include "sim/api_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "base/text.h"
#include "sim/api_table.h"

namespace tessera::sim::api {
namespace {

std::string since(const Value& timestamp, WallTime now) {
  const auto time = parse_rfc3339(timestamp.text());
  if (!time) return "<unknown>";
  return short_duration(std::chrono::duration_cast<std::chrono::seconds>(now - *time));
}

std::string age(const StoredObject& object, WallTime now) {
  return since(object.value["metadata"]["creationTimestamp"], now);
}

std::string or_else(const Value& value, std::string_view instead) {
  return value.text().empty() ? std::string(instead) : value.text();
}

/// "Waiting" and "terminated" reasons of the containers speak louder than the phase.
std::string container_reason(const Value& statuses, std::string reason) {
  for (const Value& status : statuses.items()) {
    const Value& state = status["state"];
    const std::string& waiting = state["waiting"]["reason"].text();
    if (!waiting.empty()) {
      reason = waiting;
    } else if (state.has("terminated")) {
      const Value& ended = state["terminated"];
      const std::int64_t code = ended["exitCode"].integer().value_or(0);
      reason = or_else(ended["reason"], fmt::format("ExitCode:{}", code));
    }
  }
  return reason;
}

std::string pod_status(const Value& pod) {
  const Value& status = pod["status"];
  if (pod["metadata"].has("deletionTimestamp")) return "Terminating";
  std::string reason = or_else(status["reason"], status["phase"].text());
  if (!pod["spec"]["schedulingGates"].items().empty()) reason = "SchedulingGated";
  return container_reason(status["containerStatuses"], reason);
}

const Value& condition(const Value& object, std::string_view type) {
  static const Value kNone;
  for (const Value& entry : object["status"]["conditions"].items())
    if (entry["type"].text() == type) return entry;
  return kNone;
}

std::string node_status(const Value& node) {
  const std::string& ready = condition(node, "Ready")["status"].text();
  std::string status = ready.empty() ? "Unknown" : ready == "True" ? "Ready" : "NotReady";
  if (node["spec"]["unschedulable"].is_true()) status += ",SchedulingDisabled";
  return status;
}

std::string node_roles(const Value& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [label, value] : node["metadata"]["labels"].members()) {
    if (label.starts_with(kPrefix)) roles.push_back(label.substr(kPrefix.size()));
    if (label == "kubernetes.io/role") roles.push_back(value.text());
  }
  std::sort(roles.begin(), roles.end());
  return roles.empty() ? "<none>" : text::join(roles, ",");
}

std::string node_address(const Value& node, std::string_view type) {
  for (const Value& address : node["status"]["addresses"].items())
    if (address["type"].text() == type) return address["address"].text();
  return "<none>";
}

std::string event_source(const Value& event) {
  const Value& source = event["source"];
  const bool old_form = !source["component"].text().empty();
  std::string name = old_form ? source["component"].text() : event["reportingComponent"].text();
  const std::string& place = old_form ? source["host"].text() : event["reportingInstance"].text();
  if (!place.empty()) name += ", " + place;
  return name;
}

/// The first of the fields that holds a time.
const Value& event_time(const Value& event, std::initializer_list<const char*> fields) {
  for (const char* field : fields)
    if (!event[field].text().empty()) return event[field];
  return event["metadata"]["creationTimestamp"];
}

std::string quota_use(const Value& quota, bool limits) {
  std::vector<std::string> parts;
  for (const auto& [name, hard] : quota["status"]["hard"].members())
    if (name.starts_with("limits.") == limits)
      parts.push_back(
          fmt::format("{}: {}/{}", name, or_else(quota["status"]["used"][name], "0"), hard.text()));
  std::sort(parts.begin(), parts.end());
  return text::join(parts, ", ");
}

std::string service_ports(const Value& service) {
  std::vector<std::string> ports;
  for (const Value& port : service["spec"]["ports"].items())
    ports.push_back(fmt::format("{}/{}", port["port"].dump(), or_else(port["protocol"], "TCP")));
  return ports.empty() ? "<none>" : text::join(ports, ",");
}

}  // namespace

std::vector<Value> pod_cells(const StoredObject& pod, WallTime now) {
  const Value& spec = pod.value["spec"];
  const Value& status = pod.value["status"];
  std::int64_t ready = 0, restarts = 0;
  for (const Value& container : status["containerStatuses"].items()) {
    ready += container["ready"].is_true() ? 1 : 0;
    restarts += container["restartCount"].integer().value_or(0);
  }
  return {pod.name,
          fmt::format("{}/{}", ready, spec["containers"].items().size()),
          pod_status(pod.value),
          std::to_string(restarts),
          age(pod, now),
          or_else(status["podIP"], "<none>"),
          or_else(spec["nodeName"], "<none>"),
          or_else(status["nominatedNodeName"], "<none>"),
          "<none>"};
}

std::vector<Value> node_cells(const StoredObject& node, WallTime now) {
  const Value& info = node.value["status"]["nodeInfo"];
  return {node.name,
          node_status(node.value),
          node_roles(node.value),
          age(node, now),
          info["kubeletVersion"].text(),
          node_address(node.value, "InternalIP"),
          node_address(node.value, "ExternalIP"),
          or_else(info["osImage"], "<unknown>"),
          or_else(info["kernelVersion"], "<unknown>"),
          or_else(info["containerRuntimeVersion"], "<unknown>")};
}

std::vector<Value> namespace_cells(const StoredObject& space, WallTime now) {
  return {space.name, space.value["status"]["phase"].text(), age(space, now)};
}

std::vector<Value> event_cells(const StoredObject& event, WallTime now) {
  const Value& value = event.value;
  const Value& object = value["involvedObject"];
  const std::int64_t count = value["count"].integer().value_or(1);
  return {since(event_time(value, {"lastTimestamp", "eventTime", "firstTimestamp"}), now),
          value["type"].text(),
          value["reason"].text(),
          text::lower(object["kind"].text()) + "/" + object["name"].text(),
          object["fieldPath"].text(),
          event_source(value),
          std::string(text::trim(value["message"].text())),
          since(event_time(value, {"firstTimestamp", "eventTime"}), now),
          count,
          event.name};
}

std::vector<Value> quota_cells(const StoredObject& quota, WallTime now) {
  return {quota.name, quota_use(quota.value, false), quota_use(quota.value, true), age(quota, now)};
}

std::vector<Value> lease_cells(const StoredObject& lease, WallTime now) {
  return {lease.name, lease.value["spec"]["holderIdentity"].text(), age(lease, now)};
}

std::vector<Value> config_map_cells(const StoredObject& map, WallTime now) {
  const std::size_t entries =
      map.value["data"].members().size() + map.value["binaryData"].members().size();
  return {map.name, entries, age(map, now)};
}

std::vector<Value> secret_cells(const StoredObject& secret, WallTime now) {
  return {secret.name, or_else(secret.value["type"], "Opaque"),
          secret.value["data"].members().size(), age(secret, now)};
}

std::vector<Value> service_cells(const StoredObject& service, WallTime now) {
  const Value& spec = service.value["spec"];
  return {service.name, spec["type"].text(),          or_else(spec["clusterIP"], "<none>"),
          "<none>",     service_ports(service.value), age(service, now)};
}

std::vector<Value> priority_class_cells(const StoredObject& priority_class, WallTime now) {
  return {priority_class.name, priority_class.value["value"], age(priority_class, now)};
}

std::vector<Value> other_cells(const StoredObject& object, WallTime now) {
  return {object.name, age(object, now)};
}

}  // namespace tessera::sim::api
