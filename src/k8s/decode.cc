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
  std::string deleted;
  meta.string("deletionTimestamp", deleted);
  pod.terminating = !deleted.empty();
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

Result<Container> read_container(json::Value object, const std::string& path, bool init,
                                 const Keep& keep) {
  if (object.kind() != json::Kind::kObject) {
    return tl::unexpected(wrong_kind(path, "an object", object));
  }
  Container container;
  container.init = init;
  FieldReader fields(object, path);
  fields.string("name", container.name);
  std::string restart_policy;
  fields.string("restartPolicy", restart_policy);
  container.sidecar = init && restart_policy == "Always";
  container.has_env = !fields.array("env").missing();

  FieldReader security(fields.object("securityContext"), fields.path("securityContext"));
  security.boolean("privileged", container.privileged);

  const json::Value resources = fields.object("resources");
  container.has_resources = !resources.missing();
  container.asks_compute = asks_compute_in(resources);
  FieldReader amounts(resources, fields.path("resources"));
  container.has_limits = !amounts.object("limits").missing();
  amounts.quantities("limits", keep.resource, container.limits);
  amounts.quantities("requests", keep.resource, container.requests);

  for (const FieldReader* part : {&fields, &security, &amounts}) {
    if (!part->status()) return tl::unexpected(part->status().error());
  }
  return container;
}

void read_containers(FieldReader& spec, std::string_view key, bool init, const Keep& keep,
                     Pod& pod) {
  std::size_t index = 0;
  spec.array(key).for_each_element([&](json::Value element) {
    auto container =
        read_container(element, fmt::format("{}[{}]", spec.path(key), index++), init, keep);
    if (container) {
      pod.containers.push_back(std::move(*container));
    } else {
      spec.fail_with(std::move(container.error()));
    }
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
  std::string preemption;
  spec.string("preemptionPolicy", preemption);
  pod.never_preempts = preemption == "Never";
  read_containers(spec, "initContainers", true, keep, pod);
  read_containers(spec, "containers", false, keep, pod);
  pod.has_deadline = !object["activeDeadlineSeconds"].is_null_or_missing();
  pod.best_effort = !asks_compute_in(object["resources"]) &&
                    std::none_of(pod.containers.begin(), pod.containers.end(),
                                 [](const Container& c) { return c.asks_compute; });
  if (pod.pod_group.empty()) {
    FieldReader group(spec.object("schedulingGroup"), spec.path("schedulingGroup"));
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

Status read_condition(json::Value condition, const std::string& path, Pod& pod) {
  if (condition["type"].string() != "PodScheduled") return {};
  if (condition["status"].string() != "False") return {};
  FieldReader fields(condition, path);
  std::string since;
  fields.string("lastTransitionTime", since);
  if (!fields.status() || since.empty()) return fields.status();
  const auto time = parse_rfc3339(since);
  if (!time) {
    return fail(Code::kInvalid, fields.path("lastTransitionTime") + ": " + time.error().what);
  }
  pod.unschedulable_since = *time;
  return {};
}

Status read_pod_status(json::Value object, Pod& pod) {
  FieldReader status(object, "status");
  std::string phase;
  status.string("phase", phase);
  // Once given, the API server keeps the class even when the amounts change.
  std::string service_class;
  status.string("qosClass", service_class);
  if (!service_class.empty()) pod.best_effort = service_class == "BestEffort";
  pod.phase = to_phase(phase);
  status.string("nominatedNodeName", pod.nominated_node);
  pod.started = read_time(object["startTime"]);
  pod.init_finished = init_containers_finished(status.array("initContainerStatuses"), pod);
  std::size_t index = 0;
  status.array("conditions").for_each_element([&](json::Value condition) {
    const std::string path = fmt::format("{}[{}]", status.path("conditions"), index++);
    if (Status read = read_condition(condition, path, pod); !read) {
      status.fail_with(std::move(read.error()));
    }
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
  Status status = expect_object(object, "pod");
  if (status) status = read_pod_meta(object["metadata"], keep, pod);
  if (status) status = read_pod_spec(object["spec"], keep, pod);
  if (status) status = read_pod_status(object["status"], pod);
  if (!status) return tl::unexpected(std::move(status.error()));
  return pod;
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
