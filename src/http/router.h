/// Finds the route of a request: exact paths first, then the longest prefix. What has no route gets
/// the answers that users of HAMi know: 404 `404 page not found`, 405 with Allow, OPTIONS with
/// Allow, and a redirect when only a slash or the letter case differs. Thread rule: immutable after
/// construction.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"

namespace tessera::http {

class Router {
 public:
  explicit Router(std::vector<Route> routes);

  struct Match {
    const Route* route = nullptr;
    Response fallback;  ///< the answer when route is null
  };
  /// HEAD finds a GET route.
  Match find(std::string_view method, std::string_view path, std::string_view query) const;

 private:
  const Route* find_route(std::string_view method, std::string_view path) const;
  std::vector<std::string> methods_of(std::string_view path) const;
  const Route* find_similar(std::string_view method, std::string_view path) const;

  std::vector<Route> routes_;  // exact ones first, then prefixes, the longest first
};

}  // namespace tessera::http
