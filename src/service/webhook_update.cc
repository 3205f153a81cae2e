#include "service/webhook_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tessera::service {
namespace {

bool in_group(const k8s::AdmissionUser& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

std::string shown(json::Value value) {
  if (value.is_null_or_missing()) return "absent";
  const auto text = value.string();
  return text ? text::quote(*text) : value.dump();
}

/// Keys of either map that only schedulers write and whose values differ.
std::optional<std::string> changed_key(json::Value before, json::Value after,
                                       const vendors::Vendors& vendors) {
  std::optional<std::string> found;
  const auto look = [&](json::Value map, json::Value other) {
    map.for_each_member([&](std::string_view key, json::Value) {
      if (found || !vendors.is_scheduler_key(key)) return;
      // The last of several members with one name counts, for the API server too.
      if (shown(map[key]) != shown(other[key])) found = std::string(key);
    });
  };
  look(after, before);
  look(before, after);
  return found;
}

}  // namespace

bool is_component(const k8s::AdmissionUser& user) {
  if (user.name == "system:anonymous" || in_group(user, "system:unauthenticated")) return false;
  return user.name.starts_with("system:") || in_group(user, "system:nodes") ||
         in_group(user, "system:serviceaccounts") || in_group(user, "system:masters");
}

std::optional<std::string> update_objection(const k8s::AdmissionRequest& request,
                                            const vendors::Vendors& vendors) {
  if (is_component(request.user)) return std::nullopt;
  const json::Value before = request.old_object["metadata"], after = request.object["metadata"];
  if (before.is_null_or_missing()) return std::nullopt;
  for (const std::string_view map : {"annotations", "labels"}) {
    const auto key = changed_key(before[map], after[map], vendors);
    if (!key) continue;
    return fmt::format(
        "metadata.{}[{}] is written by the scheduler and its agents only, and user {} changes it "
        "from {} to {}: leave it as it was",
        map, text::quote(*key), text::quote(request.user.name), shown(before[map][*key]),
        shown(after[map][*key]));
  }
  return std::nullopt;
}

}  // namespace tessera::service
