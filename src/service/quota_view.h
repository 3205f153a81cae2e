/// What the webhook's threads may know of quotas: a picture that the state thread replaces when
/// limits or use have changed. It may be a moment old; the reservation is where quota is enforced.
/// Thread rule: any thread; readers never wait for the state thread.
#pragma once

#include <memory>
#include <mutex>

#include "core/quota.h"

namespace tessera::service {

class QuotaView {
 public:
  void publish(core::QuotaBook book);
  /// Null until the first one was published.
  std::shared_ptr<const core::QuotaBook> get() const;

 private:
  mutable std::mutex mutex_;  // held for the copy of a pointer
  std::shared_ptr<const core::QuotaBook> book_;
};

}  // namespace tessera::service
