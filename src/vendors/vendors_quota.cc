// What a ResourceQuota says of devices. Source: decisions D8, spec/scheduler.md section 7.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "vendors/ask.h"
#include "vendors/vendors.h"

namespace tessera::vendors {
namespace {

using Kind = core::QuotaKind;
using Scope = core::QuotaScope;

constexpr std::string_view kLimits = "limits.";
constexpr std::string_view kRequests = "requests.";
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

constexpr std::array<std::pair<std::string_view, Scope::Word>, 5> kWords = {{
    {"Terminating", Scope::Word::kTerminating},
    {"NotTerminating", Scope::Word::kNotTerminating},
    {"BestEffort", Scope::Word::kBestEffort},
    {"NotBestEffort", Scope::Word::kNotBestEffort},
    {"PriorityClass", Scope::Word::kPriorityClass},
}};
constexpr std::array<std::pair<std::string_view, Scope::Match>, 4> kMatches = {{
    {"Exists", Scope::Match::kExists},
    {"DoesNotExist", Scope::Match::kDoesNotExist},
    {"In", Scope::Match::kIn},
    {"NotIn", Scope::Match::kNotIn},
}};

template <class Rows>
auto value_of(const Rows& rows, std::string_view word)
    -> std::optional<decltype(rows.front().second)> {
  for (const auto& [name, value] : rows) {
    if (name == word) return value;
  }
  return std::nullopt;
}

/// The whole name must be equal: gpumem is no part of gpumem-percentage (case 116).
std::optional<Kind> kind_of(const Vendor& vendor, std::string_view resource) {
  if (resource.empty()) return std::nullopt;
  if (resource == vendor.memory_resource) return Kind::kMemory;
  if (resource == vendor.core_resource) return Kind::kCores;
  if (resource == vendor.count_resource) return Kind::kCount;
  return std::nullopt;
}

/// Whole units, rounded down; what is odd is said.
std::int64_t units_of(std::string_view key, const std::string& value,
                      std::vector<std::string>& problems) {
  const auto report = [&](std::string_view what) {
    problems.push_back(fmt::format("{}: {} {}", key, text::quote(value), what));
  };
  const auto quantity = Quantity::parse(value);
  if (!quantity && quantity.error().what.find("beyond 64 bits") != std::string::npos) {
    const bool negative = value.front() == '-';
    report(negative ? "is negative and counts as 0" : "is beyond 64 bits and limits nothing");
    return negative ? 0 : kNoLimit;
  }
  if (!quantity) {
    report("is not a quantity and counts as 0");
    return 0;
  }
  if (quantity->negative()) {
    report("is negative and counts as 0");
    return 0;
  }
  if (const auto whole = quantity->integer()) return *whole;
  const std::int64_t floor = quantity->rounded() - 1;  // rounded() goes away from zero
  report(fmt::format("is not a whole number and counts as {}", floor));
  return floor;
}

std::int64_t times(std::int64_t units, std::int64_t factor) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(units, factor, &product) ? kNoLimit : product;
}

void add_limits(const std::vector<Vendor>& vendors, std::string_view key, const std::string& value,
                QuotaReading& reading) {
  const std::string_view resource = key.substr(kLimits.size());
  std::optional<std::int64_t> units;  // read, and reported, once
  for (std::size_t row = 0; row < vendors.size(); ++row) {
    const auto kind = kind_of(vendors[row], resource);
    if (!kind) continue;
    if (!units) units = units_of(key, value, reading.problems);
    const std::int64_t factor = std::max<std::int64_t>(vendors[row].memory_factor, 1);
    if (*kind == Kind::kMemory && has_byte_suffix(value)) {
      reading.warnings.push_back(
          fmt::format("{}: {} counts as {} times {} MiB, not as bytes: write the number of MiB{}",
                      key, text::quote(value), *units, factor,
                      factor > 1 ? fmt::format(" divided by {}", factor) : ""));
    }
    reading.spec.limits.push_back({{static_cast<std::uint16_t>(row)},
                                   *kind,
                                   *kind == Kind::kMemory ? times(*units, factor) : *units});
  }
}

/// What kube-apiserver enforces by itself on plain sums, which is not what the pods hold.
void warn_about_requests(const std::vector<Vendor>& vendors, const k8s::ResourceQuota& quota,
                         std::string_view key, QuotaReading& reading) {
  const std::string_view resource = key.substr(kRequests.size());
  const bool ours = std::any_of(vendors.begin(), vendors.end(), [&](const Vendor& v) {
    const auto kind = kind_of(v, resource);
    return kind && *kind != Kind::kCount;
  });
  const std::string wanted = fmt::format("{}{}", kLimits, resource);
  if (!ours || k8s::find(quota.hard, wanted) != nullptr) return;
  reading.warnings.push_back(fmt::format(
      "{}: kube-apiserver counts it without the number of cards, write {} to limit what pods hold",
      key, wanted));
}

bool add_scope(std::string_view word, std::string_view match, std::vector<std::string> values,
               QuotaReading& reading) {
  const auto known_word = value_of(kWords, word);
  const auto known_match = value_of(kMatches, match);
  if (!known_word || !known_match) {
    reading.problems.push_back(
        fmt::format("scope {} with operator {} is not known here: its limits of devices are not "
                    "enforced",
                    text::quote(word), text::quote(match)));
    return false;
  }
  reading.spec.scopes.push_back({*known_word, *known_match, std::move(values)});
  return true;
}

}  // namespace

QuotaReading Vendors::read_quota(const k8s::ResourceQuota& quota) const {
  QuotaReading reading;
  reading.spec.ns = quota.ns;
  reading.spec.name = quota.name;
  for (const auto& [key, value] : quota.hard) {
    const std::string_view name = key;
    if (name.substr(0, kLimits.size()) == kLimits) {
      add_limits(vendors_, name, value, reading);
    } else if (name.substr(0, kRequests.size()) == kRequests) {
      warn_about_requests(vendors_, quota, name, reading);
    }
  }
  if (reading.spec.limits.empty()) return reading;
  bool known = true;
  for (const std::string& word : quota.scopes) {
    known = add_scope(word, "Exists", {}, reading) && known;
  }
  for (const k8s::ScopeExpression& e : quota.selectors) {
    known = add_scope(e.scope, e.match, e.values, reading) && known;
  }
  if (!known) reading.spec.limits.clear();
  return reading;
}

}  // namespace tessera::vendors
