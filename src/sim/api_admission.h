/// The mutating webhook of the embedded API server: pods that are created over HTTP are shown to it
/// first, its patch applied, its refusal passed on. failurePolicy Ignore: a webhook that does not
/// answer changes nothing. Thread rule: any thread; `done` runs on the client's thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "client/api.h"
#include "obs/metrics.h"
#include "sim/api_call.h"

namespace tessera::sim::api {

/// {"request":{…,"object":…}} as an API server sends it.
std::string admission_review(const Target& target, const Value& object, std::string_view uid,
                             bool dry_run);

/// What becomes of the object: the patched one, or the refusal. An answer that says nothing
/// useful leaves it as it is.
struct Admitted {
  Value object;
  std::optional<Reply> refused;
};
Admitted apply_admission(Value object, std::string_view answer);

class Admission {
 public:
  /// "http://127.0.0.1:8080/webhook"; "" = none.
  void set_url(const std::string& url);
  /// Pods that are being created, while there is a webhook.
  bool applies(const Call& call, const Target& target) const;
  void review(Call call, const Target& target,
              std::function<void(Call call, std::optional<Reply> refused)> done);

 private:
  mutable std::mutex mutex_;
  obs::Metrics metrics_;
  std::string path_;
  std::uint64_t reviews_ = 0;
  std::shared_ptr<client::ApiClient> client_;  ///< null: no webhook
};

}  // namespace tessera::sim::api
