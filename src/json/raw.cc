// Finds an array inside a large text, and the received text of each of its elements.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "json/document.h"
#include "json/reader.h"
#include "json/value_scanner.h"

namespace tessera::json {
namespace {

/// Walks over JSON text without building anything. On malformed text it stops somewhere inside; it
/// never reads outside.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  std::size_t place() const { return at_; }
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  /// Consumes `c` and the blanks around it.
  bool take(char c) {
    skip_blanks();
    if (!at(c)) return false;
    ++at_;
    skip_blanks();
    return true;
  }
  /// The text of one value; empty where none begins.
  std::string_view value() {
    skip_blanks();
    const std::size_t begin = at_;
    if (at_ < text_.size() && ValueScanner::begins(text_[at_])) {
      scanner_.begin(text_[at_]);
      at_ += scanner_.feed(text_.substr(at_));
    } else {
      at_ = std::min(text_.find_first_of(",:]} \t\r\n", at_), text_.size());
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  ValueScanner scanner_;
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

/// Calls `member(name)` at each value of the object that begins here; it must consume the value and
/// say whether that went well. False: this is no object, or not a whole one.
template <class F>
bool each_member(Cursor& cursor, F&& member) {
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  do {
    if (!cursor.at('"')) return false;
    const std::string name = plain_key(cursor.value());
    if (!cursor.take(':') || !member(name)) return false;
  } while (cursor.take(','));
  return cursor.take('}');
}

/// Of several members with this name, the same choice as Value::find_ignoring_case.
class Choice {
 public:
  explicit Choice(std::string_view key) : key_(key) {}
  bool concerns(std::string_view name) const { return text::equals_ignoring_case(name, key_); }
  void put(std::string_view name, std::optional<ArrayText> found) {
    if (name == key_) has_exact_ = true;
    (name == key_ ? exact_ : similar_) = std::move(found);
  }
  std::optional<ArrayText> take() { return std::move(has_exact_ ? exact_ : similar_); }

 private:
  std::string_view key_;
  bool has_exact_ = false;
  std::optional<ArrayText> exact_, similar_;
};

bool read_array(Cursor& cursor, ArrayText& array) {
  array.begin = cursor.place();
  cursor.take('[');
  if (!cursor.at(']')) {
    do {
      const std::string_view element = cursor.value();
      if (element.empty()) return false;
      array.elements.push_back(element);
    } while (cursor.take(','));
  }
  if (!cursor.at(']')) return false;
  array.end = cursor.place() + 1;
  return cursor.take(']');
}

/// Goes to the member of `choice`, wherever it stands in the object; `inner` looks into it.
template <class F>
bool choose(Cursor& cursor, Choice& choice, char opening, F&& inner) {
  return each_member(cursor, [&](std::string_view name) {
    if (!choice.concerns(name) || !cursor.at(opening)) {
      if (choice.concerns(name)) choice.put(name, std::nullopt);
      return !cursor.value().empty();
    }
    return inner(name);
  });
}

}  // namespace

Result<std::optional<ArrayText>> find_array(std::string_view text, std::string_view key1,
                                            std::string_view key2) {
  Cursor cursor(text);
  cursor.skip_blanks();
  if (!cursor.at('{')) return std::nullopt;
  Choice outer(key1);
  const bool whole = choose(cursor, outer, '{', [&](std::string_view name1) {
    Choice inner(key2);
    const bool read = choose(cursor, inner, '[', [&](std::string_view name2) {
      ArrayText array;
      if (!read_array(cursor, array)) return false;
      inner.put(name2, std::move(array));
      return true;
    });
    outer.put(name1, inner.take());
    return read;
  });
  if (!whole) return tl::unexpected(structure_error(text));
  return outer.take();
}

}  // namespace tessera::json
