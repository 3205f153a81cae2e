#include "texts.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace tessera::golden {
namespace {

constexpr std::string_view kInstances = "hami.io/vgpu-mig-allocations";

std::string without_empty_positions(const std::string& text) {
  std::string out;
  for (const std::string_view piece : text::split(text, ';')) {
    if (!piece.empty()) out += std::string(piece) + ";";
  }
  return out;
}

std::string ranked_positions(const std::string& value) {
  nlohmann::json list = nlohmann::json::parse(value, nullptr, false);
  if (!list.is_array()) return value;
  std::set<int> positions;
  for (const auto& entry : list) positions.insert(entry["containerIndex"].get<int>());
  for (auto& entry : list) {
    entry["containerIndex"] =
        std::distance(positions.begin(), positions.find(entry["containerIndex"].get<int>()));
  }
  return list.dump();
}

}  // namespace

bool is_compared(std::string_view key) {
  constexpr std::array<std::string_view, 4> kOthers = {"hami.io/vgpu-node", "hami.io/vgpu-time",
                                                       "hami.io/bind-phase", "hami.io/bind-time"};
  for (const std::string_view other : kOthers) {
    if (key == other) return false;
  }
  return true;
}

std::string comparable(std::string_view key, const std::string& value) {
  if (key == kInstances) return ranked_positions(value);
  return without_empty_positions(value);
}

bool says_nothing(const std::string& value) {
  return value == "null" || without_empty_positions(value).empty();
}

}  // namespace tessera::golden
