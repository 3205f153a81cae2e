/// Names that may become part of a URL path of the API server.
#pragma once

#include <algorithm>
#include <string_view>

namespace tessera::client {

/// Not as strict as Kubernetes, but nothing that passes can change the path: letters, digits, '.',
/// '-', '_', not "." or "..".
inline bool is_object_name(std::string_view name) {
  if (name.empty() || name.size() > 253 || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

}  // namespace tessera::client
