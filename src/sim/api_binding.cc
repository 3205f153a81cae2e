#include <fmt/format.h>

#include "sim/api_engine.h"

namespace tessera::sim::api {
namespace {

/// Annotations and labels of the Binding join the pod's in the same write; others stay.
void merge_map(Value& pod, const Value& binding, std::string_view field) {
  const Value& source = binding["metadata"][field];
  if (source.members().empty()) return;
  Value& target = pod.make("metadata").make(field);
  for (const auto& [key, value] : source.members()) target.make(key) = value;
}

Reply refused(std::string_view pod, std::string_view why) {
  const std::string message =
      fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": {}", pod, why);
  return failure(409, "Conflict", message, "pods/binding", pod);
}

std::optional<Reply> check_bindable(const StoredObject& pod, const Value& binding) {
  const Value& metadata = pod.value["metadata"];
  const std::string& uid = binding["metadata"]["uid"].text();
  if (!uid.empty() && uid != metadata["uid"].text())
    return conflict(*pod.resource, pod.name,
                    fmt::format("StorageError: invalid object, Code: 4, Key: /registry/pods/{}/{}, "
                                "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID "
                                "in precondition: {}, UID in object meta: {}",
                                pod.space, pod.name, uid, metadata["uid"].text()));
  const std::string& version = binding["metadata"]["resourceVersion"].text();
  if (!version.empty() && version != std::to_string(pod.version))
    return stale_version(*pod.resource, pod.name);
  if (metadata.has("deletionTimestamp"))
    return refused(pod.name,
                   fmt::format("pod {} is being deleted, cannot be assigned to a host", pod.name));
  const std::string& node = pod.value["spec"]["nodeName"].text();
  if (!node.empty())
    return refused(pod.name,
                   fmt::format("pod {} is already assigned to node \"{}\"", pod.name, node));
  if (!pod.value["spec"]["schedulingGates"].items().empty())
    return refused(pod.name, fmt::format("pod {} has non-empty .spec.schedulingGates", pod.name));
  return std::nullopt;
}

}  // namespace

Reply Engine::bind(const Call& call, const Target& target) {
  auto binding = call.decoded_body();
  if (!binding) return bad_request(fmt::format("Binding: {}", binding.error().what));
  if (auto wrong = check_shape(core_resource("bindings"), *binding)) return std::move(*wrong);
  const std::string& named = (*binding)["metadata"]["name"].text();
  const std::string name = target.name.empty() ? named : target.name;
  if (!named.empty() && named != name)
    return bad_request(
        fmt::format("name in URL does not match name in Binding object: {} and {}", name, named));
  const std::string& node = (*binding)["target"]["name"].text();
  // an API server answers this one with 500, and a client should meet the same
  if (node.empty()) return failure(500, "", "target.name: Required value");
  const std::string& kind = (*binding)["target"]["kind"].text();
  if (!kind.empty() && kind != "Node")
    return failure(500, "", fmt::format("target.kind: Unsupported value: \"{}\"", kind));

  const Resource& pods = core_resource("pods");
  const ObjectPtr pod = store_.find(pods, target.space, name);
  if (pod == nullptr) return not_found(pods, name);
  if (auto wrong = check_bindable(*pod, *binding)) return std::move(*wrong);
  if (call.parameter("dryRun").empty()) {
    Value next = pod->value;
    next.make("spec").make("nodeName") = node;
    merge_map(next, *binding, "annotations");
    merge_map(next, *binding, "labels");
    set_condition(next, "PodScheduled", "True", clock_.wall());
    store_.put(pods, target.space, name, std::move(next));
  }
  return json_reply(201, status_object(201, "", ""));
}

}  // namespace tessera::sim::api
