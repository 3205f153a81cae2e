/// What happens to an object between request and store: shape checks, metadata, defaults of pods,
/// the fields an update may not touch, the two forms of events. Thread rule: pure functions, except
/// IdSource (owner serialises).
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "sim/api_call.h"
#include "sim/api_store.h"

namespace tessera::sim::api {

/// Uids and generated names, the same for the same seed.
class IdSource {
 public:
  explicit IdSource(std::uint64_t seed) : random_(seed) {}
  std::string uid();
  std::string name_suffix();  ///< five characters, as generateName appends them

 private:
  std::mt19937_64 random_;
};

/// Refuses what is no object of this kind (other kind, metadata that is no object, annotations or
/// labels that are not strings); takes kind and apiVersion off and drops null members, which mean
/// "absent" everywhere in the API.
std::optional<Reply> check_shape(const Resource& resource, Value& object);
/// Name rules. nullopt: fine.
std::optional<Reply> check_name(const Resource& resource, const std::string& name);
/// 422 in the words of an API server: `Pod "a" is invalid: <field>: <why>`.
Reply invalid(const Resource& resource, std::string_view name, std::string_view field,
              std::string_view why);

/// Fields that have a default, and quantities as strings; for new and for updated objects.
void fill_defaults(const Resource& resource, Value& object);
/// fill_defaults() and the state of birth by kind.
void prepare_new(const Resource& resource, Value& object);
/// Restores in `next` what only the server may change: identity, deletion marks, and status (or,
/// for `subresource` status, all but status).
void keep_server_fields(const Resource& resource, std::string_view subresource, const Value& before,
                        Value& next);
/// A pod's spec stays as it was, but for a few fields.
std::optional<Reply> check_pod_update(const Value& before, const Value& next);

bool pod_finished(const Value& pod);  ///< phase Succeeded or Failed

/// Sets conditions[type]; lastTransitionTime moves only when the status changes.
void set_condition(Value& object, std::string_view type, std::string_view status, WallTime now);

/// events.k8s.io/v1 events are kept as core events.
Value core_event_from(const Value& event);
Value events_v1_from(const Value& core_event);

}  // namespace tessera::sim::api
