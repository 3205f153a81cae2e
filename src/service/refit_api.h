/// POST /v1/refit: chooses the cards of a pod once more on the node it has. A reservation is
/// replaced in one step; a bound pod whose agent has not begun gets its annotations by one guarded
/// patch, and the new cards are kept free until it is written. Only for callers that are known.
/// Source: public case 140. Thread rule: the handler runs on the thread of the call, the rest on
/// the state thread.
#pragma once

#include "http/server.h"
#include "service/scheduler.h"

namespace tessera::service {

inline constexpr std::size_t kRefitMaxBody = 64 * 1024;
void handle_refit(Scheduler& s, http::Request&& request, const http::Responder& respond);

}  // namespace tessera::service
