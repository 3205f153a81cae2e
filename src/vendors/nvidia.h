/// NVIDIA: the section of the device configuration and the row that it makes. Source:
/// spec/devices/nvidia.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vendors/section.h"
#include "vendors/vendor.h"

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
  std::vector<MigAllowlistEntry> mig_allowlist;  ///< the node agent's; checked here
};

/// Makes no row of a section that says nothing.
void read_nvidia_section(const SectionInput& in, std::vector<Vendor>& rows);
NvidiaConfig read_nvidia_config(const SectionInput& in);
Vendor nvidia_vendor(const NvidiaConfig& config);
std::string_view nvidia_default_text();

inline constexpr std::string_view kMigReservationKey = "hami.io/vgpu-mig-allocations";
/// Hooks of the row: reservations of instances beside the device texts.
void write_mig_reservations(const Vendor& vendor, VendorId id, const core::Allocation& allocation,
                            WallTime now, k8s::StringMap& out);
Status read_mig_reservations(const Vendor& vendor, VendorId id, const k8s::Pod& pod,
                             core::Allocation& allocation);

}  // namespace tessera::vendors
