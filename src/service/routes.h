/// The HTTP face of the scheduler: which path does what. Source: spec/scheduler.md section 2,
/// decisions D20.
#pragma once

#include <vector>

#include "http/server.h"
#include "service/scheduler.h"

namespace tessera::service {

/// Everything: filter, bind, webhook, probes, metrics.
std::vector<http::Route> main_routes(Scheduler& scheduler);
/// /metrics and the probes only.
std::vector<http::Route> metrics_routes(Scheduler& scheduler);

}  // namespace tessera::service
