/// What may not be changed on a pod that exists: annotations and labels that only the scheduler and
/// its agents write. Nothing is ever patched on UPDATE. Source: decisions D7. Thread rule: pure
/// functions.
#pragma once

#include <optional>
#include <string>

#include "json/reader.h"
#include "k8s/admission.h"
#include "vendors/vendors.h"

namespace tessera::service {

/// Whether the API server vouches for this user as a component: nodes, service accounts, other
/// "system:" users that have logged in, and system:masters (who repair by hand). Which service
/// accounts agents and schedulers run under cannot be known here.
bool is_component(const k8s::AdmissionUser& user);

/// The first scheduler key that a person adds, changes or removes, in words; nullopt = none.
std::optional<std::string> update_objection(const k8s::AdmissionRequest& request,
                                            const vendors::Vendors& vendors);

}  // namespace tessera::service
