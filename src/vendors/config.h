/// The device configuration file (YAML). Source: spec/device-config.md. Each section is read by its
/// vendor's own file; here is what they share. Unknown keys and sections are accepted; every fault
/// is reported with line, key and value, not only the first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vendors/section.h"
#include "vendors/vendor.h"

namespace tessera::vendors {

struct VendorSection;

struct DeviceConfig {
  /// In the order of the vendor table, whatever the order of the file; words are unique.
  std::vector<Vendor> vendors;
  std::vector<std::string> other_sections;  ///< filled sections that this build does not serve yet
  std::vector<std::string> switched_off;    ///< filled sections whose flag is not given
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
ConfigResult parse_device_config(std::string_view yaml, VendorSwitches switches = {});
/// The same with another table of vendors; for tests of a vendor that is not in the house.
ConfigResult parse_device_config(std::string_view yaml, VendorSwitches switches,
                                 std::span<const VendorSection> table);
Result<DeviceConfig> load_device_config(
    const std::string& path, VendorSwitches switches = {});  ///< error text carries every fault
/// The embedded default: same meaning as HAMi's chart renders it, one section per vendor served.
std::string_view default_device_config();

}  // namespace tessera::vendors
