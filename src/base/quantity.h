/// Kubernetes resource quantities, exact: "1", "500m", "16Gi", "1e3", "4.5k". No double anywhere.
/// Source: spec/device-model.md section 7; Kubernetes API machinery's serialisation rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera {

class Quantity {
 public:
  /// Errors name the text: `invalid quantity "16Gx": unknown suffix`. Values beyond 64 bits are
  /// refused; fractions finer than a billionth round away from zero, as the API machinery does.
  static Result<Quantity> parse(std::string_view text);
  static Quantity from_integer(std::int64_t value);

  /// The value when it is a whole number within 64 bits, whatever its spelling ("1000m" is 1).
  std::optional<std::int64_t> integer() const;
  /// Rounded away from zero to a whole number, clamped to 64 bits.
  std::int64_t rounded() const;
  /// What Kubernetes calls the fast int64 test: HAMi accepts only these ("2.0", "1000m", "16.0Gi"
  /// fail). device-model section 7.
  std::optional<std::int64_t> plain_integer() const;
  bool negative() const;
  /// True when the text carried a unit suffix (k, Ki, M, Mi, G, Gi, ...), i.e. the user thought in
  /// bytes. Beware: the API server itself writes 3000 as 3k; a binary suffix is never its own idea.
  bool has_suffix() const;
  bool has_binary_suffix() const;
  /// The spelling that the API server stores: "1000m" is "1", "3000" is "3k", "1024Ki" is "1Mi".
  std::string canonical() const;
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }

 private:
  enum class Form : std::uint8_t { kDecimal, kExponent, kBinary };
  __extension__ using Int128 = __int128;

  Int128 nano_ =
      0;  // value * 10^9: 64 bits of whole number and nine decimals fit with room to spare
  Form form_ = Form::kDecimal;
  bool plain_ = true;
  bool suffix_ = false;
};

}  // namespace tessera
