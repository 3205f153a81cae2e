/// What a Value points to: the parser's tape, the received text, and, made on demand, where the
/// fractions stand in it. Internal to the module.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::json {

struct NumberSpot {
  std::size_t tape_index = 0;
  std::string_view text;
};

struct Document {
  simdjson::dom::parser parser;
  std::string owned;        ///< empty when the caller keeps the memory
  std::string_view source;  ///< what was parsed, padded
  /// Filled by the first literal() of a document; one forward pass, so that many literals stay
  /// linear.
  mutable std::optional<std::vector<NumberSpot>> numbers;
};

/// What is said of a text whose brackets and commas do not make a whole.
Error structure_error(std::string_view text);

/// Every number of the document with its text, in document order.
std::vector<NumberSpot> locate_numbers(const Document& document);

}  // namespace tessera::json
