/// Reads JSON that came over the wire. simdjson stays behind this header.
/// A Document owns the parsed tape; Values and string views point into it and die with it (or with
/// the next parse of the same Parser). Depth is limited (128). Unsigned numbers above 2^63-1 and
/// fractions are kNumber without integer(); whole numbers of more than 64 bits are a parse error.
/// Thread rule: one Parser per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::json {

enum class Kind : std::uint8_t { kMissing, kNull, kBool, kNumber, kString, kArray, kObject };

class Member;

/// A cheap handle (16 bytes). Every accessor is total: the wrong kind gives nullopt / a kMissing
/// value / an empty range.
class Value {
 public:
  Value() = default;
  Kind kind() const;
  bool missing() const { return doc_ == nullptr; }
  bool is_null_or_missing() const {
    const Kind k = kind();
    return k == Kind::kMissing || k == Kind::kNull;
  }
  std::optional<std::string_view> string() const;
  std::string_view string_or(std::string_view fallback) const {
    return string().value_or(fallback);
  }
  std::optional<std::int64_t> integer() const;  ///< integer literals only: 8.0 and 1e3 give nullopt
  std::optional<double> number() const;
  std::optional<bool> boolean() const;
  /// The text of a number exactly as received ("1e3", "2.50"); nullopt for everything else.
  std::optional<std::string_view> literal() const;
  Value operator[](
      std::string_view key) const;  ///< last member with exactly this key; kMissing when none
  Value find_ignoring_case(std::string_view key)
      const;  ///< exact spelling wins, else the last that matches ignoring ASCII case
  std::size_t size() const;  ///< of an array or object

  template <class F>
  void for_each_member(F&& f) const;  ///< f(std::string_view key, Value value), document order
  template <class F>
  void for_each_element(F&& f) const;  ///< f(Value element), document order
  /// Compact JSON text of this value.
  std::string dump() const;

 private:
  friend class Parser;
  friend struct Access;
  using MemberFn = void (*)(void* context, std::string_view key, Value value);
  using ElementFn = void (*)(void* context, Value value);
  void visit_members(MemberFn f, void* context) const;
  void visit_elements(ElementFn f, void* context) const;
  const void* doc_ = nullptr;
  std::size_t index_ = 0;
};

class Parser {
 public:
  Parser();
  ~Parser();
  Parser(Parser&&) noexcept;
  Parser& operator=(Parser&&) noexcept;
  /// Parses one value; trailing data is an error. Copies `text`, which may die at once.
  /// An empty text gives the error "EOF", one that is cut off "unexpected EOF".
  Result<Value> parse(std::string_view text);
  Result<Value> parse(const char* text) { return parse(std::string_view(text)); }
  /// For bodies: takes the memory over and pads it in place, without a copy when there is capacity
  /// for 64 bytes more.
  Result<Value> parse(std::string&& text);
  /// The same on memory that stays the caller's: `text` gets padding (its size stays) and must
  /// outlive the Values.
  Result<Value> parse_in_place(std::string& text);
  /// A part of a larger text that stands `depth` deep in it. Nothing is copied: the part stays
  /// where it is, and 64 bytes behind its end may be read.
  Result<Value> parse_part(std::string_view part, std::size_t depth);
  /// What the last parse read; valid as long as its Values.
  std::string_view source() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// An array inside a text: its place, brackets included, and the text of each element, byte for
/// byte as received.
struct ArrayText {
  std::size_t begin = 0, end = 0;
  std::vector<std::string_view> elements;
};
/// The array at text.<key1>.<key2>, chosen as find_ignoring_case would; nullopt when something else
/// or nothing is there. One pass that builds nothing and is no validator: the text is valid when
/// the elements are and the text without them is. Errors: the brackets and commas on the way do not
/// make a whole.
Result<std::optional<ArrayText>> find_array(std::string_view text, std::string_view key1,
                                            std::string_view key2);

template <class F>
void Value::for_each_member(F&& f) const {
  visit_members([](void* c, std::string_view k,
                   Value v) { (*static_cast<std::remove_reference_t<F>*>(c))(k, v); },
                const_cast<void*>(static_cast<const void*>(&f)));
}
template <class F>
void Value::for_each_element(F&& f) const {
  visit_elements([](void* c, Value v) { (*static_cast<std::remove_reference_t<F>*>(c))(v); },
                 const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace tessera::json
