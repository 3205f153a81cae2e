#include "vendors/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tessera::vendors {
namespace {

/// Aliases can make a small file look like a huge tree; no honest file comes near this.
constexpr int kMaxNodes = 20'000;
constexpr std::size_t kMaxFaults = 100;

bool is_plain_scalar(const YAML::Node& node) { return node.IsScalar() && node.Tag() != "!"; }

std::string shown(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar().substr(0, 80);
  if (node.IsMap()) return "a mapping";
  if (node.IsSequence()) return "a list";
  return "null";
}

std::optional<bool> yaml_bool(std::string_view s) {
  constexpr std::string_view kTrue[] = {"true", "True", "TRUE", "yes", "Yes",
                                        "YES",  "on",   "On",   "ON"};
  constexpr std::string_view kFalse[] = {"false", "False", "FALSE", "no", "No",
                                         "NO",    "off",   "Off",   "OFF"};
  if (std::find(std::begin(kTrue), std::end(kTrue), s) != std::end(kTrue)) return true;
  if (std::find(std::begin(kFalse), std::end(kFalse), s) != std::end(kFalse)) return false;
  return std::nullopt;
}

std::optional<double> yaml_float(std::string_view s) {
  if (!s.empty() && s.front() == '+') s.remove_prefix(1);
  if (s.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return {};
  return value;
}

/// YAML 1.1: sign, digit groups with '_', 0x, 0o, 0b and leading-zero octal.
std::optional<std::int64_t> yaml_integer(std::string s) {
  std::erase(s, '_');
  std::string_view digits = s;
  bool negative = false;
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) {
    negative = digits.front() == '-';
    digits.remove_prefix(1);
  }
  int base = 10;
  if (digits.size() > 2 && digits.front() == '0') {
    const char mark = digits[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  }
  if (base != 10) {
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
  }
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || error != std::errc() || stop != end) return {};
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

}  // namespace

bool yaml_null(const YAML::Node& node) {
  if (node.IsNull()) return true;
  if (!is_plain_scalar(node)) return false;
  const std::string& s = node.Scalar();
  return s.empty() || s == "~" || s == "null" || s == "Null" || s == "NULL";
}

bool yaml_says_something(const YAML::Node& node) {
  if (yaml_null(node)) return false;
  if (!node.IsScalar()) return node.size() > 0;
  const std::string& s = node.Scalar();
  return !s.empty() && s != "0" && yaml_bool(s) != false;
}

std::string yaml_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

void YamlReader::fault(const YAML::Node& at, std::string key, std::string what) {
  if (result_.faults.size() >= kMaxFaults) return;
  result_.faults.push_back({at.Mark().line + 1, std::move(key), shown(at), std::move(what)});
}

void YamlReader::note(const YAML::Node& at, std::string key, std::string what) {
  if (result_.notes.size() >= kMaxFaults) return;
  result_.notes.push_back({at.Mark().line + 1, std::move(key), shown(at), std::move(what)});
}

bool YamlReader::visit(const YAML::Node& at) {
  if (++visited_ < kMaxNodes) return true;
  if (visited_ == kMaxNodes) {
    fault(at, "", fmt::format("more than {} values once aliases are followed", kMaxNodes));
  }
  return false;
}

void YamlReader::string(const YAML::Node& node, const std::string& key, std::string& out) {
  out.clear();
  if (yaml_null(node)) return;
  if (!node.IsScalar()) return fault(node, key, "a text is expected");
  out = node.Scalar();
}

void YamlReader::strings(const YAML::Node& node, const std::string& key,
                         std::vector<std::string>& out) {
  elements(node, key, [&](const std::string& path, const YAML::Node& value) {
    std::string text;
    string(value, path, text);
    out.push_back(std::move(text));
  });
}

void YamlReader::boolean(const YAML::Node& node, const std::string& key, bool& out) {
  out = false;
  if (yaml_null(node)) return;
  const auto value = is_plain_scalar(node) ? yaml_bool(node.Scalar()) : std::nullopt;
  if (!value) return fault(node, key, "true or false is expected, without quotes");
  out = *value;
}

void YamlReader::integer(const YAML::Node& node, const std::string& key, std::int64_t max,
                         std::int64_t& out) {
  out = 0;
  if (yaml_null(node)) return;
  if (!is_plain_scalar(node)) return fault(node, key, "an integer is expected, without quotes");
  auto value = yaml_integer(node.Scalar());
  if (!value) {
    const auto fraction = yaml_float(node.Scalar());
    if (!fraction) return fault(node, key, "not an integer");
    if (!(std::abs(*fraction) < 9.0e18)) return fault(node, key, "out of range");
    value = static_cast<std::int64_t>(*fraction);
  }
  if (*value < 0) return fault(node, key, "must not be negative");
  if (*value > max) return fault(node, key, fmt::format("out of range, at most {}", max));
  out = *value;
}

void YamlReader::real(const YAML::Node& node, const std::string& key) {
  if (yaml_null(node)) return;
  if (is_plain_scalar(node) && (yaml_integer(node.Scalar()) || yaml_float(node.Scalar()))) return;
  fault(node, key, "a number is expected, without quotes");
}

void YamlReader::members(const YAML::Node& map, const std::string& path, const Member& f) {
  if (yaml_null(map)) return;
  if (!map.IsMap()) return fault(map, path, "a mapping is expected");
  std::vector<std::pair<YAML::Node, YAML::Node>> kept;
  std::unordered_map<std::string, std::size_t> last;  // row of each name that counts
  for (const auto& member : map) {
    if (!visit(member.second)) return;
    if (!member.first.IsScalar()) {
      note(member.first, path, "a key that is no text is ignored");
      continue;
    }
    const std::string& name = member.first.Scalar();
    if (!last.insert_or_assign(name, kept.size()).second) {
      note(member.first, yaml_path(path, name), "given twice, the last one counts");
    }
    kept.emplace_back(member.first, member.second);
  }
  for (std::size_t row = 0; row < kept.size(); ++row) {
    const auto& [key, value] = kept[row];
    if (last[key.Scalar()] == row) f(key.Scalar(), key, value);
  }
}

void YamlReader::elements(const YAML::Node& list, const std::string& path, const Element& f) {
  if (yaml_null(list)) return;
  if (!list.IsSequence()) return fault(list, path, "a list is expected");
  std::size_t i = 0;
  for (const YAML::Node& element : list) {
    if (!visit(element)) return;
    f(fmt::format("{}[{}]", path, i++), element);
  }
}

}  // namespace tessera::vendors
