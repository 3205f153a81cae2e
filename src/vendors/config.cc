#include "vendors/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "vendors/yaml_reader.h"

namespace tessera::vendors {
namespace {

constexpr std::size_t kMaxBytes = 1u << 20;
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kOtherMaps[] = {"cambricon", "hygon",  "enflame",   "mthreads",
                                           "metax",     "kunlun", "awsneuron", "amd",
                                           "vastai",    "biren",  "vnpus"};
constexpr std::string_view kOtherLists[] = {"iluvatars"};

template <class Range>
bool has(const Range& range, std::string_view word) {
  return std::find(std::begin(range), std::end(range), word) != std::end(range);
}

bool valid_profile(const std::string& profile) {
  const std::size_t dot = profile.find('.');
  return dot != std::string::npos && dot >= 2 && profile[dot - 1] == 'g';
}

void read_profiles(YamlReader& in, const std::string& path, const YAML::Node& list,
                   std::vector<std::string>& out) {
  in.elements(list, path, [&](const std::string& here, const YAML::Node& value) {
    std::string profile;
    in.string(value, here, profile);
    if (!valid_profile(profile)) {
      return in.fault(value, here, fmt::format("invalid MIG profile {}", text::quote(profile)));
    }
    out.push_back(std::move(profile));
  });
}

void read_allowlist_entry(YamlReader& in, const std::string& path, const YAML::Node& node,
                          std::vector<MigAllowlistEntry>& out) {
  MigAllowlistEntry entry;
  bool listed = false;
  in.members(node, path, [&](const std::string& key, const YAML::Node& at, const YAML::Node& v) {
    const std::string here = yaml_path(path, key);
    if (key == "models") return in.strings(v, here, entry.models);
    if (key != "profiles") return in.note(at, here, "unknown key, ignored");
    listed = v.IsSequence() && v.size() > 0;
    read_profiles(in, here, v, entry.profiles);
  });
  if (entry.models.empty() || !listed) {
    return in.fault(node, path, "MIG profile allowlist must define models and profiles");
  }
  out.push_back(std::move(entry));
}

/// Which member of NvidiaConfig a key fills. Keys without one belong to the node agent: only their
/// type is checked.
struct StringKey {
  std::string_view key;
  std::string NvidiaConfig::*member;
};
struct IntegerKey {
  std::string_view key;
  std::int64_t max;
  std::int64_t NvidiaConfig::*member;
};
constexpr StringKey kStrings[] = {
    {"resourceCountName", &NvidiaConfig::count_name},
    {"resourceMemoryName", &NvidiaConfig::memory_name},
    {"resourceMemoryPercentageName", &NvidiaConfig::memory_percent_name},
    {"resourceCoreName", &NvidiaConfig::core_name},
    {"resourcePriorityName", &NvidiaConfig::priority_name},
    {"gpuCorePolicy", &NvidiaConfig::core_policy},
    {"runtimeClassName", &NvidiaConfig::runtime_class},
    {"libCudaLogLevel", nullptr},
};
constexpr IntegerKey kIntegers[] = {
    {"defaultMemory", kInt32Max, &NvidiaConfig::default_memory},
    {"defaultCores", kInt32Max, &NvidiaConfig::default_cores},
    {"defaultGPUNum", kInt32Max, &NvidiaConfig::default_count},
    {"memoryFactor", kInt32Max, &NvidiaConfig::memory_factor},
    {"deviceSplitCount", kInt64Max, nullptr},
    {"preConfiguredDeviceMemory", kInt64Max, nullptr},
};
constexpr std::string_view kReals[] = {"deviceMemoryScaling", "deviceCoreScaling"};
constexpr std::string_view kAgentBooleans[] = {"disableCoreLimit", "enableNumaTopology"};
constexpr std::string_view kCorePolicies[] = {"", "default", "force", "disable"};

/// False: the key is none of the scalars.
bool read_nvidia_scalar(YamlReader& in, const std::string& key, const YAML::Node& value,
                        const std::string& path, NvidiaConfig& out) {
  for (const StringKey& k : kStrings) {
    if (k.key != key) continue;
    std::string unused;
    in.string(value, path, k.member == nullptr ? unused : out.*k.member);
    return true;
  }
  for (const IntegerKey& k : kIntegers) {
    if (k.key != key) continue;
    std::int64_t unused = 0;
    in.integer(value, path, k.max, k.member == nullptr ? unused : out.*k.member);
    return true;
  }
  if (has(kReals, key)) {
    in.real(value, path);
    return true;
  }
  bool unused = false;
  if (key == "overwriteEnv" || has(kAgentBooleans, key)) {
    in.boolean(value, path, key == "overwriteEnv" ? out.overwrite_env : unused);
    return true;
  }
  return false;
}

NvidiaConfig read_nvidia(YamlReader& in, const YAML::Node& section) {
  NvidiaConfig out;
  in.members(section, "nvidia",
             [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
               const std::string path = "nvidia." + key;
               if (read_nvidia_scalar(in, key, value, path, out)) {
                 if (key == "gpuCorePolicy" && !has(kCorePolicies, out.core_policy)) {
                   in.note(value, path, "the values that agents know are default, force, disable");
                 }
                 if (key == "defaultCores" && out.default_cores > 100) {
                   in.note(value, path, "above 100 counts as 100");
                 }
               } else if (key == "migProfileAllowlist") {
                 in.elements(value, path, [&](const std::string& here, const YAML::Node& entry) {
                   read_allowlist_entry(in, here, entry, out.mig_allowlist);
                 });
               } else if (key == "knownMigGeometries") {
                 in.note(at, path, "retired, ignored: nodes register their profiles themselves");
               } else {
                 in.note(at, path, "unknown key, ignored");
               }
             });
  out.memory_factor = std::max<std::int64_t>(out.memory_factor, 1);
  return out;
}

/// A section of a vendor that this build does not serve yet: its shape is checked, its keys are
/// not.
void read_other(YamlReader& in, const std::string& name, const YAML::Node& section,
                DeviceConfig& config) {
  bool filled = false;
  if (has(kOtherLists, name)) {
    in.elements(section, name, [&](const std::string&, const YAML::Node&) { filled = true; });
  } else {
    in.members(section, name, [&](const std::string& key, const YAML::Node&, const YAML::Node& v) {
      // Here only the list of chips counts as content.
      if (name == "vnpus" && key != "configs") return;
      if (name == "vnpus") in.elements(v, "vnpus.configs", [](const auto&, const auto&) {});
      filled = filled || yaml_says_something(v);
    });
  }
  if (filled) config.other_sections.push_back(name);
}

bool differs_from_empty(const NvidiaConfig& c) {
  const auto texts = {&c.count_name,    &c.memory_name, &c.memory_percent_name, &c.core_name,
                      &c.priority_name, &c.core_policy, &c.runtime_class};
  return c.overwrite_env || c.default_memory != 0 || c.default_cores != 0 || c.default_count != 0 ||
         c.memory_factor != 1 || !c.mig_allowlist.empty() ||
         std::any_of(texts.begin(), texts.end(), [](const std::string* t) { return !t->empty(); });
}

void read_document(const YAML::Node& root, ConfigResult& result) {
  DeviceConfig& config = result.config;
  YamlReader in(result);
  in.members(root, "", [&](const std::string& name, const YAML::Node& at, const YAML::Node& v) {
    if (name == "nvidia") {
      const NvidiaConfig section = read_nvidia(in, v);
      if (differs_from_empty(section)) config.nvidia = section;
    } else if (has(kOtherMaps, name) || has(kOtherLists, name)) {
      read_other(in, name, v, config);
    } else {
      in.note(at, name, "unknown section, ignored");
    }
  });
  if (config.nvidia && config.nvidia->count_name.empty()) {
    in.note(root, "nvidia.resourceCountName", "not set: no container can ask for a card");
  }
  if (result.faults.empty() && !config.nvidia && config.other_sections.empty()) {
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

ConfigResult parse_device_config(std::string_view yaml) {
  ConfigResult result;
  if (yaml.size() > kMaxBytes) {
    result.faults.push_back({0, "", "", fmt::format("larger than {} bytes", kMaxBytes)});
    return result;
  }
  try {
    // The library reports bad input by exceptions; they end here.
    read_document(YAML::Load(std::string(yaml)), result);
  } catch (const YAML::Exception& e) {
    result.faults.push_back({std::max(e.mark.line + 1, 0), "", "", e.msg});
  } catch (const std::exception& e) {
    result.faults.push_back({0, "", "", fmt::format("not readable as YAML: {}", e.what())});
  }
  return result;
}

Result<DeviceConfig> load_device_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    return fail(Code::kNotFound, fmt::format("device config file {}: cannot be read", path));
  }
  ConfigResult result = parse_device_config(content.str());
  if (result.faults.empty()) return std::move(result.config);
  std::vector<std::string> texts;
  for (const ConfigFault& f : result.faults) texts.push_back(f.text());
  return fail(Code::kInvalid,
              fmt::format("device config file {}: {}", path, text::join(texts, "; ")));
}

}  // namespace tessera::vendors
