#include <fmt/format.h>

#include <utility>

#include "sim/api_engine.h"
#include "sim/api_patch.h"
#include "sim/api_protobuf.h"

namespace tessera::sim::api {
namespace {

enum class PatchType : std::uint8_t { kMerge, kStrategic, kJson, kApply, kUnknown };

PatchType patch_type(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  if (content_type == "application/merge-patch+json") return PatchType::kMerge;
  if (content_type == "application/strategic-merge-patch+json") return PatchType::kStrategic;
  if (content_type == "application/json-patch+json") return PatchType::kJson;
  if (content_type == "application/apply-patch+yaml") return PatchType::kApply;
  return PatchType::kUnknown;
}

bool readable_body(const Call& call) {
  return call.content_type.empty() || call.content_type.find("json") != std::string::npos ||
         call.content_type.starts_with(kProtobufType);
}

Reply undecodable(const Resource& resource, const Error& error) {
  if (error.code == Code::kUnavailable) return unsupported_media_type(error.what);
  return bad_request(
      fmt::format("the object provided is unrecognized (must be of type {}): json parse error: {}",
                  resource.kind, error.what));
}

/// The patched object; the error says with its code which answer it deserves.
Result<Value> patched(PatchType type, const Value& before, const Value& patch) {
  Value next = before;
  Status done;
  if (type == PatchType::kJson) {
    done = apply_json_patch(next, patch);
  } else if (!patch.is_object()) {
    done = fail(Code::kInvalid, "the patch is not an object");
  } else if (type == PatchType::kMerge) {
    apply_merge_patch(next, patch);
  } else {
    done = apply_strategic_patch(next, patch);
  }
  if (!done) return tl::unexpected(done.error());
  return next;
}

/// What a client patches has kind and apiVersion.
Value with_kind(const Resource& resource, const Value& stored) {
  Value object = Value::object({{"kind", resource.kind}, {"apiVersion", resource.api_version()}});
  const Value shown = resource.shares_storage ? events_v1_from(stored) : stored;
  for (const auto& [key, value] : shown.members()) object.make(key) = value;
  return object;
}

}  // namespace

Reply Engine::create(const Call& call, Target target) {
  if (!readable_body(call)) return unsupported_media_type(call.content_type);
  auto object = call.decoded_body();
  if (!object) return undecodable(*target.resource, object.error());
  return create_from(call, std::move(target), std::move(*object));
}

Reply Engine::create_from(const Call& call, Target target, Value object) {
  const Resource& resource = *target.resource;
  if (auto refused = check_shape(resource, object)) return std::move(*refused);
  Value& metadata = object.make("metadata");
  const std::string space = metadata["namespace"].text();
  if (resource.namespaced && target.space.empty())
    return bad_request(fmt::format("an empty namespace may not be set during creation of {}",
                                   resource.qualified_name()));
  if (!space.empty() && space != target.space)
    return bad_request(fmt::format(
        "the namespace of the provided object does not match the namespace sent on the request "
        "({} and {})",
        space, target.space));
  if (!metadata["resourceVersion"].text().empty())
    return bad_request("resourceVersion should not be set on objects to be created");
  const std::string prefix = metadata["generateName"].text();
  if (metadata["name"].text().empty() && !prefix.empty())
    metadata.make("name") = prefix + ids_.name_suffix();
  target.name = metadata["name"].text();
  if (auto refused = check_name(resource, target.name)) return std::move(*refused);
  const Resource& spaces = core_resource("namespaces");
  if (resource.namespaced && store_.find(spaces, "", target.space) == nullptr)
    return not_found(spaces, target.space);
  if (store_.find(resource, target.space, target.name) != nullptr)
    return already_exists(resource, target.name);

  if (resource.namespaced) metadata.make("namespace") = target.space;
  metadata.make("uid") = ids_.uid();
  metadata.make("creationTimestamp") = format_rfc3339(clock_.wall());
  metadata.erase("deletionTimestamp");
  metadata.erase("deletionGracePeriodSeconds");
  prepare_new(resource, object);
  if (resource.kind == "Pod") fill_priority(object);
  if (resource.shares_storage) object = core_event_from(object);
  if (!call.parameter("dryRun").empty()) return json_reply(201, with_kind(resource, object));
  const ObjectPtr stored = store_.put(resource, target.space, target.name, std::move(object));
  return show(call, 201, target, *stored);
}

/// As the admission of a real API server does; a class that does not exist is let pass here.
void Engine::fill_priority(Value& pod) const {
  const std::string name = pod["spec"]["priorityClassName"].text();
  const Resource& classes = *find_resource("scheduling.k8s.io", "v1", "priorityclasses");
  const ObjectPtr found = name.empty() ? nullptr : store_.find(classes, "", name);
  if (found == nullptr) return;
  Value& spec = pod.make("spec");
  spec.make("priority") = found->value["value"].integer().value_or(0);
  const std::string& policy = found->value["preemptionPolicy"].text();
  if (!spec.has("preemptionPolicy"))
    spec.make("preemptionPolicy") = policy.empty() ? "PreemptLowerPriority" : policy;
}

Reply Engine::update(const Call& call, const Target& target) {
  const Resource& resource = *target.resource;
  if (!readable_body(call)) return unsupported_media_type(call.content_type);
  auto object = call.decoded_body();
  if (!object) return undecodable(resource, object.error());
  const std::string name = (*object)["metadata"]["name"].text();
  if (name != target.name)
    return bad_request(fmt::format(
        "the name of the object ({}) does not match the name on the URL ({})", name, target.name));
  const ObjectPtr before = store_.find(resource, target.space, target.name);
  if (before == nullptr) return not_found(resource, target.name);
  return replace_with(call, target, *before, std::move(*object));
}

Reply Engine::patch(const Call& call, const Target& target) {
  const Resource& resource = *target.resource;
  const PatchType type = patch_type(call.content_type);
  if (type == PatchType::kUnknown) return unsupported_media_type(call.content_type);
  if (type == PatchType::kApply) return apply(call, target);
  const ObjectPtr before = store_.find(resource, target.space, target.name);
  if (before == nullptr) return not_found(resource, target.name);
  const auto patch = Value::parse(call.body);
  if (!patch) return bad_request(fmt::format("error decoding patch: {}", patch.error().what));
  auto next = patched(type, with_kind(resource, before->value), *patch);
  if (next) return replace_with(call, target, *before, std::move(*next));
  if (next.error().code == Code::kConflict)
    return failure(422, "Invalid",
                   fmt::format("the server rejected our request due to an error in our request: {}",
                               next.error().what));
  return bad_request(fmt::format("error decoding patch: {}", next.error().what));
}

/// Server-side apply without owners of fields: what is named is set, the rest stays.
Reply Engine::apply(const Call& call, const Target& target) {
  const Resource& resource = *target.resource;
  auto wanted = Value::parse(call.body);
  if (!wanted || !wanted->is_object())
    return unsupported_media_type("server-side apply is understood with a JSON body only");
  const ObjectPtr before = store_.find(resource, target.space, target.name);
  if (before == nullptr && target.subresource.empty()) {
    wanted->make("metadata").make("name") = target.name;
    return create_from(call, target, std::move(*wanted));
  }
  if (before == nullptr) return not_found(resource, target.name);
  auto next = patched(PatchType::kStrategic, with_kind(resource, before->value), *wanted);
  if (!next) return bad_request(next.error().what);
  return replace_with(call, target, *before, std::move(*next));
}

Reply Engine::replace_with(const Call& call, const Target& target, const StoredObject& before,
                           Value next) {
  const Resource& resource = *target.resource;
  if (auto refused = check_shape(resource, next)) return std::move(*refused);
  const std::string version = next["metadata"]["resourceVersion"].text();
  if (!version.empty() && version != std::to_string(before.version))
    return stale_version(resource, target.name);
  const std::string uid = next["metadata"]["uid"].text();
  const std::string& own_uid = before.value["metadata"]["uid"].text();
  if (!uid.empty() && uid != own_uid)
    return conflict(resource, target.name,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: "
                                "{}",
                                uid, own_uid));
  if (resource.shares_storage) next = core_event_from(next);
  fill_defaults(resource, next);
  keep_server_fields(resource, target.subresource, before.value, next);
  if (resource.kind == "Pod")
    if (auto refused = check_pod_update(before.value, next)) return std::move(*refused);
  if (!call.parameter("dryRun").empty()) return json_reply(200, with_kind(resource, next));
  const ObjectPtr stored =
      settle_deletion(store_.put(resource, target.space, target.name, std::move(next)));
  return show(call, 200, target, *stored);
}

}  // namespace tessera::sim::api
