#include "vendors/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/quantity.h"
#include "base/text.h"

namespace tessera::vendors {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kBytesPerMiB = std::int64_t{1} << 20;

tl::unexpected<Error> bad(const k8s::Container& container, std::string_view resource,
                          std::string_view value, std::string_view what) {
  return fail(Code::kInvalid, fmt::format("container {}: {}: {} {}", container.name, resource,
                                          text::quote(value), what));
}

std::string byte_suffix_advice(const Quantity& bytes, std::int64_t factor) {
  const std::int64_t unit = kBytesPerMiB * std::max<std::int64_t>(factor, 1);
  const std::int64_t value = bytes.rounded();
  const std::int64_t units = value / unit + (value % unit != 0 ? 1 : 0);
  if (factor > 1) {
    return fmt::format("has a unit suffix, but the resource counts units of {} MiB: write {}",
                       factor, units);
  }
  return fmt::format("has a unit suffix, but the resource counts MiB: write {}", units);
}

Result<std::int64_t> whole_from(const k8s::Container& container, std::string_view resource,
                                const std::string& value, std::int64_t max) {
  const auto quantity = Quantity::parse(value);
  if (!quantity) return bad(container, resource, value, "is not a quantity");
  if (quantity->negative()) {
    return bad(container, resource, value, "is negative: write a whole number from 0");
  }
  const auto whole = quantity->integer();
  if (!whole && quantity->rounded() < std::numeric_limits<std::int64_t>::max()) {
    return bad(container, resource, value,
               fmt::format("is not a whole number: write {}", quantity->rounded()));
  }
  if (!whole || *whole > max) {
    return bad(container, resource, value, fmt::format("is too large: at most {}", max));
  }
  return *whole;
}

}  // namespace

bool has_byte_suffix(std::string_view value) {
  if (value.empty()) return false;
  if (value.back() == 'i') value.remove_suffix(1);
  return !value.empty() && std::string_view("MGTPE").find(value.back()) != std::string_view::npos;
}

const std::string* quantity_text(const k8s::Container& container, std::string_view resource) {
  if (resource.empty()) return nullptr;
  if (const std::string* limit = k8s::find(container.limits, resource)) return limit;
  return k8s::find(container.requests, resource);
}

bool in_limits(const k8s::Container& container, std::string_view resource) {
  return !resource.empty() && k8s::find(container.limits, resource) != nullptr;
}

Result<std::optional<std::int64_t>> whole_value(const k8s::Container& container,
                                                std::string_view resource, std::int64_t max) {
  const std::string* value = quantity_text(container, resource);
  if (value == nullptr) return std::nullopt;
  const auto whole = whole_from(container, resource, *value, max);
  if (!whole) return tl::unexpected(whole.error());
  return *whole;
}

Result<std::optional<std::int64_t>> memory_value(const k8s::Container& container,
                                                 const Vendor& vendor) {
  const std::string& resource = vendor.memory_resource;
  const std::string* value = quantity_text(container, resource);
  if (value == nullptr) return std::nullopt;
  const auto quantity = Quantity::parse(*value);
  if (quantity && !quantity->negative() && has_byte_suffix(*value)) {
    return bad(container, resource, *value, byte_suffix_advice(*quantity, vendor.memory_factor));
  }
  return whole_value(container, resource,
                     kInt32Max / std::max<std::int64_t>(vendor.memory_factor, 1));
}

Result<std::optional<std::int64_t>> percent_value(const k8s::Container& container,
                                                  std::string_view resource) {
  const std::string* value = quantity_text(container, resource);
  if (value == nullptr) return std::nullopt;
  const auto quantity = Quantity::parse(*value);
  const auto whole = quantity ? quantity->integer() : std::nullopt;
  if (!whole || *whole < 0 || *whole > 100) {
    return fail(
        Code::kInvalid,
        fmt::format("invalid {} value {} in container {}: must be an integer between 0 and 100",
                    resource, *value, container.name));
  }
  return *whole;
}

bool count_is_zero(const k8s::Container& container, const Vendor& vendor) {
  const std::string* value = quantity_text(container, vendor.count_resource);
  if (value == nullptr) return false;
  const auto quantity = Quantity::parse(*value);
  return quantity && quantity->integer() == 0;
}

bool counts_devices(const k8s::Container& container, const Vendor& vendor) {
  return quantity_text(container, vendor.count_resource) != nullptr &&
         !count_is_zero(container, vendor);
}

Result<std::optional<core::DeviceAsk>> device_ask(const k8s::Container& container,
                                                  const Vendor& vendor, VendorId id,
                                                  std::vector<std::string>& warnings) {
  if (count_is_zero(container, vendor)) return std::nullopt;
  const auto count = whole_value(container, vendor.count_resource, kInt32Max);
  if (!count) return tl::unexpected(count.error());
  const auto memory = memory_value(container, vendor);
  if (!memory) return tl::unexpected(memory.error());
  // Only the webhook refuses more than 100: a pod that went past it is served the whole card.
  const auto percent = whole_value(container, vendor.memory_percent_resource,
                                   std::numeric_limits<std::int64_t>::max());
  if (!percent) return tl::unexpected(percent.error());
  const auto cores = whole_value(container, vendor.core_resource, kInt32Max);
  if (!cores) return tl::unexpected(cores.error());
  if (!*count) {
    if (*memory || *percent || *cores) {
      warnings.push_back(
          fmt::format("container {} asks a share of a device but no {}: it gets none",
                      container.name, vendor.count_resource));
    }
    return std::nullopt;
  }

  core::DeviceAsk ask;
  ask.vendor = id;
  ask.count = **count;
  ask.memory = {memory->value_or(0) * std::max<std::int64_t>(vendor.memory_factor, 1)};
  if (*percent && **percent > 0) ask.memory_percent = std::min<std::int64_t>(**percent, 100);
  if (ask.memory_percent == core::DeviceAsk::kNoPercent && ask.memory.v == 0) {
    ask.memory = {vendor.default_memory};
    if (vendor.default_memory == 0) ask.memory_percent = 100;
  }
  ask.cores = {cores->value_or(vendor.default_cores)};
  warn_about_values(container, vendor, warnings);
  return ask;
}

void warn_about_values(const k8s::Container& container, const Vendor& vendor,
                       std::vector<std::string>& warnings) {
  const auto cores = whole_value(container, vendor.core_resource, kInt32Max);
  if (!cores || cores->value_or(0) <= 100) return;
  warnings.push_back(fmt::format("container {}: {}: {} counts as 100", container.name,
                                 vendor.core_resource, **cores));
}

}  // namespace tessera::vendors
