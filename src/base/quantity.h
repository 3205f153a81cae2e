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
  /// Errors name the text: `invalid quantity "16Gx": unknown suffix`. Values beyond 2^63-1 * 1000 in milli units are refused.
  static Result<Quantity> parse(std::string_view text);
  static Quantity from_integer(std::int64_t value);

  /// The value when it is a whole number within 64 bits, whatever its spelling ("1000m" is 1).
  std::optional<std::int64_t> integer() const;
  /// Rounded away from zero to a whole number, clamped to 64 bits.
  std::int64_t rounded() const;
  /// What Kubernetes calls the fast int64 test: HAMi accepts only these ("2.0", "1000m", "16.0Gi" fail). device-model section 7.
  std::optional<std::int64_t> plain_integer() const;
  bool negative() const;
  /// True when the text carried a unit suffix (k, Ki, M, Mi, G, Gi, ...), i.e. the user thought in bytes.
  bool has_suffix() const;
  std::string canonical() const;

 private:
  __int128 milli_ = 0;      // exact value * 1000, rounded up below one milli
  bool exact_milli_ = true;
  bool plain_ = true;
  bool suffix_ = false;
};

}  // namespace tessera
