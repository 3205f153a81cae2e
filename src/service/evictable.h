/// Whom a pod of a given priority may displace: bound device pods of lower priority, as the core's
/// planner wants them. Source: decisions D13. Thread rule: state thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/preempt.h"
#include "service/books.h"
#include "service/budgets.h"

namespace tessera::service {

struct EvictableQuery {
  std::int64_t priority = 0;  ///< of the preemptor: only lower ones
  std::string preemptor;      ///< uid
  /// Pods that must not be named: victims of somebody else already, refused before. May be empty.
  std::function<bool(const std::string& uid)> leave_out;
};

struct EvictablePods {
  std::vector<core::Evictable> pods;
  std::vector<std::int64_t> budgets;  ///< disruptions still allowed
  bool some_are_mid_bind = false;     ///< left out because their node's agent is serving them
};

/// Bound, running or about to, not on its way out. While a pod's agent is between Binding and the
/// end of Allocate, its node is locked and what it holds is being made: it is left out then.
EvictablePods evictable_on(const Books& books, const Budgets& budgets,
                           std::span<const NodeId> nodes, const EvictableQuery& query);

/// The pod holds nothing any more that could stand in somebody's way.
bool has_left(const Books& books, const std::string& uid);

}  // namespace tessera::service
