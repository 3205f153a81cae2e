#include "json/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "json/document.h"
#include "json/value_scanner.h"
#include "json/writer.h"

namespace tessera::json {

namespace dom = simdjson::dom;

/// Turns our two-word handle into simdjson's and back. Their layout is the same: a document and an
/// index into its tape.
struct Access {
  struct Handle {
    const dom::document* document;
    std::size_t index;
  };
  static_assert(sizeof(dom::element) == sizeof(Handle));
  static_assert(std::is_trivially_copyable_v<dom::element>);

  static const Document& document(const Value& value) {
    return *static_cast<const Document*>(value.doc_);
  }
  static std::size_t index(const Value& value) { return value.index_; }
  static dom::element element(const Value& value) {
    return std::bit_cast<dom::element>(Handle{&document(value).parser.doc, value.index_});
  }
  static Value value(const void* document, dom::element element) {
    Value made;
    made.doc_ = document;
    made.index_ = std::bit_cast<Handle>(element).index;
    return made;
  }
  static Value sibling(const Value& of, dom::element element) { return value(of.doc_, element); }
};

namespace {

constexpr std::size_t kMaxDepth = 128;

/// A parser that once read a huge body gives the memory back when ordinary ones follow.
constexpr std::size_t kKeptCapacity = std::size_t{4} << 20;

/// True when a string or bracket is still open at the end: the sender was cut off.
bool cut_off(std::string_view text) {
  ValueScanner value;
  while (!text.empty() && !value.open()) {
    std::size_t size = 1;
    if (ValueScanner::begins(text.front())) {
      value.begin(text.front());
      size = value.feed(text);
    }
    text.remove_prefix(size);
  }
  return value.open();
}

Error parse_error(std::string_view text, simdjson::error_code code) {
  if (text::trim(text).empty()) return {Code::kInvalid, "EOF"};
  if (code == simdjson::DEPTH_ERROR) {
    return {Code::kInvalid, fmt::format("invalid JSON: nested deeper than {}", kMaxDepth)};
  }
  if (code == simdjson::CAPACITY || code == simdjson::MEMALLOC) {
    return {Code::kExhausted, fmt::format("JSON of {} bytes is too large", text.size())};
  }
  if (cut_off(text)) return {Code::kInvalid, "unexpected EOF"};
  return {Code::kInvalid, fmt::format("invalid JSON: {}", simdjson::error_message(code))};
}

void dump_to(Writer& out, const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kNull:
      out.null();
      break;
    case Kind::kBool:
      out.boolean(value.boolean().value_or(false));
      break;
    case Kind::kString:
      out.string(value.string_or(""));
      break;
    case Kind::kNumber:
      out.raw(value.literal().value_or("0"));
      break;
    case Kind::kArray:
      out.begin_array();
      value.for_each_element([&](Value element) { dump_to(out, element); });
      out.end_array();
      break;
    case Kind::kObject:
      out.begin_object();
      value.for_each_member([&](std::string_view key, Value member) {
        out.key(key);
        dump_to(out, member);
      });
      out.end_object();
      break;
  }
}

}  // namespace

Kind Value::kind() const {
  if (missing()) return Kind::kMissing;
  switch (Access::element(*this).type()) {
    case dom::element_type::ARRAY:
      return Kind::kArray;
    case dom::element_type::OBJECT:
      return Kind::kObject;
    case dom::element_type::STRING:
      return Kind::kString;
    case dom::element_type::BOOL:
      return Kind::kBool;
    case dom::element_type::NULL_VALUE:
      return Kind::kNull;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE:
      return Kind::kNumber;
  }
  return Kind::kMissing;
}

std::optional<std::string_view> Value::string() const {
  if (kind() != Kind::kString) return std::nullopt;
  return Access::element(*this).get_string().value_unsafe();
}

std::optional<std::int64_t> Value::integer() const {
  if (missing() || Access::element(*this).type() != dom::element_type::INT64) return std::nullopt;
  return Access::element(*this).get_int64().value_unsafe();
}

std::optional<double> Value::number() const {
  if (kind() != Kind::kNumber) return std::nullopt;
  return Access::element(*this).get_double().value_unsafe();
}

std::optional<bool> Value::boolean() const {
  if (kind() != Kind::kBool) return std::nullopt;
  return Access::element(*this).get_bool().value_unsafe();
}

std::optional<std::string_view> Value::literal() const {
  if (kind() != Kind::kNumber) return std::nullopt;
  const Document& document = Access::document(*this);
  if (!document.numbers) document.numbers = locate_numbers(document);
  const auto spot = std::lower_bound(
      document.numbers->begin(), document.numbers->end(), index_,
      [](const NumberSpot& number, std::size_t index) { return number.tape_index < index; });
  if (spot == document.numbers->end() || spot->tape_index != index_) return std::nullopt;
  return spot->text;
}

Value Value::operator[](std::string_view key) const {
  Value found;
  if (kind() != Kind::kObject) return found;
  const dom::object object = Access::element(*this).get_object().value_unsafe();
  for (const auto& [name, element] : object) {
    if (name == key) found = Access::sibling(*this, element);
  }
  return found;
}

Value Value::find_ignoring_case(std::string_view key) const {
  Value exact;
  Value similar;
  for_each_member([&](std::string_view name, Value member) {
    if (name == key) {
      exact = member;
    } else if (text::equals_ignoring_case(name, key)) {
      similar = member;
    }
  });
  return exact.missing() ? similar : exact;
}

std::size_t Value::size() const {
  // Counted, since the number on the tape saturates at 2^24.
  std::size_t count = 0;
  for_each_element([&](Value) { ++count; });
  for_each_member([&](std::string_view, Value) { ++count; });
  return count;
}

void Value::visit_members(MemberFn f, void* context) const {
  if (kind() != Kind::kObject) return;
  const dom::object object = Access::element(*this).get_object().value_unsafe();
  for (const auto& [name, element] : object) f(context, name, Access::sibling(*this, element));
}

void Value::visit_elements(ElementFn f, void* context) const {
  if (kind() != Kind::kArray) return;
  const dom::array array = Access::element(*this).get_array().value_unsafe();
  for (const dom::element element : array) f(context, Access::sibling(*this, element));
}

std::string Value::dump() const {
  Writer out;
  dump_to(out, *this);
  return std::move(out).take();
}

Error structure_error(std::string_view text) { return parse_error(text, simdjson::TAPE_ERROR); }

struct Parser::Impl {
  Document document;

  /// Padding lies behind the text, which may be nested so many levels deep.
  Result<Value> read(std::string_view text, std::size_t levels) {
    document.numbers.reset();
    document.source = text;
    dom::parser& parser = document.parser;
    if (parser.capacity() < text.size() || parser.max_depth() != levels) {
      const auto code = parser.allocate(text.size() + 64, levels);
      if (code != simdjson::SUCCESS) return tl::unexpected(parse_error(text, code));
    }
    dom::element root;
    const auto code = parser.parse(text.data(), text.size(), false).get(root);
    if (code != simdjson::SUCCESS) return tl::unexpected(parse_error(text, code));
    return Access::value(&document, root);
  }
};

Parser::Parser() : impl_(std::make_unique<Impl>()) {}
Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;
Parser& Parser::operator=(Parser&&) noexcept = default;

Result<Value> Parser::parse(std::string_view text) {
  // Through a copy of its own memory, so that a text that lies in the last document is safe.
  std::string copy;
  copy.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  copy.append(text);
  return parse(std::move(copy));
}

Result<Value> Parser::parse(std::string&& text) {
  impl_->document.owned = std::move(text);
  return parse_in_place(impl_->document.owned);
}

Result<Value> Parser::parse_in_place(std::string& text) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  dom::parser& parser = impl_->document.parser;
  if (parser.capacity() > kKeptCapacity && text.size() <= kKeptCapacity) parser = dom::parser();
  return impl_->read(text, kMaxDepth);
}

Result<Value> Parser::parse_part(std::string_view part, std::size_t depth) {
  static_assert(simdjson::SIMDJSON_PADDING <= 64);
  return impl_->read(part, kMaxDepth - std::min(depth, kMaxDepth - 1));
}

std::string_view Parser::source() const { return impl_->document.source; }

}  // namespace tessera::json
