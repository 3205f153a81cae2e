/// POST /v1/simulate {"pods":[…],"nodes":[…]}: places several pods one after the other, each beside
/// those before it, on the nodes given or on a copy of the live cluster. Reserves nothing. Source:
/// decisions D6. Thread rule: the handler runs on the thread of the call, the placing on the side
/// thread.
#pragma once

#include "http/server.h"
#include "service/scheduler.h"

namespace tessera::service {

void handle_simulate(Scheduler& s, http::Request&& request, const http::Responder& respond);

}  // namespace tessera::service
