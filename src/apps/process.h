/// What the sub-commands share of being a process: complaints, the environment, a certificate that
/// is read again.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/result.h"
#include "obs/log.h"

namespace tessera::apps {

/// The exit code of a process that could not do what it was told.
inline int complain(const std::string& problem) {
  fmt::print(stderr, "tessera: {}\n", problem);
  return 1;
}

inline std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

inline constexpr int kDebugVerbosity = 4;
inline void set_verbosity(int verbosity) {
  log::set_level(verbosity >= kDebugVerbosity ? log::Level::kDebug : log::Level::kInfo);
}

inline void tell_certificate(const Status& reloaded) {
  if (reloaded)
    log::info("certificate and tokens are read again");
  else
    log::error("not all that is read again could be; what was in force of it stays",
               {{"problem", reloaded.error().what}});
}

}  // namespace tessera::apps
