/// Table answers: the columns that kubectl prints. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "sim/api_store.h"

namespace tessera::sim::api {

/// A meta.k8s.io/v1 Table. `include` is the query parameter includeObject.
Value make_table(const Resource& as, const std::vector<ObjectPtr>& objects, std::uint64_t version,
                 std::string_view include, WallTime now);

/// kubectl's short durations: 45s, 4m12s, 37m, 5h3m, 2d4h, 12d, 3y20d.
std::string short_duration(std::chrono::seconds age);

}  // namespace tessera::sim::api
