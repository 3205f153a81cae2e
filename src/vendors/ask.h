/// From a container's limits and requests to what it asks of one vendor. The rules are the same for
/// every vendor. Source: spec/device-model.md section 7, spec/devices/nvidia.md section 8,
/// decisions D7. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/request.h"
#include "k8s/objects.h"
#include "vendors/vendor.h"

namespace tessera::vendors {

/// Text of a resource, limits first, then requests; nullptr when absent or when the vendor has no
/// such resource ("").
const std::string* quantity_text(const k8s::Container& container, std::string_view resource);
bool in_limits(const k8s::Container& container, std::string_view resource);

/// A whole number from 0 to `max`; nullopt when absent. The error names container, resource, value
/// and the fix.
Result<std::optional<std::int64_t>> whole_value(const k8s::Container& container,
                                                std::string_view resource, std::int64_t max);
/// Memory in the unit of the resource; a byte suffix (16Gi) is refused with the number to write
/// instead.
Result<std::optional<std::int64_t>> memory_value(const k8s::Container& container,
                                                 const Vendor& vendor);
/// A percentage from 0 to 100, else the error text that users of this webhook know.
Result<std::optional<std::int64_t>> percent_value(const k8s::Container& container,
                                                  std::string_view resource);

/// M, G, Mi, Gi, …: whoever writes that thinks in bytes. Not k and Ki: 3Ki is the usual short form
/// of 3072, and the API server itself rewrites 3000 to 3k.
bool has_byte_suffix(std::string_view value);

/// Present with another value than 0. A text that is no number counts as present: its reader names
/// the error.
bool counts_devices(const k8s::Container& container, const Vendor& vendor);
bool count_is_zero(const k8s::Container& container, const Vendor& vendor);

/// nullopt: the container asks nothing of this vendor. Warnings are appended.
Result<std::optional<core::DeviceAsk>> device_ask(const k8s::Container& container,
                                                  const Vendor& vendor, VendorId id,
                                                  std::vector<std::string>& warnings);

/// Amounts that are admitted but not served as written.
void warn_about_values(const k8s::Container& container, const Vendor& vendor,
                       std::vector<std::string>& warnings);

}  // namespace tessera::vendors
