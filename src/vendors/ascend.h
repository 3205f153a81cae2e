/// Ascend: one section of the device configuration, one vendor per entry of it. Source:
/// spec/devices/ascend.md. Memory is MiB here, whatever unit a resource counts in. Thread rule: the
/// section is immutable once its rows are made; they share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/vendor_hooks.h"
#include "vendors/section.h"
#include "vendors/vendor.h"

namespace tessera::vendors {

/// A slice that the card's driver can cut.
struct AscendTemplate {
  std::string name;
  std::int64_t memory = 0;
};

struct AscendChip {
  std::string word;  ///< "Ascend910B3": vendor word, device type and part of every annotation name
  std::string count_name, memory_name, core_name, runtime_class;
  std::int64_t memory_allocatable = 0;    ///< what a whole card gives
  std::int64_t memory_capacity = 0;       ///< the most that may be asked of a card
  std::int64_t memory_factor = 1;         ///< MiB per unit of the memory resource
  bool overwrite_env = false;             ///< hide the cards from containers that ask none
  bool super_pod = false;                 ///< paired chip: the webhook forces whole modules
  std::vector<AscendTemplate> templates;  ///< by memory

  /// Two chips share a module, and more than one chip means whole modules.
  bool paired() const { return word == "Ascend910C"; }
  /// Chips of this family register the group within which they are linked.
  bool linked() const { return word.starts_with("Ascend910"); }
};

struct AscendSection {
  bool soft_by_default = false;  ///< nodes without annotation serve soft slicing
  std::vector<AscendChip> chips;
};

/// What a request for `memory` MiB is given in hard slicing.
struct AscendSlice {
  std::int64_t memory = 0;  ///< 0: more than a card has
  std::string_view name;    ///< of the template; "" = whole card
};
AscendSlice ascend_slice(const AscendChip& chip, std::int64_t memory);

/// Soft slicing: the agent enforces any share itself, nothing is rounded and cores are percent.
inline constexpr std::uint64_t kAscendSoft = 1;
inline constexpr std::string_view kAscendModeKey = "huawei.com/vnpu-mode";  ///< of pods
inline constexpr std::string_view kAscendSoftMode = "hami-core";

/// Appends one row per entry.
void read_ascend_section(const SectionInput& in, std::vector<Vendor>& rows);
std::string_view ascend_default_text();

/// `chip` is one of the section's; the row keeps the section alive.
Vendor ascend_vendor(const std::shared_ptr<const AscendSection>& section, const AscendChip& chip);

/// The webhook's part (ascend_webhook.cc).
Result<ContainerMutation> ascend_mutate(const AscendSection& section, const AscendChip& chip,
                                        const Vendor& vendor, const k8s::Pod& pod,
                                        const k8s::Container& container);
bool ascend_soft(const k8s::Pod& pod);

std::shared_ptr<const core::VendorHooks> ascend_hooks(const AscendChip& chip);

}  // namespace tessera::vendors
