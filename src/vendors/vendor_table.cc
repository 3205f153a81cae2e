#include "vendors/vendor_table.h"

#include <algorithm>
#include <array>

#include "vendors/ascend.h"
#include "vendors/kunlun.h"
#include "vendors/nvidia.h"

namespace tessera::vendors {
namespace {

constexpr std::array<VendorSection, 13> kSections = {{
    {"nvidia", read_nvidia_section, nvidia_default_text},
    {"cambricon"},
    {"hygon"},
    {"enflame"},
    {"mthreads"},
    {"metax"},
    {"kunlun", read_kunlun_section, kunlun_default_text},
    {"awsneuron"},
    {"amd"},
    {"vastai"},
    {"biren"},
    {.name = "vnpus",
     .read = read_ascend_section,
     .default_text = ascend_default_text,
     .needs = &VendorSwitches::ascend,
     .content_key = "configs"},
    {.name = "iluvatars", .needs = &VendorSwitches::iluvatar, .is_list = true},
}};

}  // namespace

std::span<const VendorSection> vendor_sections() { return kSections; }

const VendorSection* find_section(std::string_view name, SectionTable table) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const VendorSection& s) { return s.name == name; });
  return at == table.end() ? nullptr : &*at;
}

}  // namespace tessera::vendors
