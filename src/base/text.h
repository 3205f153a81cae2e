/// Small text helpers with exactly the rules that the wire formats need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::text {

std::vector<std::string_view> split(std::string_view s, char separator);  ///< keeps empty pieces
std::string_view trim(std::string_view s);  ///< ASCII blanks, tabs, line ends
bool equals_ignoring_case(std::string_view a, std::string_view b);  ///< ASCII
bool contains_ignoring_case(std::string_view haystack, std::string_view needle);
std::string lower(std::string_view s);
std::string join(const std::vector<std::string>& pieces, std::string_view separator);

/// Strict decimal with optional sign, no blanks. Errors are worded as Go's strconv does, since
/// HAMi's users know them: `strconv.ParseInt: parsing "x": invalid syntax` / `value out of range`
/// (function = "strconv.Atoi" for the other name).
Result<std::int64_t> parse_int(std::string_view s, int bits,
                               std::string_view function = "strconv.ParseInt");
/// One of 1 t T TRUE true True 0 f F FALSE false False, else `strconv.ParseBool: parsing "yes":
/// invalid syntax`.
Result<bool> parse_bool(std::string_view s);
/// Length in bytes of the UTF-8 sequence at the front of a non-empty text; 0 when it is not valid
/// (overlong, surrogate, cut off).
std::size_t utf8_length(std::string_view s);
/// Like Go's %q for printable text: quotes and escapes.
std::string quote(std::string_view s);
std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

}  // namespace tessera::text
