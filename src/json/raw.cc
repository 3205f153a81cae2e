// Finds the received text of array elements, so that a caller can send them back byte for byte.
#include <fmt/format.h>

#include "base/text.h"
#include "json/reader.h"

namespace tessera::json {
namespace {

/// Walks over JSON text without building anything. On malformed text it stops at the end; it never
/// reads outside.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool done() const { return at_ >= text_.size(); }
  void step() { ++at_; }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  /// Consumes `c` and the blanks around it.
  bool take(char c) {
    skip_blanks();
    if (!at(c)) return false;
    step();
    skip_blanks();
    return true;
  }
  std::string_view skip_value() {
    skip_blanks();
    const std::size_t begin = at_;
    if (at('"')) {
      skip_string();
    } else if (at('{') || at('[')) {
      skip_nested();
    } else {
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  void skip_string() {
    ++at_;
    while (true) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) {
        at_ = text_.size();
        return;
      }
      std::size_t slashes = 0;
      while (quote - slashes > at_ && text_[quote - slashes - 1] == '\\') ++slashes;
      at_ = quote + 1;
      if (slashes % 2 == 0) return;
    }
  }
  void skip_nested() {
    std::size_t depth = 0;
    while (!done()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return;
    }
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

/// The key without quotes and escapes. Escapes in keys are rare enough for a parser of their own.
std::string plain_key(std::string_view quoted) {
  if (quoted.size() < 2) return {};
  if (quoted.find('\\') == std::string_view::npos) {
    return std::string(quoted.substr(1, quoted.size() - 2));
  }
  Parser parser;
  const auto value = parser.parse(quoted);
  return value ? std::string(value->string_or("")) : std::string();
}

/// Same choice as Value::find_ignoring_case. Empty when there is no such member.
std::string_view find_member(std::string_view object, std::string_view key) {
  Cursor cursor(object);
  if (!cursor.take('{')) return {};
  std::string_view exact;
  std::string_view similar;
  while (!cursor.done() && cursor.at('"')) {
    const std::string name = plain_key(cursor.skip_value());
    if (!cursor.take(':')) break;
    const std::string_view value = cursor.skip_value();
    if (name == key) {
      exact = value;
    } else if (text::equals_ignoring_case(name, key)) {
      similar = value;
    }
    if (!cursor.take(',')) break;
  }
  return exact.empty() ? similar : exact;
}

bool absent(std::string_view value) { return value.empty() || value == "null"; }

}  // namespace

Result<std::vector<std::string_view>> raw_elements(std::string_view text, std::string_view key1,
                                                   std::string_view key2) {
  std::vector<std::string_view> elements;
  const std::string_view outer = find_member(text, key1);
  if (absent(outer)) return elements;
  if (outer.front() != '{') return fail(Code::kInvalid, fmt::format("{} is not an object", key1));
  const std::string_view array = find_member(outer, key2);
  if (absent(array)) return elements;
  Cursor cursor(array);
  if (!cursor.take('['))
    return fail(Code::kInvalid, fmt::format("{}.{} is not an array", key1, key2));
  while (!cursor.done() && !cursor.at(']')) {
    const std::string_view element = cursor.skip_value();
    if (element.empty()) break;
    elements.push_back(element);
    if (!cursor.take(',')) break;
  }
  return elements;
}

}  // namespace tessera::json
