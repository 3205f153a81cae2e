/// The way to the API server, made when it is needed for the first time: whoever only filters and
/// scores full nodes needs no credentials. Thread rule: any thread; close() once, by the owner.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "client/api.h"
#include "client/credentials.h"
#include "obs/metrics.h"

namespace tessera::label_priority {

class KubeAccess {
 public:
  using Find = std::function<Result<client::Credentials>()>;
  KubeAccess(Find find, client::ApiClientOptions options, obs::Metrics& metrics);

  /// Looks for credentials again each time until there are some. The client lives as long as this.
  Result<client::ApiClient*> get();
  void close();  ///< answers that are still out come to nobody

 private:
  const Find find_;
  const client::ApiClientOptions options_;
  obs::Metrics& metrics_;
  std::mutex mutex_;
  bool closed_ = false;
  std::unique_ptr<client::ApiClient> api_;
};

}  // namespace tessera::label_priority
