/// Kunlun: one section of the device configuration, two vendors. `kunlun` gives whole cards that a
/// node counts in its capacity; `XPU` gives slices of cards that an agent registers. Source:
/// spec/devices/kunlun.md. Thread rule: pure functions.
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

struct KunlunNames {
  std::string count;                      ///< whole cards
  std::string slice_count, slice_memory;  ///< slices
};

/// MiB of a card; slices are a quarter, a half or all of it.
inline constexpr std::int64_t kKunlunCard = 98304;
/// The slice that holds `memory` MiB.
std::int64_t kunlun_slice(std::int64_t memory);

/// Appends a row for whole cards and one for slices, each if its count resource has a name.
void read_kunlun_section(const SectionInput& in, std::vector<Vendor>& rows);
std::string_view kunlun_default_text();

Vendor kunlun_card_vendor(const KunlunNames& names);
Vendor kunlun_slice_vendor(const KunlunNames& names);

/// kunlun_hooks.cc
std::shared_ptr<const core::VendorHooks> kunlun_card_hooks();
std::shared_ptr<const core::VendorHooks> kunlun_slice_hooks();

}  // namespace tessera::vendors
