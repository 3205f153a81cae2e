#include "http/metrics_answer.h"

#include <utility>

#include "http/gzip.h"
#include "obs/exposition.h"

namespace tessera::http {

MetricsForm metrics_form(const Request& request) {
  return {.open = obs::accepts_open_metrics(request.header("accept")),
          .packed = accepts_gzip(request.header("accept-encoding"))};
}

Response metrics_answer(std::string page, MetricsForm form) {
  Response response{.body = std::move(page)};
  response.content_type = std::string(form.open ? obs::kOpenMetricsType : obs::kPlainTextType);
  if (form.open) response.body = obs::open_metrics(response.body);
  if (form.packed) gzip(response);
  return response;
}

}  // namespace tessera::http
