#include "core/cluster_lift.h"

#include "core/cluster_impl.h"

namespace tessera::core {

std::optional<Lift::Handle> Lift::know(const PodUid& uid) {
  const auto found = cluster_.impl_->holds.find(uid);
  if (found == cluster_.impl_->holds.end()) return std::nullopt;
  const Cluster::Impl::Record& record = found->second;
  const Allocation& allocation = record.hold.allocation;
  Pod pod{record.node, false, effective_charges(allocation), allocation.subject, {}};
  // Where nothing is limited the account need not be touched.
  if (cluster_.impl_->quotas.limits(pod.subject.ns)) pod.needs = quota_needs(allocation);
  if (pod.charges.empty() && pod.needs.empty()) return std::nullopt;
  pods_.push_back(std::move(pod));
  return static_cast<Handle>(pods_.size() - 1);
}

void Lift::off(Handle handle) {
  Pod& pod = pods_[handle];
  if (pod.lifted) return;
  Cluster::Impl& books = *cluster_.impl_;
  for (const Charge& charge : pod.charges) books.remove_charge(books.state(pod.node), charge);
  books.quotas.uncharge(pod.subject, pod.needs);
  pod.lifted = true;
}

void Lift::on(Handle handle) {
  Pod& pod = pods_[handle];
  if (!pod.lifted) return;
  Cluster::Impl& books = *cluster_.impl_;
  for (const Charge& charge : pod.charges) books.add_charge(books.state(pod.node), charge);
  books.quotas.charge(pod.subject, pod.needs);
  pod.lifted = false;
}

Lift::~Lift() {
  for (Handle pod = 0; pod < pods_.size(); ++pod) on(pod);
}

}  // namespace tessera::core
