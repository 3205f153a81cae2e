#include "json/writer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace tessera::json {
namespace {

/// Length of the valid UTF-8 sequence that starts at `s`, 0 when invalid. Overlong forms and
/// surrogates are invalid.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto follows = [&](std::size_t i, unsigned char low, unsigned char high) {
    return i < s.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned char low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned char low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

/// Bytes that are copied as they are without a second look.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = true;
  for (char c : {'"', '\\', '<', '>', '&'}) plain[static_cast<unsigned char>(c)] = false;
  return plain;
}();

void append_escaped_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      return;
  }
}

void append_string(std::string& out, std::string_view s) {
  out.push_back('"');
  while (!s.empty()) {
    std::size_t run = 0;
    while (run < s.size() && kPlain[static_cast<unsigned char>(s[run])]) ++run;
    out.append(s.substr(0, run));
    s.remove_prefix(run);
    if (s.empty()) break;
    const std::size_t length = utf8_length(s);
    const std::string_view rune = s.substr(0, length);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      append_escaped_ascii(out, s[0]);
    } else if (rune == "\u2028" || rune == "\u2029") {
      out += rune == "\u2028" ? "\\u2028" : "\\u2029";
    } else {
      out.append(rune);
    }
    s.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
}

}  // namespace

void Writer::separate() {
  if (need_comma_) out_.push_back(',');
  need_comma_ = true;
}

Writer& Writer::begin_object() {
  separate();
  out_.push_back('{');
  need_comma_ = false;
  return *this;
}

Writer& Writer::end_object() {
  out_.push_back('}');
  need_comma_ = true;
  return *this;
}

Writer& Writer::begin_array() {
  separate();
  out_.push_back('[');
  need_comma_ = false;
  return *this;
}

Writer& Writer::end_array() {
  out_.push_back(']');
  need_comma_ = true;
  return *this;
}

Writer& Writer::key(std::string_view k) {
  separate();
  append_string(out_, k);
  out_.push_back(':');
  need_comma_ = false;
  return *this;
}

Writer& Writer::string(std::string_view s) {
  separate();
  append_string(out_, s);
  return *this;
}

Writer& Writer::integer(std::int64_t v) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", v);
  return *this;
}

Writer& Writer::number(double v) {
  if (!std::isfinite(v)) return null();  // JSON has no word for these
  separate();
  const double size = std::fabs(v);
  const bool plain = v == 0 || (size >= 1e-6 && size < 1e21);
  std::array<char, 64> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), v,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  static_cast<void>(error);  // 64 bytes hold every shortest form
  std::string text(buffer.data(), end);
  // One-digit exponents without the leading zero: 1e-7, not 1e-07.
  if (!plain && text.size() > 4 && text[text.size() - 4] == 'e' && text[text.size() - 2] == '0') {
    text.erase(text.size() - 2, 1);
  }
  out_ += text;
  return *this;
}

Writer& Writer::boolean(bool v) { return raw(v ? "true" : "false"); }
Writer& Writer::null() { return raw("null"); }

Writer& Writer::raw(std::string_view json) {
  separate();
  out_.append(json);
  return *this;
}

}  // namespace tessera::json
