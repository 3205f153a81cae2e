/// Which recorded placement scenarios count already (decisions D19), with the reason for each that
/// does not.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tessera::golden {

/// What a scenario needs that is not served yet; empty = it counts.
std::vector<std::string> needs(const nlohmann::json& scenario);

/// nvidia_scope.txt: id -> "counted" or the needs, joined by a blank.
std::map<std::string, std::string> committed_scope();

/// The line that the file should hold for a scenario.
std::string scope_words(const nlohmann::json& scenario);

}  // namespace tessera::golden
