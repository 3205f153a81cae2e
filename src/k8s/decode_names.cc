// The short look at a pod: most of them are not for us.
#include "k8s/decode.h"

namespace tessera::k8s {
namespace {

/// Missing and null count as an empty one, as they do everywhere in the API.
bool wrong_kind(json::Value value, json::Kind kind) {
  return value.kind() != kind && !value.is_null_or_missing();
}

bool amounts_name(json::Value amounts, const std::function<bool(std::string_view)>& wanted) {
  if (wrong_kind(amounts, json::Kind::kObject)) return true;
  bool found = false;
  amounts.for_each_member(
      [&](std::string_view name, json::Value) { found = found || wanted(name); });
  return found;
}

bool container_names(json::Value container, const std::function<bool(std::string_view)>& wanted) {
  if (container.kind() != json::Kind::kObject) return true;
  const json::Value resources = container["resources"];
  if (wrong_kind(resources, json::Kind::kObject)) return true;
  return amounts_name(resources["limits"], wanted) || amounts_name(resources["requests"], wanted);
}

}  // namespace

bool names_resource(json::Value pod, const std::function<bool(std::string_view)>& wanted) {
  const json::Value spec = pod["spec"];
  if (pod.kind() != json::Kind::kObject || wrong_kind(spec, json::Kind::kObject)) return true;
  bool found = false;
  for (const std::string_view key : {"containers", "initContainers"}) {
    const json::Value containers = spec[key];
    if (wrong_kind(containers, json::Kind::kArray)) return true;
    containers.for_each_element(
        [&](json::Value container) { found = found || container_names(container, wanted); });
  }
  return found;
}

}  // namespace tessera::k8s
