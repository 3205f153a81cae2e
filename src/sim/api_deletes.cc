#include <fmt/format.h>

#include "sim/api_engine.h"

namespace tessera::sim::api {
namespace {

bool has_finalizers(const Value& object) {
  return !object["metadata"]["finalizers"].items().empty();
}

std::int64_t grace_of(const Value& object, std::optional<std::int64_t> wanted) {
  constexpr std::int64_t kDefaultGrace = 30;
  if (wanted) return *wanted;
  return object["spec"]["terminationGracePeriodSeconds"].integer().value_or(kDefaultGrace);
}

/// A kubelet has to end it first.
bool runs_on_a_node(const Value& pod) {
  return !pod["spec"]["nodeName"].text().empty() && !pod_finished(pod);
}

}  // namespace

std::optional<Engine::DeleteOptions> Engine::delete_options(const Call& call, const Value& body) {
  DeleteOptions options;
  const std::string_view text = call.parameter("gracePeriodSeconds");
  const Value grace = text.empty() ? body["gracePeriodSeconds"] : Value::number(std::string(text));
  options.grace_seconds = grace.integer();
  if (!grace.is_null() && (!options.grace_seconds || *options.grace_seconds < 0))
    return std::nullopt;
  options.uid = body["preconditions"]["uid"].text();
  options.resource_version = body["preconditions"]["resourceVersion"].text();
  options.dry_run = !call.parameter("dryRun").empty() || !body["dryRun"].items().empty();
  return options;
}

std::optional<Reply> Engine::check_preconditions(const StoredObject& object,
                                                 const DeleteOptions& options) {
  const std::string& uid = object.value["metadata"]["uid"].text();
  if (!options.uid.empty() && options.uid != uid)
    return conflict(*object.resource, object.name,
                    fmt::format("the UID in the precondition ({}) does not match the UID in record "
                                "({}). The object might have been deleted and then recreated",
                                options.uid, uid));
  const std::string version = std::to_string(object.version);
  if (!options.resource_version.empty() && options.resource_version != version)
    return conflict(*object.resource, object.name,
                    fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                                "ResourceVersion in record ({})",
                                options.resource_version, version));
  return std::nullopt;
}

Reply Engine::remove(const Call& call, const Target& target) {
  const Resource& resource = *target.resource;
  const auto body = call.decoded_body();
  if (!body) return bad_request(fmt::format("DeleteOptions: {}", body.error().what));
  const auto options = delete_options(call, *body);
  if (!options) return bad_request("gracePeriodSeconds: must be a whole number, not negative");
  const ObjectPtr object = store_.find(resource, target.space, target.name);
  if (object == nullptr) return not_found(resource, target.name);
  if (auto other = check_preconditions(*object, *options)) return std::move(*other);
  const ObjectPtr last = options->dry_run ? object : remove_object(*object, *options);
  if (resource.kind == "Pod" || last->value["metadata"].has("deletionTimestamp"))
    return show(call, 200, target, *last);
  Value done = status_object(200, "", "");
  done.erase("code");
  done.make("details") = Value::object({{"name", target.name},
                                        {"kind", resource.name},
                                        {"uid", object->value["metadata"]["uid"].text()}});
  return json_reply(200, done);
}

Reply Engine::remove_collection(const Call& call, const Target& target) {
  const auto body = call.decoded_body();
  if (!body) return bad_request(fmt::format("DeleteOptions: {}", body.error().what));
  const auto options = delete_options(call, *body);
  if (!options) return bad_request("gracePeriodSeconds: must be a whole number, not negative");
  auto page = pages_.list(store_, target, call);
  if (Reply* refused = std::get_if<Reply>(&page)) return std::move(*refused);
  Page& removed = std::get<Page>(page);
  for (ObjectPtr& object : removed.objects)
    if (!options->dry_run) object = remove_object(*object, *options);
  removed.version = store_.version();
  return {.status = 200, .body = show_list({target.resource}, removed, clock_.wall())};
}

ObjectPtr Engine::remove_object(const StoredObject& object, const DeleteOptions& options) {
  const bool pod = object.resource->kind == "Pod";
  const std::int64_t grace =
      pod && runs_on_a_node(object.value) ? grace_of(object.value, options.grace_seconds) : 0;
  if (grace > 0 || has_finalizers(object.value)) return mark_deleted(object, grace);
  if (object.resource->kind == "Namespace") empty_namespace(object.name);
  return store_.remove(object);
}

/// A shorter grace period than that of an earlier deletion wins.
ObjectPtr Engine::mark_deleted(const StoredObject& object, std::int64_t grace_seconds) {
  const Value& metadata = object.value["metadata"];
  const auto earlier = metadata["deletionGracePeriodSeconds"].integer();
  if (metadata.has("deletionTimestamp") && earlier.value_or(0) <= grace_seconds)
    return store_.find(*object.resource, object.space, object.name);
  Value next = object.value;
  Value& marks = next.make("metadata");
  marks.make("deletionTimestamp") =
      format_rfc3339(clock_.wall() + std::chrono::seconds(grace_seconds));
  marks.make("deletionGracePeriodSeconds") = grace_seconds;
  return store_.put(*object.resource, object.space, object.name, std::move(next));
}

void Engine::empty_namespace(std::string_view space) {
  for (const ObjectPtr& object : store_.contents(space)) store_.remove(*object);
}

ObjectPtr Engine::settle_deletion(ObjectPtr object) {
  const Value& value = object->value;
  if (!value["metadata"].has("deletionTimestamp") || has_finalizers(value)) return object;
  const std::int64_t grace = value["metadata"]["deletionGracePeriodSeconds"].integer().value_or(0);
  const bool ended = grace == 0 || (object->resource->kind == "Pod" && pod_finished(value));
  return ended ? store_.remove(*object) : object;
}

}  // namespace tessera::sim::api
