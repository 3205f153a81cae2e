/// Turns what the webhook decided into JSON Patch operations on the pod as received: nothing else
/// of it is touched, and parents are created only where they are absent. Thread rule: pure
/// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/patch.h"
#include "json/reader.h"
#include "k8s/objects.h"
#include "vendors/vendors.h"

namespace tessera::service {

/// Sets spec.<field> to a text.
void patch_spec_text(json::PatchBuilder& patch, json::Value pod, std::string_view field,
                     std::string_view value);

/// Limits, requests and environment of every container.
void patch_containers(json::PatchBuilder& patch, json::Value pod, const k8s::Pod& decoded,
                      const vendors::Vendors::Mutation& mutation);

/// Removes annotations and labels that only schedulers and agents write; their keys.
std::vector<std::string> patch_out_scheduler_keys(json::PatchBuilder& patch, json::Value pod,
                                                  const vendors::Vendors& vendors);

}  // namespace tessera::service
