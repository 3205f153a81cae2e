#include "sim/api_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "base/text.h"
#include "sim/api_cells.h"
#include "sim/api_render.h"

namespace tessera::sim::api {
namespace {

struct Column {
  std::string_view name, type = "string";
  bool wide = false;  ///< shown with -o wide only
};
using MakeCells = std::vector<Value> (*)(const StoredObject& object, WallTime now);
struct Layout {
  std::string_view kind;
  std::span<const Column> columns;
  MakeCells cells;
};

constexpr Column kPodColumns[] = {{"Name"},
                                  {"Ready"},
                                  {"Status"},
                                  {"Restarts"},
                                  {"Age"},
                                  {"IP", "string", true},
                                  {"Node", "string", true},
                                  {"Nominated Node", "string", true},
                                  {"Readiness Gates", "string", true}};
constexpr Column kNodeColumns[] = {{"Name"},
                                   {"Status"},
                                   {"Roles"},
                                   {"Age"},
                                   {"Version"},
                                   {"Internal-IP", "string", true},
                                   {"External-IP", "string", true},
                                   {"OS-Image", "string", true},
                                   {"Kernel-Version", "string", true},
                                   {"Container-Runtime", "string", true}};
constexpr Column kNamespaceColumns[] = {{"Name"}, {"Status"}, {"Age"}};
constexpr Column kEventColumns[] = {{"Last Seen"},
                                    {"Type"},
                                    {"Reason"},
                                    {"Object"},
                                    {"Subobject", "string", true},
                                    {"Source", "string", true},
                                    {"Message"},
                                    {"First Seen", "string", true},
                                    {"Count", "string", true},
                                    {"Name", "string", true}};
constexpr Column kQuotaColumns[] = {{"Name"}, {"Request"}, {"Limit"}, {"Age"}};
constexpr Column kLeaseColumns[] = {{"Name"}, {"Holder"}, {"Age"}};
constexpr Column kConfigMapColumns[] = {{"Name"}, {"Data", "integer"}, {"Age"}};
constexpr Column kSecretColumns[] = {{"Name"}, {"Type"}, {"Data", "integer"}, {"Age"}};
constexpr Column kServiceColumns[] = {{"Name"},        {"Type"},    {"Cluster-IP"},
                                      {"External-IP"}, {"Port(s)"}, {"Age"}};
constexpr Column kPriorityColumns[] = {{"Name"}, {"Value", "integer"}, {"Age"}};
constexpr Column kOtherColumns[] = {{"Name"}, {"Age"}};

constexpr Layout kLayouts[] = {
    {"Pod", kPodColumns, pod_cells},
    {"Node", kNodeColumns, node_cells},
    {"Namespace", kNamespaceColumns, namespace_cells},
    {"Event", kEventColumns, event_cells},
    {"ResourceQuota", kQuotaColumns, quota_cells},
    {"Lease", kLeaseColumns, lease_cells},
    {"ConfigMap", kConfigMapColumns, config_map_cells},
    {"Secret", kSecretColumns, secret_cells},
    {"Service", kServiceColumns, service_cells},
    {"PriorityClass", kPriorityColumns, priority_class_cells},
};
constexpr Layout kOtherLayout = {"", kOtherColumns, other_cells};

const Layout& layout_of(const Resource& resource) {
  for (const Layout& layout : kLayouts)
    if (layout.kind == resource.kind) return layout;
  return kOtherLayout;
}

Value column_definitions(const Layout& layout) {
  Value definitions = Value::array();
  for (const Column& column : layout.columns)
    definitions.items().push_back(Value::object({{"name", column.name},
                                                 {"type", column.type},
                                                 {"format", column.name == "Name" ? "name" : ""},
                                                 {"description", column.name},
                                                 {"priority", column.wide ? 1 : 0}}));
  return definitions;
}

Value partial_object(const StoredObject& object) {
  return Value::object({{"kind", "PartialObjectMetadata"},
                        {"apiVersion", "meta.k8s.io/v1"},
                        {"metadata", object.value["metadata"]}});
}

Value whole_object(const Resource& as, const StoredObject& object) {
  Value shown = Value::object({{"kind", as.kind}, {"apiVersion", as.api_version()}});
  for (const auto& [key, value] : object.value.members()) shown.make(key) = value;
  return shown;
}

}  // namespace

Value make_table(const Resource& as, const std::vector<ObjectPtr>& objects, std::uint64_t version,
                 std::string_view include, WallTime now) {
  const Layout& layout = layout_of(as);
  Value rows = Value::array();
  for (const ObjectPtr& object : objects) {
    Value row = Value::object({{"cells", Value::array(layout.cells(*object, now))}});
    if (include == "Object")
      row.make("object") = whole_object(as, *object);
    else if (include != "None")
      row.make("object") = partial_object(*object);
    rows.items().push_back(std::move(row));
  }
  return Value::object({{"kind", "Table"},
                        {"apiVersion", "meta.k8s.io/v1"},
                        {"metadata", Value::object({{"resourceVersion", std::to_string(version)}})},
                        {"columnDefinitions", column_definitions(layout)},
                        {"rows", std::move(rows)}});
}

std::string short_duration(std::chrono::seconds age) {
  const auto two = [](std::int64_t big, char big_unit, std::int64_t small, char small_unit) {
    if (small == 0) return fmt::format("{}{}", big, big_unit);
    return fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  const std::int64_t seconds = age.count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  const std::int64_t minutes = seconds / 60;
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  const std::int64_t hours = minutes / 60;
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  const std::int64_t days = hours / 24;
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (days < 730) return fmt::format("{}d", days);
  if (days < 2920) return two(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

}  // namespace tessera::sim::api
