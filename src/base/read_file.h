/// Whole files that somebody named: configurations, certificates, tokens, lists. Anything may stand
/// there instead, a directory too, and in a running program at any time.
/// Thread rule: pure function of the file system.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace tessera {

inline constexpr std::size_t kLargestFile = std::size_t{64} << 20;

/// Errors: `cannot read "path": why` (kNotFound), `"path" is larger than N bytes` (kInvalid).
Result<std::string> read_file(const std::string& path, std::size_t limit = kLargestFile);

}  // namespace tessera
