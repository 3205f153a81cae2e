/// A manifest as people keep it, YAML or JSON, made into JSON text. yaml-cpp stays in the .cc file.
#pragma once

#include <string>

#include "base/result.h"

namespace tessera::apps {

/// The first document. Errors carry line and column.
Result<std::string> manifest_json(const std::string& text);

}  // namespace tessera::apps
