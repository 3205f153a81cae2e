// The section `vnpus` of the device configuration. Source: spec/devices/ascend.md section 3.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "vendors/ascend.h"
#include "vendors/yaml_reader.h"

namespace tessera::vendors {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

/// Keys without a member are the node agent's: only their type is checked.
struct StringKey {
  std::string_view key;
  std::string AscendChip::*member;
};
struct IntegerKey {
  std::string_view key;
  std::int64_t max;
  std::int64_t AscendChip::*member;
};
struct BooleanKey {
  std::string_view key;
  bool AscendChip::*member;
};
constexpr StringKey kStrings[] = {
    {"commonWord", &AscendChip::word},
    {"chipName", nullptr},
    {"resourceName", &AscendChip::count_name},
    {"resourceMemoryName", &AscendChip::memory_name},
    {"resourceCoreName", &AscendChip::core_name},
    {"runtimeClassName", &AscendChip::runtime_class},
};
constexpr IntegerKey kIntegers[] = {
    {"memoryAllocatable", kInt64Max, &AscendChip::memory_allocatable},
    {"memoryCapacity", kInt64Max, &AscendChip::memory_capacity},
    {"memoryFactor", kInt32Max, &AscendChip::memory_factor},
    {"aiCore", kInt32Max, nullptr},
    {"aiCPU", kInt32Max, nullptr},
};
constexpr BooleanKey kBooleans[] = {
    {"overwriteEnv", &AscendChip::overwrite_env},
    {"superPod", &AscendChip::super_pod},
};

bool read_scalar(YamlReader& in, const std::string& key, const YAML::Node& value,
                 const std::string& path, AscendChip& chip) {
  for (const StringKey& k : kStrings) {
    if (k.key != key) continue;
    std::string unused;
    in.string(value, path, k.member == nullptr ? unused : chip.*k.member);
    return true;
  }
  for (const IntegerKey& k : kIntegers) {
    if (k.key != key) continue;
    std::int64_t unused = 0;
    in.integer(value, path, k.max, k.member == nullptr ? unused : chip.*k.member);
    return true;
  }
  for (const BooleanKey& k : kBooleans) {
    if (k.key != key) continue;
    in.boolean(value, path, chip.*k.member);
    return true;
  }
  return false;
}

void read_template(YamlReader& in, const std::string& path, const YAML::Node& node,
                   std::vector<AscendTemplate>& out) {
  AscendTemplate entry;
  in.members(node, path, [&](const std::string& key, const YAML::Node& at, const YAML::Node& v) {
    const std::string here = yaml_path(path, key);
    std::int64_t unused = 0;
    if (key == "name") return in.string(v, here, entry.name);
    if (key == "memory") return in.integer(v, here, kInt64Max, entry.memory);
    if (key == "aiCore" || key == "aiCPU") return in.integer(v, here, kInt32Max, unused);
    in.note(at, here, "unknown key, ignored");
  });
  out.push_back(std::move(entry));
}

AscendChip read_chip(YamlReader& in, const std::string& path, const YAML::Node& node) {
  AscendChip chip;
  in.members(node, path, [&](const std::string& key, const YAML::Node& at, const YAML::Node& v) {
    const std::string here = yaml_path(path, key);
    if (read_scalar(in, key, v, here, chip)) return;
    if (key != "templates") return in.note(at, here, "unknown key, ignored");
    in.elements(v, here, [&](const std::string& element, const YAML::Node& entry) {
      read_template(in, element, entry, chip.templates);
    });
  });
  chip.memory_factor = std::max<std::int64_t>(chip.memory_factor, 1);
  std::stable_sort(chip.templates.begin(), chip.templates.end(),
                   [](const auto& a, const auto& b) { return a.memory < b.memory; });
  return chip;
}

void read_chips(YamlReader& in, const std::string& path, const YAML::Node& list,
                AscendSection& section) {
  in.elements(list, path, [&](const std::string& here, const YAML::Node& node) {
    AscendChip chip = read_chip(in, here, node);
    if (chip.word.empty()) {
      return in.note(node, here, "no commonWord: the entry makes no vendor");
    }
    if (chip.memory_capacity < chip.memory_allocatable) {
      in.note(node, here,
              "memoryCapacity is below memoryAllocatable: a whole card cannot be asked");
    }
    std::erase_if(section.chips, [&](const AscendChip& c) {
      if (c.word != chip.word) return false;
      in.note(node, here, fmt::format("{} is given twice, the last one counts", c.word));
      return true;
    });
    section.chips.push_back(std::move(chip));
  });
}

}  // namespace

void read_ascend_section(const SectionInput& input, std::vector<Vendor>& rows) {
  YamlReader& in = input.reader;
  if (input.node.IsSequence()) {
    return in.fault(
        input.node, input.path,
        fmt::format("a list is the form of old releases: write it under {}.configs", input.path));
  }
  auto section = std::make_shared<AscendSection>();
  in.members(input.node, input.path,
             [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
               const std::string here = yaml_path(input.path, key);
               if (key == "hamiVnpuCore") return in.boolean(value, here, section->soft_by_default);
               if (key == "configs") return read_chips(in, here, value, *section);
               in.note(at, here, "unknown key, ignored");
             });
  for (const AscendChip& chip : section->chips) rows.push_back(ascend_vendor(section, chip));
}

}  // namespace tessera::vendors
