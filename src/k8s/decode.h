/// From JSON to the trimmed objects. Errors name the field and the value:
/// `spec.containers[1].resources.limits["example.com/card"]: …`. A wrong type in a field that we do
/// not need is not an error. Thread rule: pure functions.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "json/reader.h"
#include "k8s/objects.h"

namespace tessera::k8s {

Result<Pod> decode_pod(json::Value object, const Keep& keep = {});
/// The same into memory that was used before: a pod like the last one asks the heap for nothing.
/// After an error the pod is good for nothing but being read into again.
Status read_pod(json::Value object, const Keep& keep, Pod& into);
/// Whether a container of the pod names, in its limits or requests, a resource that is wanted:
/// decode_pod that keeps those alone would show it. True also for containers and amounts that are
/// not of the right kind, which decode_pod refuses. Most pods of a cluster need nothing more.
bool names_resource(json::Value pod, const std::function<bool(std::string_view name)>& wanted);
Result<Node> decode_node(json::Value object, const Keep& keep = {});
Result<Lease> decode_lease(json::Value object);
Result<ResourceQuota> decode_quota(json::Value object, const Keep& keep = {});
Result<PodDisruptionBudget> decode_budget(json::Value object);
Result<ObjectMeta> decode_meta(json::Value object);

}  // namespace tessera::k8s
