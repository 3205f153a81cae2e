/// How a vendor's file reads its section of the device configuration. A vendor is one file with one
/// such function, and one line in vendor_table.cc. Source: spec/device-config.md. Thread rule: used
/// while a configuration is read.
#pragma once

#include <string>
#include <vector>

#include "vendors/vendor.h"

namespace YAML {
class Node;
}

namespace tessera::vendors {

class YamlReader;

/// Vendors that exist only when a flag says so (--enable-ascend, --enable-iluvatar).
struct VendorSwitches {
  bool ascend = false;
  bool iluvatar = false;
};

struct SectionInput {
  const YAML::Node& node;   ///< value of the section
  const std::string& path;  ///< its name, for faults
  YamlReader& reader;       ///< typed access; collects faults and notes
  VendorSwitches switches;
};

/// Appends the rows of this section; a section that is switched off or names no resource may append
/// none.
using ReadSection = void (*)(const SectionInput& in, std::vector<Vendor>& rows);

}  // namespace tessera::vendors
