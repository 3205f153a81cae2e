/// Random JSON for property tests.
#pragma once

#include <rapidcheck.h>

#include <iterator>
#include <string>
#include <string_view>

#include "json/writer.h"

namespace tessera::json {

/// A string that looks like structure, or backslashes and quotes of any number.
inline std::string any_text() {
  static constexpr std::string_view kTexts[] = {"",  "items", "\"items\":[", "]},{",  "a\\",
                                                "[", "\"",    "\\\"",        "\n\t ", "plain text"};
  const auto which = *rc::gen::inRange<std::size_t>(0, std::size(kTexts) + 2);
  if (which < std::size(kTexts)) return std::string(kTexts[which]);
  const auto length = *rc::gen::inRange<std::size_t>(0, 140);
  return std::string(length, which == std::size(kTexts) ? '\\' : '"');
}

/// A value of at most that depth.
inline void write_any(Writer& w, int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 5 : 3);
  if (kind == 0) w.string(any_text());
  if (kind == 1) w.integer(*rc::gen::inRange(-100, 100));
  if (kind == 2) w.null();
  if (kind < 3) return;
  const int count = *rc::gen::inRange(0, 4);
  kind == 3 ? w.begin_object() : w.begin_array();
  for (int i = 0; i < count; ++i) {
    if (kind == 3) w.key(any_text());
    write_any(w, depth - 1);
  }
  kind == 3 ? w.end_object() : w.end_array();
}

}  // namespace tessera::json
