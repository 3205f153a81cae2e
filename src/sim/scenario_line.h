/// One line of a scenario file as words, with errors that name file, line and word. Used by the
/// parser alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::sim {

/// Blanks separate words; "..." keeps blanks (`@key="a b"`); # at the start of a word begins a
/// comment.
class Line {
 public:
  static Result<Line> split(std::string_view text, std::string where);

  bool done() const { return next_ == words_.size(); }
  std::string_view peek() const { return done() ? std::string_view() : words_[next_]; }
  std::string take() { return done() ? std::string() : words_[next_++]; }
  bool take_if(std::string_view word);
  std::string rest();  ///< words not taken yet, joined by one blank

  /// "FILE:LINE: what "word"".
  tl::unexpected<Error> wrong(std::string_view what, std::string_view word) const;
  tl::unexpected<Error> wrong(std::string_view what) const;

 private:
  explicit Line(std::string where) : where_(std::move(where)) {}
  std::string where_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

struct KeyValue {
  std::string key, value;
};
/// "mem=81920"; nullopt when there is no '=' behind the first character.
std::optional<KeyValue> key_value(std::string_view word);
/// The value as a whole number of at least 0.
Result<std::int64_t> whole(const Line& line, const KeyValue& kv);

}  // namespace tessera::sim
