/// Finds where a nested value ends without reading it, 64 bytes at a step. Internal to the module.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera::json {

/// `text[begin]` is `{` or `[`. The place behind the bracket that closes it; the end of the text
/// when none does. Which kind of bracket closes is not looked at: for text that a parser accepts
/// the answer is right, for any other it lies inside the text.
std::size_t nested_end(std::string_view text, std::size_t begin);

}  // namespace tessera::json
