#include "sim/api_render.h"

#include <fmt/format.h>

#include "sim/api_objects.h"
#include "sim/api_table.h"

namespace tessera::sim::api {
namespace {

/// The stored text serves every reader but those of the other event kind.
std::string item_text(const StoredObject& object, const Resource& as) {
  if (as.shares_storage) return events_v1_from(object.value).dump();
  return object.json;
}

}  // namespace

std::string object_text(const StoredObject& object, const Resource& as) {
  const auto framed = [&](std::string_view item) {
    return fmt::format(R"({{"kind":"{}","apiVersion":"{}",{})", as.kind, as.api_version(),
                       item.substr(1));
  };
  return as.shares_storage ? framed(item_text(object, as)) : framed(object.json);
}

std::string show_object(const View& view, const StoredObject& object, WallTime now) {
  if (!view.table) return object_text(object, *view.as);
  const auto shared = std::make_shared<StoredObject>(object);
  return make_table(*view.as, {shared}, object.version, view.include, now).dump();
}

std::string show_list(const View& view, const Page& page, WallTime now) {
  Value metadata = Value::object({{"resourceVersion", std::to_string(page.version)}});
  if (!page.token.empty()) metadata.make("continue") = page.token;
  if (page.remaining > 0) metadata.make("remainingItemCount") = page.remaining;
  if (view.table) {
    Value table = make_table(*view.as, page.objects, page.version, view.include, now);
    table.make("metadata") = std::move(metadata);
    return table.dump();
  }
  std::size_t size = 256;
  for (const ObjectPtr& object : page.objects) size += object->json.size() + 1;
  std::string out;
  out.reserve(size);
  out += fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[)",
                     view.as->kind, view.as->api_version(), metadata.dump());
  for (std::size_t i = 0; i < page.objects.size(); ++i) {
    if (i > 0) out += ',';
    if (view.as->shares_storage)
      out += item_text(*page.objects[i], *view.as);
    else
      out += page.objects[i]->json;
  }
  out += "]}";
  return out;
}

std::string show_change(const View& view, std::string_view type, const StoredObject& object,
                        WallTime now) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, show_object(view, object, now));
}

std::string show_bookmark(const View& view, std::uint64_t version, bool initial_events_end) {
  Value metadata = Value::object({{"resourceVersion", std::to_string(version)}});
  if (initial_events_end) metadata.make("annotations").make("k8s.io/initial-events-end") = "true";
  Value object = Value::object({{"kind", view.as->kind}, {"apiVersion", view.as->api_version()}});
  if (view.table) {
    object = make_table(*view.as, {}, version, "None", WallTime());
    object.make("rows").items();
  }
  object.make("metadata") = std::move(metadata);
  return Value::object({{"type", "BOOKMARK"}, {"object", std::move(object)}}).dump() + "\n";
}

}  // namespace tessera::sim::api
