#include "sim/api_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::sim::api {
namespace {

void drop_nulls(Value& value) {
  if (value.is_array())
    for (Value& item : value.items()) drop_nulls(item);
  if (!value.is_object()) return;
  std::erase_if(value.members(),
                [](const Value::Member& member) { return member.second.is_null(); });
  for (auto& [key, member] : value.members()) drop_nulls(member);
}

std::optional<Reply> check_string_map(const Resource& resource, Value& metadata,
                                      std::string_view field) {
  const Value* map = metadata.find(field);
  if (map == nullptr) return std::nullopt;
  const auto refuse = [&](std::string_view what) {
    return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: metadata.{}{}",
                                   resource.kind, resource.version, resource.kind, field, what));
  };
  if (!map->is_object()) return refuse(" is not a map");
  for (const auto& [key, value] : map->members())
    if (!value.is_string())
      return refuse(fmt::format("[{}] is {}, not a string", key, value.dump()));
  if (map->members().empty()) metadata.erase(field);
  return std::nullopt;
}

/// An API server gives quantities as strings even when they came as numbers; the spelling stays as
/// sent.
void quantities_to_strings(Value& object, std::string_view field) {
  Value* map = object.find(field);
  if (map == nullptr || !map->is_object()) return;
  for (auto& [name, quantity] : map->members())
    if (quantity.is_number()) quantity = Value(quantity.dump());
}

/// A limit without its own request is the request as well.
void copy_limits(Value& resources) {
  if (!resources.has("limits")) return;
  const Value limits = resources["limits"];
  Value& requests = resources.make("requests");
  for (const auto& [name, quantity] : limits.members())
    if (!requests.has(name)) requests.make(name) = quantity;
}

void set_default(Value& object, std::string_view key, Value value) {
  if (!object.has(key)) object.make(key) = std::move(value);
}

void fill_container(Value& container) {
  Value* resources = container.find("resources");
  if (resources == nullptr || !resources->is_object()) return;
  quantities_to_strings(*resources, "limits");
  quantities_to_strings(*resources, "requests");
  copy_limits(*resources);
}

void fill_pod_spec(Value& spec) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    Value* containers = spec.find(list);
    if (containers == nullptr || !containers->is_array()) continue;
    for (Value& container : containers->items()) fill_container(container);
  }
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "schedulerName", "default-scheduler");
  set_default(spec, "securityContext", Value::object());
}

Value renamed(const Value& event, bool to_core) {
  struct Pair {
    std::string_view core, v1;
  };
  static constexpr auto kPairs = std::to_array<Pair>({
      {"involvedObject", "regarding"},
      {"message", "note"},
      {"reportingComponent", "reportingController"},
      {"source", "deprecatedSource"},
      {"firstTimestamp", "deprecatedFirstTimestamp"},
      {"lastTimestamp", "deprecatedLastTimestamp"},
      {"count", "deprecatedCount"},
  });
  Value out = Value::object();
  for (const auto& [key, value] : event.members()) {
    std::string_view name = key;
    for (const Pair& pair : kPairs)
      if (key == (to_core ? pair.v1 : pair.core)) name = to_core ? pair.core : pair.v1;
    out.make(name) = value;
  }
  return out;
}

}  // namespace

std::string IdSource::uid() {
  const std::uint64_t high = random_(), low = random_();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffff'ffff'ffff);
}

std::string IdSource::name_suffix() {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kLetters[random_() % kLetters.size()];
  return suffix;
}

std::optional<Reply> check_shape(const Resource& resource, Value& object) {
  const std::string wanted =
      fmt::format("the object provided is unrecognized (must be of type {})", resource.kind);
  if (!object.is_object()) return bad_request(wanted + ": not a JSON object");
  const std::string kind = object["kind"].text(), version = object["apiVersion"].text();
  if (!kind.empty() && kind != resource.kind)
    return bad_request(fmt::format("{}: kind is \"{}\"", wanted, kind));
  if (!version.empty() && version != resource.api_version())
    return bad_request(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    version, resource.api_version()));
  object.erase("kind");
  object.erase("apiVersion");
  drop_nulls(object);
  if (object.has("metadata") && !object["metadata"].is_object())
    return bad_request(wanted + ": metadata is not an object");
  Value& metadata = object.make("metadata");
  metadata.members();
  for (const std::string_view field : {"labels", "annotations"})
    if (auto refused = check_string_map(resource, metadata, field)) return refused;
  for (const std::string_view field :
       {"name", "generateName", "namespace", "uid", "resourceVersion"})
    if (metadata.has(field) && !metadata[field].is_string())
      return bad_request(fmt::format("{}: metadata.{} is {}, not a string", wanted, field,
                                     metadata[field].dump()));
  return std::nullopt;
}

Reply invalid(const Resource& resource, std::string_view name, std::string_view field,
              std::string_view why) {
  Value body = status_object(
      422, "Invalid", fmt::format("{} \"{}\" is invalid: {}: {}", resource.kind, name, field, why));
  const Value cause =
      Value::object({{"reason", "FieldValueInvalid"}, {"message", why}, {"field", field}});
  body.make("details") = Value::object({{"name", name},
                                        {"group", resource.group},
                                        {"kind", resource.kind},
                                        {"causes", Value::array({cause})}});
  return json_reply(422, body);
}

std::optional<Reply> check_name(const Resource& resource, const std::string& name) {
  if (name.empty())
    return invalid(resource, name, "metadata.name",
                   "Required value: name or generateName is required");
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  const auto edge = [](char c) { return c != '-' && c != '.'; };
  if (characters && name.size() <= 253 && edge(name.front()) && edge(name.back()))
    return std::nullopt;
  return invalid(
      resource, name, "metadata.name",
      fmt::format("Invalid value: \"{}\": a lowercase RFC 1123 subdomain has at most 253 "
                  "lower case letters, digits, '-' and '.' and begins and ends with a "
                  "letter or digit",
                  name));
}

void fill_defaults(const Resource& resource, Value& object) {
  if (resource.kind == "Pod") fill_pod_spec(object.make("spec"));
  if (resource.kind == "Node") {
    object.make("spec").members();
    quantities_to_strings(object.make("status"), "capacity");
    quantities_to_strings(object.make("status"), "allocatable");
  }
  if (resource.kind == "ResourceQuota") quantities_to_strings(object.make("spec"), "hard");
}

void prepare_new(const Resource& resource, Value& object) {
  fill_defaults(resource, object);
  if (resource.kind == "Pod") object.make("status") = Value::object({{"phase", "Pending"}});
  if (resource.kind == "Namespace") {
    const std::string name = object["metadata"]["name"].text();
    object.make("metadata").make("labels").make("kubernetes.io/metadata.name") = name;
    object.make("spec") = Value::object({{"finalizers", Value::array({"kubernetes"})}});
    object.make("status") = Value::object({{"phase", "Active"}});
  }
  if (resource.kind == "ResourceQuota") object.make("status").members();
  if (resource.kind == "Service") {
    set_default(object.make("spec"), "clusterIP", "None");
    set_default(object.make("spec"), "type", "ClusterIP");
  }
}

void keep_server_fields(const Resource& resource, std::string_view subresource, const Value& before,
                        Value& next) {
  if (subresource == "status") {
    Value status = next["status"], metadata = next["metadata"];
    next = before;
    next.make("metadata") = std::move(metadata);
    if (!status.is_null()) next.make("status") = std::move(status);
  } else if (resource.has_subresource("status")) {
    if (before.has("status"))
      next.make("status") = before["status"];
    else
      next.erase("status");
  }
  Value& metadata = next.make("metadata");
  for (const std::string_view field :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generateName", "resourceVersion"}) {
    if (const Value* old = before["metadata"].find(field))
      metadata.make(field) = *old;
    else
      metadata.erase(field);
  }
}

std::optional<Reply> check_pod_update(const Value& before, const Value& next) {
  const auto frozen = [](const Value& pod) {
    Value spec = pod["spec"];
    for (const std::string_view field : {"activeDeadlineSeconds", "tolerations", "schedulingGates",
                                         "terminationGracePeriodSeconds"})
      spec.erase(field);
    for (const std::string_view list : {"containers", "initContainers"}) {
      if (!spec.has(list)) continue;
      for (Value& container : spec.make(list).items()) container.erase("image");
    }
    return spec;
  };
  if (before["spec"] == next["spec"] || frozen(before) == frozen(next)) return std::nullopt;
  return invalid(core_resource("pods"), before["metadata"]["name"].text(), "spec",
                 "Forbidden: pod updates may not change fields other than "
                 "`spec.containers[*].image`, `spec.initContainers[*].image`, "
                 "`spec.activeDeadlineSeconds`, `spec.tolerations`, "
                 "`spec.terminationGracePeriodSeconds` and `spec.schedulingGates`");
}

bool pod_finished(const Value& pod) {
  const std::string& phase = pod["status"]["phase"].text();
  return phase == "Succeeded" || phase == "Failed";
}

void set_condition(Value& object, std::string_view type, std::string_view status, WallTime now) {
  Value& conditions = object.make("status").make("conditions");
  for (Value& condition : conditions.items()) {
    if (condition["type"].text() != type) continue;
    if (condition["status"].text() == status) return;
    condition = Value::object(
        {{"type", type}, {"status", status}, {"lastTransitionTime", format_rfc3339(now)}});
    return;
  }
  conditions.items().push_back(Value::object(
      {{"type", type}, {"status", status}, {"lastTransitionTime", format_rfc3339(now)}}));
}

Value core_event_from(const Value& event) { return renamed(event, true); }
Value events_v1_from(const Value& core_event) { return renamed(core_event, false); }

}  // namespace tessera::sim::api
