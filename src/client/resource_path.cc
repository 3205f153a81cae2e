#include "client/resource_path.h"

#include <vector>

namespace tessera::client {
namespace {

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> out;
  path = path.substr(0, path.find('?'));
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return out;
}

}  // namespace

/// /api/v1/… or /apis/<group>/<version>/…, then namespaces/<ns>/ or not, then
/// <resource>[/<name>[/<sub-resource>]].
std::string resource_of(std::string_view path) {
  const std::vector<std::string_view> parts = segments_of(path);
  std::size_t at = 0;
  if (!parts.empty() && parts[0] == "api") at = 2;
  if (!parts.empty() && parts[0] == "apis") at = 3;
  if (at == 0 || parts.size() <= at) return "other";
  if (parts[at] == "namespaces" && parts.size() > at + 2) at += 2;
  std::string resource(parts[at]);
  if (parts.size() > at + 2) {
    resource += '/';
    resource += parts[at + 2];
  }
  return resource;
}

}  // namespace tessera::client
