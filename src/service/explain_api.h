/// GET and POST /v1/explain: where a pod would go now, and for every node why or why not, with
/// figures. Reserves nothing; a follower answers too. Source: docs/operations.md. Thread rule: the
/// handler runs on the thread of the call, the answer is made on the state thread.
#pragma once

#include <cstddef>

#include "http/server.h"
#include "service/scheduler.h"

namespace tessera::service {

inline constexpr std::size_t kExplainMaxBody = 1U << 20;

/// GET ?namespace=&name= for a pod that the caches know, POST with a pod's manifest (JSON) for one
/// that need not exist; ?limit= bounds the nodes of the answer.
void handle_explain(Scheduler& s, http::Request&& request, const http::Responder& respond);

/// {"error": …} with this code.
http::Response api_error(int status, std::string_view problem);

}  // namespace tessera::service
