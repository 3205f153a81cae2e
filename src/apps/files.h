/// Files that the user names; errors carry the path.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera::apps {

/// "" without a path: the built-in configuration.
Result<std::string> read_device_config(const std::string& path);

}  // namespace tessera::apps
