/// The cells of one Table row per kind, in the order of the columns in api_table.cc. Thread rule:
/// pure functions.
#pragma once

#include <vector>

#include "base/clock.h"
#include "sim/api_store.h"

namespace tessera::sim::api {

std::vector<Value> pod_cells(const StoredObject& pod, WallTime now);
std::vector<Value> node_cells(const StoredObject& node, WallTime now);
std::vector<Value> namespace_cells(const StoredObject& space, WallTime now);
std::vector<Value> event_cells(const StoredObject& event, WallTime now);
std::vector<Value> quota_cells(const StoredObject& quota, WallTime now);
std::vector<Value> lease_cells(const StoredObject& lease, WallTime now);
std::vector<Value> config_map_cells(const StoredObject& map, WallTime now);
std::vector<Value> secret_cells(const StoredObject& secret, WallTime now);
std::vector<Value> service_cells(const StoredObject& service, WallTime now);
std::vector<Value> priority_class_cells(const StoredObject& priority_class, WallTime now);
std::vector<Value> other_cells(const StoredObject& object, WallTime now);

}  // namespace tessera::sim::api
