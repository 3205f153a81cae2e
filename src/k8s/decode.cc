#include "k8s/decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"
#include "base/text.h"
#include "k8s/fields.h"

namespace tessera::k8s {
namespace {

constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";

/// Times that only order pods: one that cannot be read is as good as none.
std::optional<WallTime> read_time(json::Value value) {
  const auto text = value.string();
  if (!text) return std::nullopt;
  const auto time = parse_rfc3339(*text);
  return time ? std::optional<WallTime>(*time) : std::nullopt;
}

Status read_pod_meta(json::Value object, const Keep& keep, Pod& pod) {
  FieldReader meta(object, "metadata");
  meta.string("namespace", pod.ns);
  meta.string("name", pod.name);
  meta.string("generateName", pod.generate_name);
  meta.string("uid", pod.uid);
  meta.string("resourceVersion", pod.resource_version);
  meta.map("annotations", keep.annotation, pod.annotations);
  meta.map("labels", keep.label, pod.labels);
  pod.has_annotations = !meta.object("annotations").missing();
  pod.terminating = !meta.text("deletionTimestamp").empty();
  pod.created = read_time(object["creationTimestamp"]);
  FieldReader labels(meta.object("labels"), "metadata.labels");
  labels.string(kPodGroupLabel, pod.pod_group);
  return meta.status() ? labels.status() : meta.status();
}

/// cpu or memory above 0: what quality of service goes by. A text that is no quantity counts as
/// asked.
bool asks_compute(json::Value amounts) {
  for (const std::string_view name : {"cpu", "memory"}) {
    const json::Value value = amounts[name];
    if (value.is_null_or_missing()) continue;
    const auto text = value.string() ? value.string() : value.literal();
    const auto quantity = Quantity::parse(text.value_or(""));
    if (!quantity || (!quantity->negative() && quantity->rounded() > 0)) return true;
  }
  return false;
}

bool asks_compute_in(json::Value resources) {
  return asks_compute(resources["limits"]) || asks_compute(resources["requests"]);
}

/// Everything as in a new object, but the memory of the texts stays.
void forget(Container& container) {
  Container fresh;
  fresh.name = std::move(container.name);
  fresh.name.clear();
  fresh.limits = std::move(container.limits);  // written over entry by entry
  fresh.requests = std::move(container.requests);
  container = std::move(fresh);
}

void forget(Pod& pod) {
  Pod fresh;
  for (const auto text :
       {&Pod::ns, &Pod::name, &Pod::generate_name, &Pod::uid, &Pod::resource_version,
        &Pod::node_name, &Pod::scheduler_name, &Pod::runtime_class, &Pod::priority_class,
        &Pod::pod_group, &Pod::nominated_node}) {
    fresh.*text = std::move(pod.*text);
    (fresh.*text).clear();
  }
  fresh.annotations = std::move(pod.annotations);
  fresh.labels = std::move(pod.labels);
  fresh.containers = std::move(pod.containers);
  pod = std::move(fresh);
}

void read_container(FieldReader& fields, bool init, const Keep& keep, Container& container) {
  forget(container);
  container.init = init;
  fields.string("name", container.name);
  container.sidecar = fields.text("restartPolicy") == "Always" && init;
  container.has_env = !fields.array("env").missing();

  FieldReader security(fields.object("securityContext"), fields, "securityContext");
  security.boolean("privileged", container.privileged);

  const json::Value resources = fields.object("resources");
  container.has_resources = !resources.missing();
  container.asks_compute = asks_compute_in(resources);
  FieldReader amounts(resources, fields, "resources");
  container.has_limits = !amounts.object("limits").missing();
  amounts.quantities("limits", keep.resource, container.limits);
  amounts.quantities("requests", keep.resource, container.requests);

  for (const FieldReader* part : {&security, &amounts})
    if (!part->status()) fields.fail_with(part->status().error());
}

/// `count`: of pod.containers, how many were read; what lies behind them is from an earlier pod.
void read_containers(FieldReader& spec, std::string_view key, bool init, const Keep& keep, Pod& pod,
                     std::size_t& count) {
  std::size_t index = 0;
  spec.array(key).for_each_element([&](json::Value element) {
    FieldReader fields(element, spec, key, index++);
    if (element.kind() != json::Kind::kObject) {
      spec.fail_with(wrong_kind(fields.path(), "an object", element));
      return;
    }
    if (count == pod.containers.size()) pod.containers.emplace_back();
    read_container(fields, init, keep, pod.containers[count]);
    ++count;
    if (!fields.status()) spec.fail_with(fields.status().error());
  });
}

Status read_pod_spec(json::Value object, const Keep& keep, Pod& pod) {
  FieldReader spec(object, "spec");
  spec.string("nodeName", pod.node_name);
  spec.string("schedulerName", pod.scheduler_name);
  spec.string("runtimeClassName", pod.runtime_class);
  spec.string("priorityClassName", pod.priority_class);
  spec.integer("priority", pod.priority);
  spec.integer("terminationGracePeriodSeconds", pod.grace_seconds);
  pod.never_preempts = spec.text("preemptionPolicy") == "Never";
  std::size_t count = 0;
  read_containers(spec, "initContainers", true, keep, pod, count);
  read_containers(spec, "containers", false, keep, pod, count);
  pod.containers.resize(count);
  pod.has_deadline = !object["activeDeadlineSeconds"].is_null_or_missing();
  pod.best_effort = !asks_compute_in(object["resources"]) &&
                    std::none_of(pod.containers.begin(), pod.containers.end(),
                                 [](const Container& c) { return c.asks_compute; });
  if (pod.pod_group.empty()) {
    FieldReader group(spec.object("schedulingGroup"), spec, "schedulingGroup");
    group.string("podGroupName", pod.pod_group);
    if (!group.status()) spec.fail_with(group.status().error());
  }
  return spec.status();
}

Phase to_phase(std::string_view text) {
  if (text == "Pending") return Phase::kPending;
  if (text == "Running") return Phase::kRunning;
  if (text == "Succeeded") return Phase::kSucceeded;
  if (text == "Failed") return Phase::kFailed;
  return Phase::kUnknown;
}

bool ended_well(json::Value status) {
  return status["state"]["terminated"]["exitCode"].integer() == 0;
}

/// A sidecar never ends, so it has no say; every other init container must have ended, not only
/// those that have a status yet.
bool init_containers_finished(json::Value statuses, const Pod& pod) {
  std::size_t waiting_for = 0;
  for (const Container& container : pod.containers) {
    if (!container.init || container.sidecar) continue;
    ++waiting_for;
    bool ended = false;
    statuses.for_each_element([&](json::Value status) {
      if (status["name"].string() == container.name) ended = ended_well(status);
    });
    if (!ended) return false;
  }
  return waiting_for > 0;
}

void read_condition(FieldReader& status, std::size_t index, json::Value condition, Pod& pod) {
  if (condition["type"].string() != "PodScheduled") return;
  if (condition["status"].string() != "False") return;
  FieldReader fields(condition, status, "conditions", index);
  const std::string_view since = fields.text("lastTransitionTime");
  if (!fields.status()) return status.fail_with(fields.status().error());
  if (since.empty()) return;
  if (const auto time = parse_rfc3339(since)) {
    pod.unschedulable_since = *time;
  } else {
    status.fail_with(
        {Code::kInvalid, fields.path("lastTransitionTime") + ": " + time.error().what});
  }
}

Status read_pod_status(json::Value object, Pod& pod) {
  FieldReader status(object, "status");
  pod.phase = to_phase(status.text("phase"));
  // Once given, the API server keeps the class even when the amounts change.
  const std::string_view service_class = status.text("qosClass");
  if (!service_class.empty()) pod.best_effort = service_class == "BestEffort";
  status.string("nominatedNodeName", pod.nominated_node);
  pod.started = read_time(object["startTime"]);
  pod.init_finished = init_containers_finished(status.array("initContainerStatuses"), pod);
  std::size_t index = 0;
  status.array("conditions").for_each_element([&](json::Value condition) {
    read_condition(status, index++, condition, pod);
  });
  return status.status();
}

Status expect_object(json::Value object, std::string_view what) {
  if (object.kind() == json::Kind::kObject) return {};
  return tl::unexpected(wrong_kind(what, "an object", object));
}

}  // namespace

const std::string* find(const StringMap& map, std::string_view key) {
  const auto at =
      std::find_if(map.begin(), map.end(), [&](const auto& entry) { return entry.first == key; });
  return at == map.end() ? nullptr : &at->second;
}

std::size_t Pod::init_count() const {
  return static_cast<std::size_t>(std::count_if(containers.begin(), containers.end(),
                                                [](const Container& c) { return c.init; }));
}

Result<Pod> decode_pod(json::Value object, const Keep& keep) {
  Pod pod;
  if (Status status = read_pod(object, keep, pod); !status)
    return tl::unexpected(std::move(status.error()));
  return pod;
}

Status read_pod(json::Value object, const Keep& keep, Pod& into) {
  forget(into);
  Status status = expect_object(object, "pod");
  if (status) status = read_pod_meta(object["metadata"], keep, into);
  if (status) status = read_pod_spec(object["spec"], keep, into);
  if (status) status = read_pod_status(object["status"], into);
  return status;
}

Result<Node> decode_node(json::Value object, const Keep& keep) {
  if (const Status status = expect_object(object, "node"); !status) {
    return tl::unexpected(status.error());
  }
  Node node;
  FieldReader meta(object["metadata"], "metadata");
  meta.string("name", node.name);
  meta.string("uid", node.uid);
  meta.string("resourceVersion", node.resource_version);
  meta.map("annotations", keep.annotation, node.annotations);
  meta.map("labels", keep.label, node.labels);
  FieldReader status(object["status"], "status");
  status.quantities("allocatable", keep.resource, node.allocatable);
  status.quantities("capacity", keep.resource, node.capacity);
  for (const FieldReader* part : {&meta, &status}) {
    if (!part->status()) return tl::unexpected(part->status().error());
  }
  return node;
}

Result<Lease> decode_lease(json::Value object) {
  if (const Status status = expect_object(object, "lease"); !status) {
    return tl::unexpected(status.error());
  }
  Lease lease;
  FieldReader meta(object["metadata"], "metadata");
  meta.string("namespace", lease.ns);
  meta.string("name", lease.name);
  meta.string("uid", lease.uid);
  meta.string("resourceVersion", lease.resource_version);
  FieldReader spec(object["spec"], "spec");
  spec.string("holderIdentity", lease.holder);
  spec.integer("leaseDurationSeconds", lease.duration_seconds);
  spec.string("renewTime", lease.renew_time);
  for (const FieldReader* part : {&meta, &spec}) {
    if (!part->status()) return tl::unexpected(part->status().error());
  }
  return lease;
}

Result<ObjectMeta> decode_meta(json::Value object) {
  if (const Status status = expect_object(object, "object"); !status) {
    return tl::unexpected(status.error());
  }
  ObjectMeta result;
  FieldReader meta(object["metadata"], "metadata");
  meta.string("namespace", result.ns);
  meta.string("name", result.name);
  meta.string("uid", result.uid);
  meta.string("resourceVersion", result.resource_version);
  if (!meta.status()) return tl::unexpected(meta.status().error());
  return result;
}

}  // namespace tessera::k8s
