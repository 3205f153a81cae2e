/// A page of metrics as the client wants it: plain text or OpenMetrics, packed or not. Thread rule:
/// pure functions.
#pragma once

#include <string>

#include "http/server.h"

namespace tessera::http {

/// What the headers of a request say.
struct MetricsForm {
  bool open = false, packed = false;
};
MetricsForm metrics_form(const Request& request);
/// `page` in the text format 0.0.4.
Response metrics_answer(std::string page, MetricsForm form);

}  // namespace tessera::http
