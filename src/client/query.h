/// Values in the query of a URL. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tessera::client {

/// Percent-encodes everything but unreserved characters.
std::string escape_query(std::string_view text);

}  // namespace tessera::client
