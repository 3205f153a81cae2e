#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::text {
namespace {

char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The code point of a valid sequence.
std::uint32_t decode_rune(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  std::uint32_t value = sequence.size() == 1 ? first : first & (0x7FU >> sequence.size());
  for (char c : sequence.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return value;
}

/// The invisible code points that matter in logs and error texts; not the whole table of Unicode.
bool invisible(std::uint32_t rune) {
  if (rune >= 0x80 && rune <= 0xA0) return true;
  if (rune == 0xAD || rune == 0xFEFF || rune == 0x3000) return true;
  if (rune >= 0x2000 && rune <= 0x200F) return true;
  if (rune >= 0x2028 && rune <= 0x202F) return true;
  return (rune >= 0x205F && rune <= 0x206F) || (rune >= 0xE000 && rune <= 0xF8FF) ||
         (rune & 0xFFFE) == 0xFFFE;
}

/// The short escape of a control character, or 0.
char short_escape(char c) {
  static constexpr std::string_view kFrom = "\a\b\f\n\r\t\v\"\\";
  static constexpr std::string_view kTo = "abfnrtv\"\\";
  const std::size_t at = kFrom.find(c);
  return at == std::string_view::npos ? '\0' : kTo[at];
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t at = s.find(separator);
    pieces.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    s.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = s.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(kBlank) - begin + 1);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_char(x) == lower_char(y); });
}

bool contains_ignoring_case(std::string_view haystack, std::string_view needle) {
  const auto at = std::search(haystack.begin(), haystack.end(), needle.begin(), needle.end(),
                              [](char x, char y) { return lower_char(x) == lower_char(y); });
  return at != haystack.end() || needle.empty();
}

std::string lower(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), lower_char);
  return out;
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  return fmt::format("{}", fmt::join(pieces, separator));
}

Result<std::int64_t> parse_int(std::string_view s, int bits, std::string_view function) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalid, fmt::format("{}: parsing {}: {}", function, quote(s), why));
  };
  std::string_view digits = s;
  const bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) digits.remove_prefix(1);
  if (digits.empty()) return refuse("invalid syntax");
  // Reading stops at the first digit that leaves the unsigned range, before later characters are
  // looked at: as strconv does.
  const std::uint64_t ceiling = bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  std::uint64_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return refuse("invalid syntax");
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (ceiling - digit) / 10) return refuse("value out of range");
    value = value * 10 + digit;
  }
  const std::uint64_t limit = std::uint64_t{1} << (bits - 1);
  if (value > limit || (value == limit && !negative)) return refuse("value out of range");
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

Result<bool> parse_bool(std::string_view s) {
  for (std::string_view word : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (s == word) return true;
  }
  for (std::string_view word : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (s == word) return false;
  }
  return fail(Code::kInvalid,
              fmt::format("strconv.ParseBool: parsing {}: invalid syntax", quote(s)));
}

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

std::string quote(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    const std::string_view sequence = s.substr(0, utf8_length(s));
    const std::uint32_t rune = sequence.empty() ? 0 : decode_rune(sequence);
    if (const char escape = short_escape(s[0]); escape != '\0') {
      out.push_back('\\');
      out.push_back(escape);
    } else if (sequence.empty() || rune < 0x20 || rune == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(s[0]));
    } else if (invisible(rune)) {
      out += rune > 0xFFFF ? fmt::format("\\U{:08x}", rune) : fmt::format("\\u{:04x}", rune);
    } else {
      out.append(sequence);
    }
    s.remove_prefix(std::max<std::size_t>(sequence.size(), 1));
  }
  out.push_back('"');
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out.push_back(k <= count ? kBase64[group >> (18 - 6 * k) & 0x3F] : '=');
    }
  }
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  std::size_t filled = 0;
  std::size_t padding = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::size_t value = c == '=' ? 0 : kBase64.find(c);
    const bool misplaced = c == '=' ? filled % 4 < 2 && padding == 0 : padding > 0;
    if (value == std::string_view::npos || misplaced || padding + (c == '=' ? 1 : 0) > 2) {
      return fail(Code::kInvalid, fmt::format("invalid base64: unexpected {}", quote({&c, 1})));
    }
    if (c == '=') ++padding;
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (++filled % 4 != 0) continue;
    for (std::size_t k = 0; k + padding < 3; ++k) {
      out.push_back(static_cast<char>(group >> (16 - 8 * k) & 0xFF));
    }
    group = 0;
    if (padding > 0) filled = 0;
  }
  if (filled % 4 != 0) return fail(Code::kInvalid, "invalid base64: cut off");
  return out;
}

}  // namespace tessera::text
