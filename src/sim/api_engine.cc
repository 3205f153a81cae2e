#include "sim/api_engine.h"

namespace tessera::sim::api {

Engine::Engine(Store& store, const Clock& clock)
    : store_(store),
      clock_(clock),
      ids_(static_cast<std::uint64_t>(clock.wall().time_since_epoch().count())) {}

Reply Engine::handle(const Call& call, const Target& target) {
  if (target.resource->name == "bindings") {
    if (call.method != "POST" || !target.name.empty()) return method_not_allowed();
    return bind(call, target);
  }
  if (!target.name.empty()) return on_object(call, target);
  return on_collection(call, target);
}

Reply Engine::on_collection(const Call& call, const Target& target) {
  if (call.method == "GET") return list(call, target);
  if (call.method == "POST") return create(call, target);
  if (call.method == "DELETE") return remove_collection(call, target);
  return method_not_allowed();
}

Reply Engine::on_object(const Call& call, const Target& target) {
  if (call.method == "POST" && target.subresource == "binding") return bind(call, target);
  if (call.method == "POST" && target.subresource == "eviction") return evict(call, target);
  const bool readable = target.subresource.empty() || target.subresource == "status";
  if (!readable) return method_not_allowed();
  if (call.method == "GET") return get(call, target);
  if (call.method == "PUT") return update(call, target);
  if (call.method == "PATCH") return patch(call, target);
  if (call.method == "DELETE" && target.subresource.empty()) return remove(call, target);
  return method_not_allowed();
}

Reply Engine::show(const Call& call, int status, const Target& target,
                   const StoredObject& object) const {
  const View view{target.resource, call.wants_table(),
                  std::string(call.parameter("includeObject"))};
  return {.status = status, .body = show_object(view, object, clock_.wall())};
}

Reply Engine::get(const Call& call, const Target& target) const {
  const ObjectPtr object = store_.find(*target.resource, target.space, target.name);
  if (object == nullptr) return not_found(*target.resource, target.name);
  return show(call, 200, target, *object);
}

Reply Engine::list(const Call& call, const Target& target) {
  auto page = pages_.list(store_, target, call);
  if (Reply* refused = std::get_if<Reply>(&page)) return std::move(*refused);
  const View view{target.resource, call.wants_table(),
                  std::string(call.parameter("includeObject"))};
  return {.status = 200, .body = show_list(view, std::get<Page>(page), clock_.wall())};
}

}  // namespace tessera::sim::api
