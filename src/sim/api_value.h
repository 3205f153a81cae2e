/// A mutable JSON tree for the embedded API server. Members keep their order of arrival and numbers
/// their text, so that an object is served as it was sent. Thread rule: plain values; a tree inside
/// shared_ptr<const StoredObject> is never modified again.
///   Value pod = *Value::parse(body);
///   pod.make("spec").make("nodeName") = "n1";
///   pod["metadata"]["name"].text();
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tessera::sim::api {

class Value {
 public:
  using Member = std::pair<std::string, Value>;
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;

  Value();
  // out of line: inlined into callers they are large, and GCC warns about unused parts of the
  // variant
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  Value(std::same_as<bool> auto flag) : data_(flag) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T number) : data_(Number{std::to_string(number)}) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(std::string_view text) : data_(std::string(text)) {}
  Value(const char* text) : data_(std::string(text)) {}
  static Value object(std::initializer_list<Member> members = {});
  static Value array(std::vector<Value> items = {});
  static Value number(std::string text);  ///< the text must be a JSON number

  /// Errors say where; nesting deeper than 200 and trailing text are refused; of equal keys the
  /// last wins.
  static Result<Value> parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_number() const { return std::holds_alternative<Number>(data_); }
  bool is_true() const;
  /// The string, "" for anything else.
  const std::string& text() const;
  std::optional<std::int64_t> integer() const;

  /// A null value when absent, so that reads can be chained.
  const Value& operator[](std::string_view key) const;
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The member, made when absent; a value that is not an object becomes one.
  Value& make(std::string_view key);
  bool erase(std::string_view key);

  /// Empty for anything else.
  const Object& members() const;
  const Array& items() const;
  Object& members();  ///< a value that is not an object becomes one
  Array& items();     ///< a value that is not an array becomes one

  std::string dump() const;
  void append_to(std::string& out) const;
  bool operator==(const Value& other) const;  ///< order of members does not matter

 private:
  struct Number {
    std::string text;
    bool operator==(const Number&) const = default;
  };
  std::variant<std::monostate, bool, Number, std::string, Array, Object> data_;
};

/// Appends `text` as a JSON string with its quotes.
void append_quoted(std::string& out, std::string_view text);

}  // namespace tessera::sim::api
