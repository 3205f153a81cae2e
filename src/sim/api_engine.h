/// Reads and writes of the embedded API server: one call in, one answer out. Watches are the
/// WatchHub's. Thread rule: the owner serialises every call.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "sim/api_call.h"
#include "sim/api_objects.h"
#include "sim/api_pages.h"
#include "sim/api_store.h"

namespace tessera::sim::api {

class Engine {
 public:
  Engine(Store& store, const Clock& clock);
  Reply handle(const Call& call, const Target& target);
  void forget_lists() { pages_.forget(); }

 private:
  // api_engine.cc
  Reply on_collection(const Call& call, const Target& target);
  Reply on_object(const Call& call, const Target& target);
  Reply get(const Call& call, const Target& target) const;
  Reply list(const Call& call, const Target& target);
  Reply show(const Call& call, int status, const Target& target, const StoredObject& object) const;
  // api_writes.cc
  Reply create(const Call& call, Target target);
  Reply create_from(const Call& call, Target target, Value object);
  void fill_priority(Value& pod) const;
  Reply update(const Call& call, const Target& target);
  Reply patch(const Call& call, const Target& target);
  Reply apply(const Call& call, const Target& target);
  Reply replace_with(const Call& call, const Target& target, const StoredObject& before,
                     Value next);
  // api_deletes.cc
  struct DeleteOptions {
    std::optional<std::int64_t> grace_seconds;
    std::string uid, resource_version;
    bool dry_run = false;
  };
  Reply remove(const Call& call, const Target& target);
  Reply remove_collection(const Call& call, const Target& target);
  static std::optional<Reply> check_preconditions(const StoredObject& object,
                                                  const DeleteOptions& options);
  static std::optional<DeleteOptions> delete_options(const Call& call, const Value& body);
  ObjectPtr remove_object(const StoredObject& object, const DeleteOptions& options);
  ObjectPtr mark_deleted(const StoredObject& object, std::int64_t grace_seconds);
  void empty_namespace(std::string_view space);
  /// The end of an object that waits for deletion: finalizers gone, or the pod finished. Returns
  /// the last state.
  ObjectPtr settle_deletion(ObjectPtr object);
  // api_eviction.cc
  Reply evict(const Call& call, const Target& target);
  std::optional<Reply> ask_budgets(const StoredObject& pod, bool dry_run);
  // api_binding.cc
  Reply bind(const Call& call, const Target& target);

  Store& store_;
  const Clock& clock_;
  IdSource ids_;
  Pages pages_;
};

}  // namespace tessera::sim::api
