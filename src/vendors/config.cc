#include "vendors/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/read_file.h"
#include "base/text.h"
#include "vendors/vendor_table.h"
#include "vendors/yaml_reader.h"

namespace tessera::vendors {
namespace {

constexpr std::size_t kMaxBytes = 1u << 20;

/// What a section has given, until all are put in the order of the table.
struct SectionRows {
  std::vector<Vendor> rows;
  bool filled = false;
  std::optional<YAML::Node> at;
};
using Sections = std::map<std::string_view, SectionRows>;  // by name

/// The shape of a section, without its keys: does it say anything?
bool says_something(YamlReader& in, const VendorSection& section, const YAML::Node& node) {
  const std::string name(section.name);
  bool filled = false;
  if (section.is_list) {
    in.elements(node, name, [&](const std::string&, const YAML::Node&) { filled = true; });
    return filled;
  }
  in.members(node, name, [&](const std::string& key, const YAML::Node&, const YAML::Node& value) {
    if (!section.content_key.empty() && key != section.content_key) return;
    if (!section.content_key.empty()) {
      in.elements(value, yaml_path(name, key), [](const auto&, const auto&) {});
    }
    filled = filled || yaml_says_something(value);
  });
  return filled;
}

/// Content of a section that a flag turns on, without a word about its shape: its reader has
/// spoken.
bool has_content(const VendorSection& section, const YAML::Node& node) {
  ConfigResult unheard;
  YamlReader in(unheard);
  return says_something(in, section, node);
}

SectionRows read_section(YamlReader& in, const VendorSection& section, const YAML::Node& at,
                         const YAML::Node& node, VendorSwitches switches) {
  SectionRows out;
  out.at = at;
  if (section.read == nullptr) {
    out.filled = says_something(in, section, node);
    return out;
  }
  const std::string name(section.name);
  section.read({node, name, in, switches}, out.rows);
  for (Vendor& row : out.rows) row.section = name;
  out.filled = !out.rows.empty();
  if (section.needs == nullptr || switches.*section.needs) return out;
  out.rows.clear();
  out.filled = has_content(section, node);
  return out;
}

/// Of two rows with one word the later one counts, as in HAMi's table.
void add_row(YamlReader& in, const YAML::Node& at, Vendor row, std::vector<Vendor>& rows) {
  const auto same = std::find_if(rows.begin(), rows.end(),
                                 [&](const Vendor& other) { return other.word == row.word; });
  if (same == rows.end()) {
    rows.push_back(std::move(row));
    return;
  }
  in.note(at, row.section, fmt::format("{} is given twice, the last one counts", row.word));
  *same = std::move(row);
}

/// Accepted, as HAMi does, but hardly what anybody wants.
void note_odd_names(YamlReader& in, const Sections& sections, const std::vector<Vendor>& rows) {
  std::map<std::string_view, const Vendor*> owners;
  for (const Vendor& row : rows) {
    const YAML::Node& at = *sections.at(row.section).at;
    if (row.count_resource.empty()) {
      in.note(at, row.section,
              fmt::format("{}: no resource name to count by, no container can ask for a card",
                          row.word));
      continue;
    }
    const auto [owner, fresh] = owners.emplace(row.count_resource, &row);
    if (fresh) continue;
    in.note(at, row.section,
            fmt::format("{} counts by {} as {} does: a container that names it asks both", row.word,
                        row.count_resource, owner->second->word));
  }
}

void read_document(const YAML::Node& root, VendorSwitches switches, SectionTable table,
                   ConfigResult& result) {
  DeviceConfig& config = result.config;
  YamlReader in(result);
  Sections sections;
  in.members(root, "", [&](const std::string& name, const YAML::Node& at, const YAML::Node& node) {
    const VendorSection* section = find_section(name, table);
    if (section == nullptr) return in.note(at, name, "unknown section, ignored");
    sections[section->name] = read_section(in, *section, at, node, switches);
  });
  bool filled = false;
  for (const VendorSection& section : table) {
    const auto found = sections.find(section.name);
    if (found == sections.end()) continue;
    for (Vendor& row : found->second.rows) {
      add_row(in, *found->second.at, std::move(row), config.vendors);
    }
    if (!found->second.filled) continue;
    filled = true;
    if (section.read == nullptr) {
      config.other_sections.emplace_back(section.name);
    } else if (section.needs != nullptr && !(switches.*section.needs)) {
      config.switched_off.emplace_back(section.name);
    }
  }
  note_odd_names(in, sections, config.vendors);
  if (result.faults.empty() && !filled) {
    result.faults.push_back({0, "", "", "all configurations are empty"});
  }
}

}  // namespace

std::string ConfigFault::text() const {
  std::string out;
  if (line > 0) out += fmt::format("line {}: ", line);
  if (!key.empty()) out += key + ": ";
  if (!value.empty()) out += text::quote(value) + ": ";
  return out + what;
}

ConfigResult parse_device_config(std::string_view yaml, VendorSwitches switches) {
  return parse_device_config(yaml, switches, vendor_sections());
}

ConfigResult parse_device_config(std::string_view yaml, VendorSwitches switches,
                                 std::span<const VendorSection> table) {
  ConfigResult result;
  if (yaml.size() > kMaxBytes) {
    result.faults.push_back({0, "", "", fmt::format("larger than {} bytes", kMaxBytes)});
    return result;
  }
  try {
    // The library reports bad input by exceptions; they end here.
    read_document(YAML::Load(std::string(yaml)), switches, table, result);
  } catch (const YAML::Exception& e) {
    result.faults.push_back({std::max(e.mark.line + 1, 0), "", "", e.msg});
  } catch (const std::exception& e) {
    result.faults.push_back({0, "", "", fmt::format("not readable as YAML: {}", e.what())});
  }
  return result;
}

Result<DeviceConfig> load_device_config(const std::string& path, VendorSwitches switches) {
  const Result<std::string> content = read_file(path);
  if (!content) return fail(content.error().code, "device config file: " + content.error().what);
  ConfigResult result = parse_device_config(*content, switches);
  if (result.faults.empty()) return std::move(result.config);
  std::vector<std::string> texts;
  for (const ConfigFault& f : result.faults) texts.push_back(f.text());
  return fail(Code::kInvalid,
              fmt::format("device config file {}: {}", path, text::join(texts, "; ")));
}

std::string_view default_device_config() {
  static const std::string text = [] {
    std::string out = "# Tessera's built-in device configuration.\n";
    for (const VendorSection& section : vendor_sections()) {
      if (section.default_text != nullptr) out += section.default_text();
    }
    return out;
  }();
  return text;
}

}  // namespace tessera::vendors
