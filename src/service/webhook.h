/// The mutating admission webhook: finds device pods, completes and checks them. No I/O; the HTTP
/// route calls it with the body. Source: spec/scheduler.md section 15, spec/extender-protocol.md
/// section 7, decisions D7. Thread rule: pure function of its arguments; one parser per thread.
#pragma once

#include <string>
#include <string_view>

#include "json/reader.h"
#include "vendors/vendors.h"

namespace tessera::service {

struct WebhookOptions {
  std::string scheduler_name;   ///< put on device pods; "" = left alone
  bool force_overwrite = true;  ///< pods of default-scheduler become ours
};

/// The body of the answer, for HTTP code 200. A review that cannot be read gives a denial that says
/// why.
std::string answer_admission(json::Parser& parser, std::string body,
                             const vendors::Vendors& vendors, const WebhookOptions& options,
                             std::string_view content_type);

}  // namespace tessera::service
