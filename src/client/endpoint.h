/// The parts of an API server's address. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::client {

struct Endpoint {
  bool https = true;
  std::string host;    ///< IPv6 in its brackets
  std::string port;    ///< always given
  std::string prefix;  ///< "/k8s/clusters/a" or empty
};

/// "https://host[:port][/prefix]" without user, query or fragment; errors quote the value.
Result<Endpoint> parse_server(std::string_view server);
/// The same for a server that was checked before.
Endpoint split_server(std::string_view server);
/// localhost, 127/8 or ::1.
bool is_loopback(std::string_view server);

}  // namespace tessera::client
