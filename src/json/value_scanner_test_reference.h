/// What ValueScanner finds, found byte by byte.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "json/value_scanner.h"

namespace tessera::json {

/// The place behind the value that begins the text; nullopt when it does not end there. Quotes
/// behind a backslash count for nothing outside strings either: no JSON has any there.
inline std::optional<std::size_t> end_byte_by_byte(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false, escaped = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' && !escaped) in_string = !in_string;
    if (!in_string && (c == '{' || c == '[')) ++depth;
    if (!in_string && (c == '}' || c == ']')) --depth;
    escaped = c == '\\' && !escaped;
    if (depth == 0 && !in_string) return at + 1;
  }
  return std::nullopt;
}

/// The same by the scanner; `piece()` says how long the next piece is.
template <class F>
std::optional<std::size_t> end_by_pieces(
    std::string_view text, F&& piece, ValueScanner::Registers registers = ValueScanner::widest()) {
  ValueScanner value;
  value.begin(text.front());
  std::size_t at = 0;
  while (at < text.size() && value.open()) at += value.feed(text.substr(at, piece()), registers);
  return value.open() ? std::nullopt : std::optional(at);
}

}  // namespace tessera::json
