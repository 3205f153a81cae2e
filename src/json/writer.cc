#include "json/writer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/text.h"

namespace tessera::json {
namespace {

/// Bytes that are copied as they are without a second look.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = true;
  for (char c : {'"', '\\', '<', '>', '&'}) plain[static_cast<unsigned char>(c)] = false;
  return plain;
}();

using Block = unsigned char __attribute__((vector_size(16)));
constexpr std::size_t kHalf = sizeof(Block) / 2;

bool is_plain_block(const char* at) {
  Block b;
  std::memcpy(&b, at, sizeof b);
  const auto special =
      (b < 0x20) | (b >= 0x80) | (b == '"') | (b == '\\') | (b == '<') | (b == '>') | (b == '&');
  std::uint64_t halves[2];
  std::memcpy(halves, &special, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

/// Half a block or more, less than one: its two ends, which may overlap.
bool is_plain_short(std::string_view s) {
  char both[sizeof(Block)];
  std::memcpy(both, s.data(), kHalf);
  std::memcpy(both + kHalf, s.data() + s.size() - kHalf, kHalf);
  return is_plain_block(both);
}

/// How many bytes of the beginning are plain: as a rule all.
std::size_t plain_run(std::string_view s) {
  if (s.size() >= kHalf && s.size() < sizeof(Block) && is_plain_short(s)) return s.size();
  std::size_t run = 0;
  while (run + sizeof(Block) <= s.size() && is_plain_block(s.data() + run)) run += sizeof(Block);
  const bool less_than_a_block_is_left = run > 0 && run + sizeof(Block) > s.size();
  if (less_than_a_block_is_left && is_plain_block(s.data() + s.size() - sizeof(Block)))
    return s.size();
  while (run < s.size() && kPlain[static_cast<unsigned char>(s[run])]) ++run;
  return run;
}

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

}  // namespace

void append_string(std::string& out, std::string_view s) {
  out.push_back('"');
  while (!s.empty()) {
    const std::size_t run = plain_run(s);
    out.append(s.substr(0, run));
    s.remove_prefix(run);
    if (s.empty()) break;
    const std::size_t length = text::utf8_length(s);
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

void append_integer(std::string& out, std::int64_t v) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), v);
  static_cast<void>(error);  // every number has room there
  out.append(digits.data(), end);
}

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
  append_integer(out_, v);
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
