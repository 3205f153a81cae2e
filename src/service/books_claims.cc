// Slices held for pods that wait for others to leave.
#include <utility>

#include "service/books.h"

namespace tessera::service {

void Books::claim(const PodRecord& pod, core::Allocation allocation, MonoTime deadline) {
  const core::Hold* before = cluster_.hold({pod.fact.uid});
  if (before != nullptr && before->state == core::HoldState::kBound) return;
  const std::string left = before == nullptr ? std::string() : before->allocation.node;
  reserved_.erase(pod.fact.uid);
  claims_[pod.fact.uid] = deadline;
  cluster_.restore({pod.fact.uid}, {std::move(allocation), core::HoldState::kReserved, deadline});
  if (!left.empty()) tell_room(left, {});
}

void Books::end_claim(const std::string& uid) {
  if (only_claims(uid))
    release(uid);
  else
    claims_.erase(uid);  // the reservation lives on as any other
}

/// A reservation that ended without a Binding: what it held stays held while the claim lasts.
bool Books::back_to_claim(const std::string& uid) {
  const auto claim = claims_.find(uid);
  if (claim == claims_.end()) return false;
  reserved_.erase(uid);
  cluster_.extend({uid}, claim->second);
  return true;
}

}  // namespace tessera::service
