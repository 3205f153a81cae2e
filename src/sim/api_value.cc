#include "sim/api_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace tessera::sim::api {
namespace {

constexpr std::size_t kMaxDepth = 200;

/// Builds a Value from the parser's calls. Returning false ends the parse.
class Builder {
 public:
  using Json = nlohmann::json;
  explicit Builder(std::size_t size) : size_(size) {}
  bool null() { return add(Value()); }
  bool boolean(bool flag) { return add(Value(flag)); }
  bool number_integer(std::int64_t number) { return add(Value(number)); }
  bool number_unsigned(std::uint64_t number) { return add(Value(number)); }
  bool number_float(double, const std::string& text) { return add(Value::number(text)); }
  bool string(std::string& text) { return add(Value(std::move(text))); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Value::object()); }
  bool start_array(std::size_t) { return open(Value::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const Json::exception&) {
    const std::string near = token.size() > 40 ? token.substr(0, 40) : token;
    error_ = position > size_ ? std::string("unexpected end of JSON input")
                              : fmt::format("invalid JSON at offset {} near {:?}", position, near);
    return false;
  }

  Value take() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  Value* place(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Value& parent = *open_.back();
    if (parent.is_array()) return &parent.items().emplace_back(std::move(value));
    Value& slot = parent.make(key_);
    slot = std::move(value);
    return &slot;
  }
  bool add(Value value) {
    place(std::move(value));
    return true;
  }
  bool open(Value value) {
    if (open_.size() >= kMaxDepth) {
      error_ = fmt::format("nested deeper than {}", kMaxDepth);
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::size_t size_;  // of the text
  Value root_;
  std::vector<Value*> open_;  // a container does not move while one of its children is open
  std::string key_, error_;
};

const Value& null_value() {
  static const Value kNull;
  return kNull;
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

Value::Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::object(std::initializer_list<Member> members) {
  Value value;
  value.data_ = Object(members);
  return value;
}

Value Value::array(std::vector<Value> items) {
  Value value;
  value.data_ = std::move(items);
  return value;
}

Value Value::number(std::string text) {
  Value value;
  value.data_ = Number{std::move(text)};
  return value;
}

Result<Value> Value::parse(std::string_view text) {
  Builder builder(text.size());
  if (!nlohmann::json::sax_parse(text, &builder))
    return fail(Code::kInvalid, builder.error().empty() ? "invalid JSON" : builder.error());
  return builder.take();
}

bool Value::is_true() const {
  const bool* flag = std::get_if<bool>(&data_);
  return flag != nullptr && *flag;
}

const std::string& Value::text() const {
  static const std::string kEmpty;
  const std::string* text = std::get_if<std::string>(&data_);
  return text != nullptr ? *text : kEmpty;
}

std::optional<std::int64_t> Value::integer() const {
  const Number* number = std::get_if<Number>(&data_);
  if (number == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const char* end = number->text.data() + number->text.size();
  const auto [stop, error] = std::from_chars(number->text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

const Value& Value::operator[](std::string_view key) const {
  const Value* member = find(key);
  return member != nullptr ? *member : null_value();
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : members())
    if (member.first == key) return &member.second;
  return nullptr;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::make(std::string_view key) {
  Object& object = members();
  for (Member& member : object)
    if (member.first == key) return member.second;
  return object.emplace_back(std::string(key), Value()).second;
}

bool Value::erase(std::string_view key) {
  if (!is_object()) return false;
  return std::erase_if(members(), [&](const Member& member) { return member.first == key; }) > 0;
}

const Value::Object& Value::members() const {
  static const Object kEmpty;
  const Object* object = std::get_if<Object>(&data_);
  return object != nullptr ? *object : kEmpty;
}

const Value::Array& Value::items() const {
  static const Array kEmpty;
  const Array* array = std::get_if<Array>(&data_);
  return array != nullptr ? *array : kEmpty;
}

Value::Object& Value::members() {
  if (!is_object()) data_ = Object();
  return std::get<Object>(data_);
}

Value::Array& Value::items() {
  if (!is_array()) data_ = Array();
  return std::get<Array>(data_);
}

std::string Value::dump() const {
  std::string out;
  append_to(out);
  return out;
}

void Value::append_to(std::string& out) const {
  if (is_null()) {
    out += "null";
  } else if (const bool* flag = std::get_if<bool>(&data_)) {
    out += *flag ? "true" : "false";
  } else if (const Number* number = std::get_if<Number>(&data_)) {
    out += number->text;
  } else if (is_string()) {
    append_quoted(out, text());
  } else if (is_array()) {
    out += '[';
    for (const Value& item : items()) {
      if (&item != items().data()) out += ',';
      item.append_to(out);
    }
    out += ']';
  } else {
    out += '{';
    for (const Member& member : members()) {
      if (&member != members().data()) out += ',';
      append_quoted(out, member.first);
      out += ':';
      member.second.append_to(out);
    }
    out += '}';
  }
}

bool Value::operator==(const Value& other) const {
  if (!is_object() || !other.is_object()) return data_ == other.data_;
  if (members().size() != other.members().size()) return false;
  return std::all_of(members().begin(), members().end(), [&](const Member& member) {
    const Value* twin = other.find(member.first);
    return twin != nullptr && *twin == member.second;
  });
}

}  // namespace tessera::sim::api
