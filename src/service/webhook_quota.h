/// The quota check of the webhook: the same formula as at the decision and in the books, on the pod
/// as it will be after the patch. Source: spec/scheduler.md section 15.3, decisions D8. Thread
/// rule: pure functions.
#pragma once

#include <optional>
#include <string>

#include "core/quota.h"
#include "core/request.h"
#include "k8s/objects.h"
#include "vendors/vendors.h"

namespace tessera::service {

/// The pod with the limits and requests that the webhook sets.
k8s::Pod mutated_pod(k8s::Pod pod, const vendors::Vendors::Mutation& mutation);

/// Why the pod would pass a limit: which object and resource, what is used, what the pod needs and
/// which containers ask for it, how much there is left. nullopt = it fits.
std::optional<std::string> quota_objection(const core::QuotaBook& quotas,
                                           const core::Request& request,
                                           const vendors::Vendors& vendors);

}  // namespace tessera::service
