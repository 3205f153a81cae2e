/// A page of metrics as the client wants it: plain text or OpenMetrics, packed or not. Thread rule:
/// pure functions; send_metrics is called on the thread that makes the page.
#pragma once

#include <memory>
#include <string>

#include "http/pieces.h"
#include "http/server.h"

namespace tessera::http {

/// What the headers of a request say.
struct MetricsForm {
  bool open = false, packed = false;
};
MetricsForm metrics_form(const Request& request);
/// `page` in the text format 0.0.4.
Response metrics_answer(std::string page, MetricsForm form);
/// The same for a page that is made piece by piece, each of them whole lines. One of a single piece
/// goes out as metrics_answer would send it, a longer one as it is made.
void send_metrics(const Responder& respond, MetricsForm form, std::unique_ptr<PieceSource> page,
                  Producer producer);

}  // namespace tessera::http
