#include "service/reject_groups.h"

namespace tessera::service {

void RejectGroups::clear() {
  used_ = 0;
  found_.clear();
  numbers_.clear();
}

const RejectGroups::Group& RejectGroups::add(const core::Reject& reject) {
  const std::uint32_t number = number_of(reject);
  numbers_.push_back(number);
  ++groups_[number].nodes;
  return groups_[number];
}

std::uint32_t RejectGroups::number_of(const core::Reject& reject) {
  // Nodes that look alike follow one another.
  if (!numbers_.empty() && groups_[numbers_.back()].reject == reject) return numbers_.back();
  const auto next = static_cast<std::uint32_t>(used_);
  const auto [at, fresh] = found_.try_emplace(reject, next);
  if (!fresh) return at->second;
  if (groups_.size() == used_) groups_.emplace_back();
  groups_[used_++] = {reject, reject.text(), reject.unresolvable(), 0};
  return next;
}

}  // namespace tessera::service
