/// The one table of vendors: a section of the device configuration per line, in the order in which
/// vendors are counted. Adding one: a file with its ReadSection, a line in vendor_table.cc.
/// Source: spec/device-config.md sections 2, 3. Thread rule: immutable.
#pragma once

#include <span>
#include <string_view>

#include "vendors/section.h"

namespace tessera::vendors {

struct VendorSection {
  std::string_view name;
  ReadSection read = nullptr;  ///< null: known, but not served by this build
  std::string_view (*default_text)() =
      nullptr;  ///< YAML of the section in the default configuration
  /// The section makes vendors only while this switch is on.
  bool VendorSwitches::*needs = nullptr;
  bool is_list = false;               ///< the section is a list, not a mapping
  std::string_view content_key = {};  ///< only what stands under this key counts as content
};

std::span<const VendorSection> vendor_sections();
using SectionTable = std::span<const VendorSection>;
/// nullptr when unknown.
const VendorSection* find_section(std::string_view name, SectionTable table = vendor_sections());

}  // namespace tessera::vendors
