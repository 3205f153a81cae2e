#include "base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "base/text.h"

namespace tessera {
namespace {

__extension__ using Int128 = __int128;

constexpr Int128 kNano = 1'000'000'000;
constexpr Int128 kMaxWhole = std::numeric_limits<std::int64_t>::max();

enum class Base : std::uint8_t { kDecimal, kExponent, kBinary };

struct Suffix {
  Base base = Base::kDecimal;
  int exponent = 0;  // of 10 or of 2
};

struct NamedSuffix {
  std::string_view name;
  Suffix suffix;
};

constexpr std::array kSuffixes{
    NamedSuffix{"", {Base::kDecimal, 0}},   NamedSuffix{"n", {Base::kDecimal, -9}},
    NamedSuffix{"u", {Base::kDecimal, -6}}, NamedSuffix{"m", {Base::kDecimal, -3}},
    NamedSuffix{"k", {Base::kDecimal, 3}},  NamedSuffix{"M", {Base::kDecimal, 6}},
    NamedSuffix{"G", {Base::kDecimal, 9}},  NamedSuffix{"T", {Base::kDecimal, 12}},
    NamedSuffix{"P", {Base::kDecimal, 15}}, NamedSuffix{"E", {Base::kDecimal, 18}},
    NamedSuffix{"Ki", {Base::kBinary, 10}}, NamedSuffix{"Mi", {Base::kBinary, 20}},
    NamedSuffix{"Gi", {Base::kBinary, 30}}, NamedSuffix{"Ti", {Base::kBinary, 40}},
    NamedSuffix{"Pi", {Base::kBinary, 50}}, NamedSuffix{"Ei", {Base::kBinary, 60}},
};

/// The number part of the text, split as the grammar has it. `whole` has no leading zeros but at
/// least one digit.
struct Parts {
  bool negative = false;
  std::string_view whole, fraction, suffix;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

std::optional<Parts> split_parts(std::string_view text) {
  Parts parts;
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    at = 1;
  }
  const std::size_t begin = at;
  at = skip_digits(text, at);
  parts.whole = text.substr(begin, at - begin);
  bool digits = at > begin;
  if (at < text.size() && text[at] == '.') {
    const std::size_t point = at + 1;
    at = skip_digits(text, point);
    parts.fraction = text.substr(point, at - point);
    digits = digits || !parts.fraction.empty();
  }
  if (!digits) return std::nullopt;
  while (parts.whole.size() > 1 && parts.whole.front() == '0') parts.whole.remove_prefix(1);
  if (parts.whole.empty()) parts.whole = "0";
  parts.suffix = text.substr(at);
  return parts;
}

std::optional<Suffix> read_suffix(std::string_view text) {
  for (const NamedSuffix& named : kSuffixes) {
    if (named.name == text) return named.suffix;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::string_view digits = text.substr(1);
  if (digits[0] == '+') {
    digits.remove_prefix(1);
    if (digits.empty() || !is_digit(digits[0])) return std::nullopt;
  }
  int exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (exponent > 1000 || exponent < -1000) return std::nullopt;
  return Suffix{Base::kExponent, exponent};
}

/// value * 10^exponent, away from zero; nullopt when the result leaves 128 bits.
std::optional<Int128> scale_decimal(Int128 value, int exponent) {
  for (; exponent > 0 && value != 0; --exponent) {
    if (__builtin_mul_overflow(value, Int128{10}, &value)) return std::nullopt;
  }
  bool lost = false;
  for (; exponent < 0 && value != 0; ++exponent) {
    lost = lost || value % 10 != 0;
    value /= 10;
  }
  return lost ? value + 1 : value;
}

/// The digits as one integer. Fraction digits that cannot matter at 10^-9 of the smallest unit are
/// folded into the last one.
struct Digits {
  Int128 value = 0;
  int exponent = 0;  // of 10
};

std::optional<Digits> read_digits(const Parts& parts) {
  constexpr Int128 kRoom = kMaxWhole * kNano;  // six more decimal digits still fit above this
  Digits digits;
  for (char c : parts.whole) {
    if (digits.value > kRoom) return std::nullopt;
    digits.value = digits.value * 10 + (c - '0');
  }
  bool lost = false;
  for (char c : parts.fraction) {
    if (digits.value > kRoom || digits.exponent <= -20) {
      lost = lost || c != '0';
      continue;
    }
    digits.value = digits.value * 10 + (c - '0');
    --digits.exponent;
  }
  if (lost) ++digits.value;
  return digits;
}

std::optional<Int128> to_nano(const Digits& digits, const Suffix& suffix) {
  if (suffix.base != Base::kBinary) {
    return scale_decimal(digits.value, digits.exponent + suffix.exponent + 9);
  }
  // Multiply by 2^exponent and 10^9, divide by 10^places, exactly: the whole part first, then the
  // rest.
  Int128 divisor = 1;
  for (int i = digits.exponent; i < 0; ++i) {
    if (__builtin_mul_overflow(divisor, Int128{10}, &divisor)) return std::nullopt;
  }
  Int128 result = digits.value / divisor;
  Int128 rest = digits.value % divisor;
  if (__builtin_mul_overflow(result, kNano, &result)) return std::nullopt;
  // Nine decimal places of the rest, then what lies below them is tracked bit by bit while
  // doubling.
  for (int i = 0; i < suffix.exponent; ++i) {
    if (__builtin_mul_overflow(result, Int128{2}, &result)) return std::nullopt;
  }
  if (rest == 0) return result;
  // rest < divisor: long division of rest * 2^exponent * 10^9 by divisor.
  Int128 quotient = 0;
  const auto push = [&](int factor) {
    if (__builtin_mul_overflow(rest, Int128{factor}, &rest)) return false;
    quotient = quotient * factor + rest / divisor;
    rest %= divisor;
    return true;
  };
  for (int i = 0; i < 9; ++i) {
    if (!push(10)) return std::nullopt;
  }
  for (int i = 0; i < suffix.exponent; ++i) {
    if (!push(2)) return std::nullopt;
  }
  if (rest != 0) ++quotient;
  return result + quotient;
}

/// Kubernetes keeps a quantity in a fast 64-bit form only when its spelling is short enough; only
/// those yield an integer to HAMi. Decimal: at most 18 digits and no negative power of ten left.
/// Binary: no decimal point and a bound on digits per suffix.
bool spelled_plainly(const Parts& parts, const Suffix& suffix) {
  const int whole = static_cast<int>(parts.whole.size());
  const int fraction = static_cast<int>(parts.fraction.size());
  if (suffix.base == Base::kBinary)
    return fraction == 0 && 14 - whole - suffix.exponent * 3 / 10 >= 0;
  const int scale = suffix.exponent - fraction;
  return whole + fraction <= 18 && scale >= 0 && scale <= 18;
}

std::string decimal_text(Int128 value) { return fmt::format("{}", value); }

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalid, fmt::format("invalid quantity {}: {}", text::quote(text), why));
  };
  if (text.empty()) return refuse("empty");
  const auto parts = split_parts(text);
  if (!parts) return refuse("not a number");
  const auto suffix = read_suffix(parts->suffix);
  if (!suffix) return refuse("unknown suffix");
  const auto digits = read_digits(*parts);
  const auto nano = digits ? to_nano(*digits, *suffix) : std::nullopt;
  if (!nano || *nano > kMaxWhole * kNano) return refuse("beyond 64 bits");

  Quantity quantity;
  quantity.nano_ = parts->negative ? -*nano : *nano;
  quantity.plain_ = spelled_plainly(*parts, *suffix);
  quantity.suffix_ = suffix->base != Base::kExponent && suffix->exponent > 0;
  if (suffix->base == Base::kExponent) quantity.form_ = Form::kExponent;
  if (suffix->base == Base::kBinary) quantity.form_ = Form::kBinary;
  return quantity;
}

Quantity Quantity::from_integer(std::int64_t value) {
  Quantity quantity;
  quantity.nano_ = Int128{value} * kNano;
  return quantity;
}

std::optional<std::int64_t> Quantity::integer() const {
  if (nano_ % kNano != 0) return std::nullopt;
  return static_cast<std::int64_t>(nano_ / kNano);
}

std::int64_t Quantity::rounded() const {
  const Int128 whole = nano_ / kNano;
  if (nano_ % kNano == 0) return static_cast<std::int64_t>(whole);
  return static_cast<std::int64_t>(nano_ < 0 ? whole - 1 : whole + 1);
}

std::optional<std::int64_t> Quantity::plain_integer() const {
  if (!plain_) return std::nullopt;
  return integer();
}

bool Quantity::negative() const { return nano_ < 0; }
bool Quantity::has_suffix() const { return suffix_; }
bool Quantity::has_binary_suffix() const { return form_ == Form::kBinary; }

std::string Quantity::canonical() const {
  if (nano_ == 0) return "0";
  const bool whole = nano_ % kNano == 0;
  const bool small = nano_ > -1024 * kNano && nano_ < 1024 * kNano;
  if (form_ == Form::kBinary && whole && !small) {
    static constexpr std::array<std::string_view, 7> kNames{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    Int128 value = nano_ / kNano;
    std::size_t step = 0;
    for (; step + 1 < kNames.size() && value % 1024 == 0; ++step) value /= 1024;
    return decimal_text(value).append(kNames[step]);
  }
  static constexpr std::array<std::string_view, 10> kNames{"n", "u", "m", "",  "k",
                                                           "M", "G", "T", "P", "E"};
  Int128 value = nano_;
  std::size_t step = 0;
  for (; step + 1 < kNames.size() && value % 1000 == 0; ++step) value /= 1000;
  const int exponent = (static_cast<int>(step) - 3) * 3;
  if (form_ != Form::kExponent) return decimal_text(value).append(kNames[step]);
  return exponent == 0 ? decimal_text(value) : fmt::format("{}e{}", value, exponent);
}

}  // namespace tessera
