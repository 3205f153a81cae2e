#include <fmt/format.h>

#include "sim/api_catalogue.h"

namespace tessera::sim::api {
namespace {

constexpr std::string_view kRoot = "/openapi/v3";

std::string prefix_of(const Resource& resource) {
  return (resource.group.empty() ? "api/" : "apis/") + resource.api_version();
}

/// kubectl looks for a PATCH of the kind that knows the parameter fieldValidation, and then leaves
/// validation to the server.
Value path_item(const Resource& resource) {
  const Value parameter = Value::object({{"name", "fieldValidation"},
                                         {"in", "query"},
                                         {"schema", Value::object({{"type", "string"}})}});
  const Value kind = Value::object(
      {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
  const Value answer = Value::object({{"200", Value::object({{"description", "OK"}})}});
  return Value::object({{"patch", Value::object({{"parameters", Value::array({parameter})},
                                                 {"responses", answer},
                                                 {"x-kubernetes-group-version-kind", kind}})}});
}

Value group_document(std::string_view prefix) {
  Value paths = Value::object();
  for (const Resource& resource : catalogue()) {
    if (prefix_of(resource) != prefix) continue;
    const std::string path =
        fmt::format("/{}/{}{}/{{name}}", prefix,
                    resource.namespaced ? "namespaces/{namespace}/" : "", resource.name);
    paths.make(path) = path_item(resource);
  }
  if (paths.members().empty()) return {};
  return Value::object({{"openapi", "3.0.0"},
                        {"info", Value::object({{"title", "tessera"}, {"version", "v1"}})},
                        {"paths", std::move(paths)}});
}

}  // namespace

Value openapi_document(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with(kRoot)) return {};
  path.remove_prefix(kRoot.size());
  if (path.starts_with('/')) return group_document(path.substr(1));
  if (!path.empty()) return {};
  Value paths = Value::object();
  for (const Resource& resource : catalogue()) {
    const std::string prefix = prefix_of(resource);
    paths.make(prefix) =
        Value::object({{"serverRelativeURL", fmt::format("{}/{}", kRoot, prefix)}});
  }
  return Value::object({{"paths", std::move(paths)}});
}

}  // namespace tessera::sim::api
