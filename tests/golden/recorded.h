/// Reads a file of recorded answers: gzip, one JSON object a line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::golden {

/// `name` is a file of this folder. Ends the test program when the file is missing or damaged:
/// nothing could be compared.
std::vector<nlohmann::json> read_recorded(const std::string& name);

}  // namespace tessera::golden
