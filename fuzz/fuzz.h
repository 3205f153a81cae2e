/// Helpers of the fuzz targets. A target feeds bytes to one decoder and checks what must hold for
/// every answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tessera::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Stops the run, so that the fuzzer keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Every refusal must say something.
template <class R>
bool accepted(const R& result) {
  if (result) return true;
  require(!result.error().what.empty(), "an error has words");
  return false;
}

}  // namespace tessera::fuzz
