/// Texts of HTTP/1.1: reason phrases, heads of responses, percent escapes, dates. Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/server.h"

namespace tessera::http {

std::string_view reason_phrase(int status);

/// nullopt when an escape is broken ("%zz", "%4").
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank);

/// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::chrono::sys_seconds time);

enum class Framing : std::uint8_t { kLength, kChunked, kUntilClose };

struct HeadFacts {
  Framing framing = Framing::kLength;
  bool keep_alive = true;
  bool http11 = true;
  std::string_view date;
};

/// Status line and fields up to and with the empty line. Content-Length is that of response.body
/// and rest. Line ends inside header values become blanks, so that no handler can split a response.
std::string render_head(const Response& response, const HeadFacts& facts);

/// A short answer for people: text/plain, the text ends with a line end as Go's servers write it.
Response plain_answer(int status, std::string_view text);

}  // namespace tessera::http
