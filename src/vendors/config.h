/// The device configuration file (YAML). Source: spec/device-config.md. Unknown keys and sections
/// are accepted; every fault is reported with line, key and value, not only the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::vendors {

struct MigAllowlistEntry {
  std::vector<std::string> models, profiles;
};

struct NvidiaConfig {
  std::string count_name, memory_name, memory_percent_name, core_name, priority_name;
  bool overwrite_env = false;
  std::int64_t default_memory = 0;  ///< MiB, 0 = whole card
  std::int64_t default_cores = 0;   ///< percent
  std::int64_t default_count = 0;   ///< 0 = the webhook does not add a count
  std::int64_t memory_factor = 1;   ///< values below 1 act as 1
  std::string core_policy;          ///< "", default, force, disable
  std::string runtime_class;
  std::vector<MigAllowlistEntry> mig_allowlist;
};

struct DeviceConfig {
  std::optional<NvidiaConfig> nvidia;
  std::vector<std::string>
      other_sections;  ///< known sections of vendors that this build does not serve yet
};

struct ConfigFault {
  int line = 0;     ///< 1-based, 0 = whole file
  std::string key;  ///< "nvidia.defaultMemory"
  std::string value;
  std::string what;
  std::string text() const;  ///< "line 7: nvidia.defaultMemory: \"12x\": not an integer"
};
struct ConfigResult {
  DeviceConfig config;  ///< usable only without faults
  std::vector<ConfigFault> faults;
  std::vector<ConfigFault> notes;  ///< unknown keys and the like: worth a look, accepted
};
ConfigResult parse_device_config(std::string_view yaml);
Result<DeviceConfig> load_device_config(
    const std::string& path);  ///< error text carries every fault
/// The embedded default: same meaning as HAMi's chart renders it (NVIDIA names nvidia.com/gpu,
/// gpumem, gpucores, …).
std::string_view default_device_config();

}  // namespace tessera::vendors
