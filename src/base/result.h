/// Errors as values. Input from outside (bodies, annotations, configuration, API answers) yields
/// Result<T>: a code for the program, a sentence for the person. A caller handles an error or
/// passes it up, never both. Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace tessera {

enum class Code : std::uint8_t {
  kInvalid,
  kNotFound,
  kConflict,
  kUnavailable,
  kExhausted,
  kInternal
};

struct Error {
  Code code = Code::kInternal;
  std::string what;  ///< names the field and the value that are wrong
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

/// return fail(Code::kInvalid, "empty quantity");
inline tl::unexpected<Error> fail(Code code, std::string what) {
  return tl::unexpected<Error>(Error{code, std::move(what)});
}

}  // namespace tessera
