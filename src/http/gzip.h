/// Packed answers, for large pages that are fetched often. zlib stays inside. Thread rule: pure
/// functions; a packed source belongs to one thread at a time as every source does.
#pragma once

#include <memory>
#include <string_view>

#include "http/pieces.h"
#include "http/server.h"

namespace tessera::http {

/// Whether an Accept-Encoding header takes gzip ("gzip;q=0" does not).
bool accepts_gzip(std::string_view accept_encoding);

/// Packs the body and says so in the headers. Short bodies stay as they are.
void gzip(Response& response);

/// Puts the packed form in the place of `source`; the headers say so then. As it is when zlib
/// refuses.
void gzip(Response& head, std::unique_ptr<PieceSource>& source);

}  // namespace tessera::http
