#include "label_priority/kube_access.h"

#include <utility>

namespace tessera::label_priority {

KubeAccess::KubeAccess(Find find, client::ApiClientOptions options, obs::Metrics& metrics)
    : find_(std::move(find)), options_(std::move(options)), metrics_(metrics) {}

Result<client::ApiClient*> KubeAccess::get() {
  const std::lock_guard guard(mutex_);
  if (api_ != nullptr) return api_.get();
  if (closed_) return fail(Code::kUnavailable, "shutting down");
  Result<client::Credentials> credentials = find_();
  if (!credentials) return tl::unexpected(credentials.error());
  api_ = std::make_unique<client::ApiClient>(std::move(*credentials), options_, metrics_);
  return api_.get();
}

void KubeAccess::close() {
  std::unique_ptr<client::ApiClient> last;  // ends without the lock: its callbacks may ask get()
  const std::lock_guard guard(mutex_);
  closed_ = true;
  last.swap(api_);
}

}  // namespace tessera::label_priority
