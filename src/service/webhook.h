/// The mutating admission webhook: finds device pods, completes and checks them. No I/O and no
/// memory: a dry run is answered like any other review. The HTTP route calls it with the body.
/// Source: spec/scheduler.md section 15, spec/extender-protocol.md section 7, decisions D7, D8.
/// Thread rule: pure function of its arguments; one parser per thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/reader.h"
#include "service/quota_view.h"
#include "vendors/vendors.h"

namespace tessera::service {

struct WebhookOptions {
  std::string scheduler_name;   ///< put on device pods; "" = left alone
  bool force_overwrite = true;  ///< pods of default-scheduler become ours
  /// Null, or nothing published yet: quota is not checked here; the reservation enforces it.
  const QuotaView* quotas = nullptr;
};

/// kError: the review or its pod could not be read.
enum class WebhookResult : std::uint8_t { kMutated, kUnchanged, kDenied, kError };
std::string_view webhook_result_word(WebhookResult result);

struct WebhookAnswer {
  std::string body;  ///< for HTTP code 200, whatever the result
  WebhookResult result = WebhookResult::kUnchanged;
};

/// A review that cannot be read gives a denial that says why.
WebhookAnswer answer_admission(json::Parser& parser, std::string body,
                               const vendors::Vendors& vendors, const WebhookOptions& options,
                               std::string_view content_type);

}  // namespace tessera::service
