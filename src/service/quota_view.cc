#include "service/quota_view.h"

#include <utility>

namespace tessera::service {

void QuotaView::publish(core::QuotaBook book) {
  auto fresh = std::make_shared<const core::QuotaBook>(std::move(book));
  const std::lock_guard guard(mutex_);
  book_.swap(fresh);
}

std::shared_ptr<const core::QuotaBook> QuotaView::get() const {
  const std::lock_guard guard(mutex_);
  return book_;
}

}  // namespace tessera::service
