/// Packed answers, for large pages that are fetched often. zlib stays inside. Thread rule: pure
/// functions.
#pragma once

#include <string_view>

#include "http/server.h"

namespace tessera::http {

/// Whether an Accept-Encoding header takes gzip ("gzip;q=0" does not).
bool accepts_gzip(std::string_view accept_encoding);

/// Packs the body and says so in the headers. Short bodies stay as they are.
void gzip(Response& response);

}  // namespace tessera::http
