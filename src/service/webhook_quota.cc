#include "service/webhook_quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tessera::service {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void set_all(k8s::StringMap& map, const Pairs& values) {
  for (const auto& [resource, quantity] : values) {
    const auto same = [&name = resource](const auto& entry) { return entry.first == name; };
    const auto found = std::find_if(map.begin(), map.end(), same);
    if (found == map.end()) {
      map.emplace_back(resource, quantity);
    } else {
      found->second = quantity;
    }
  }
}

const std::string& resource_of(const vendors::Vendor& vendor, core::QuotaKind kind) {
  switch (kind) {
    case core::QuotaKind::kCount:
      return vendor.count_resource;
    case core::QuotaKind::kCores:
      return vendor.core_resource;
    case core::QuotaKind::kMemory:
      break;
  }
  return vendor.memory_resource;
}

std::int64_t asked_by(const core::DeviceAsk& ask, core::QuotaKind kind) {
  switch (kind) {
    case core::QuotaKind::kCount:
      return ask.count;
    case core::QuotaKind::kCores:
      return ask.count * ask.cores.v;
    case core::QuotaKind::kMemory:
      break;
  }
  return ask.count * ask.memory.v;
}

/// People write in the vendor's unit, the books count MiB.
struct Unit {
  std::int64_t factor = 1;
  std::int64_t up(std::int64_t amount) const { return (amount + factor - 1) / factor; }
  std::int64_t down(std::int64_t amount) const { return amount / factor; }
};

/// "spec.initContainers[0] 5000, spec.containers[1] 1500"
std::string askers(const core::Request& request, const core::QuotaExcess& excess, Unit unit) {
  std::vector<std::string> pieces;
  std::size_t init = 0, app = 0;
  for (const core::Position& position : request.positions) {
    const bool is_app = position.kind == core::PositionKind::kApp;
    const std::size_t index = is_app ? app++ : init++;
    std::int64_t amount = 0;
    for (const core::DeviceAsk& ask : position.asks) {
      if (ask.vendor == excess.vendor) amount += asked_by(ask, excess.kind);
    }
    if (amount == 0) continue;
    pieces.push_back(fmt::format("spec.{}[{}] {}", is_app ? "containers" : "initContainers", index,
                                 unit.up(amount)));
  }
  return text::join(pieces, ", ");
}

}  // namespace

k8s::Pod mutated_pod(k8s::Pod pod, const vendors::Vendors::Mutation& mutation) {
  for (std::size_t i = 0; i < pod.containers.size() && i < mutation.containers.size(); ++i) {
    set_all(pod.containers[i].limits, mutation.containers[i].set_limits);
    set_all(pod.containers[i].requests, mutation.containers[i].set_requests);
  }
  return pod;
}

std::optional<std::string> quota_objection(const core::QuotaBook& quotas,
                                           const core::Request& request,
                                           const vendors::Vendors& vendors) {
  if (!quotas.limits(request.subject.ns)) return std::nullopt;
  const auto excess = quotas.excess(request.subject, core::quota_needs(request));
  // The picture may still be one of another vendor table.
  if (!excess || excess->vendor.v >= vendors.all().size()) return std::nullopt;
  const vendors::Vendor& vendor = vendors.at(excess->vendor);
  const bool scaled = excess->kind == core::QuotaKind::kMemory && vendor.memory_factor > 1;
  const Unit unit{scaled ? vendor.memory_factor : 1};
  const std::int64_t room = std::max<std::int64_t>(excess->limit - excess->used, 0);
  return fmt::format(
      "limits.{} of ResourceQuota {}/{} is {}, {} in use, this pod needs {} ({}): at most {} would "
      "be admitted now",
      resource_of(vendor, excess->kind), request.subject.ns, excess->quota,
      unit.down(excess->limit), unit.up(excess->used), unit.up(excess->asked),
      askers(request, *excess, unit), unit.down(room));
}

}  // namespace tessera::service
