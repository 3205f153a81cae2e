// The section `nvidia` of the device configuration. Source: spec/devices/nvidia.md section 2.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "vendors/nvidia.h"
#include "vendors/yaml_reader.h"

namespace tessera::vendors {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

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
      return in.fault(value, here,
                      fmt::format("invalid MIG profile allowlist: invalid MIG profile {}",
                                  text::quote(profile)));
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
    return in.fault(
        node, path,
        "invalid MIG profile allowlist: MIG profile allowlist must define models and profiles");
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

bool differs_from_empty(const NvidiaConfig& c) {
  const auto texts = {&c.count_name,    &c.memory_name, &c.memory_percent_name, &c.core_name,
                      &c.priority_name, &c.core_policy, &c.runtime_class};
  return c.overwrite_env || c.default_memory != 0 || c.default_cores != 0 || c.default_count != 0 ||
         c.memory_factor != 1 || !c.mig_allowlist.empty() ||
         std::any_of(texts.begin(), texts.end(), [](const std::string* t) { return !t->empty(); });
}

}  // namespace

NvidiaConfig read_nvidia_config(const SectionInput& input) {
  YamlReader& in = input.reader;
  NvidiaConfig out;
  in.members(input.node, input.path,
             [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
               const std::string path = yaml_path(input.path, key);
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

void read_nvidia_section(const SectionInput& in, std::vector<Vendor>& rows) {
  const NvidiaConfig config = read_nvidia_config(in);
  if (differs_from_empty(config)) rows.push_back(nvidia_vendor(config));
}

}  // namespace tessera::vendors
