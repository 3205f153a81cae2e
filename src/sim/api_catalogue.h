/// The kinds the embedded API server knows, as rows of one table. Only pods, nodes, namespaces and
/// events have behaviour of their own; any other row is stored as it comes. A new kind is a new row
/// in api_catalogue.cc. Thread rule: constant data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/api_value.h"

namespace tessera::sim::api {

struct Resource {
  std::string_view group, version, name, kind, singular;
  bool namespaced = true;
  std::string_view short_names = {};   ///< separated by commas
  std::string_view subresources = {};  ///< separated by commas
  std::string_view storage_group =
      {};  ///< where another group keeps the same objects (events.k8s.io events live in "")
  bool shares_storage = false;

  std::string api_version() const;  ///< "v1", "coordination.k8s.io/v1"
  std::string qualified_name()
      const;  ///< "pods", "leases.coordination.k8s.io": the name in messages
  bool has_subresource(std::string_view subresource) const;
};

std::span<const Resource> catalogue();
/// nullptr when unknown.
const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view name);
/// As find_resource in the core group; only for names that are in the table.
const Resource& core_resource(std::string_view name);

/// Where objects of this kind are kept: core events for events of events.k8s.io, itself for the
/// others.
const Resource& home_of(const Resource& resource);

/// The documents of /api, /apis, /api/v1, /apis/<group>, /apis/<group>/<version>, /version; null
/// for any other path. `own_address` is host:port.
Value discovery_document(std::string_view path, std::string_view own_address);
/// /openapi/v3 and below: as much as kubectl needs to leave validation to the server (which checks
/// no unknown fields).
Value openapi_document(std::string_view path);

}  // namespace tessera::sim::api
