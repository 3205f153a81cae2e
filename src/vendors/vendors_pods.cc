// From a pod to what it asks, and what the webhook makes of it.
#include <algorithm>
#include <utility>

#include "vendors/annotations.h"
#include "vendors/ask.h"
#include "vendors/mutate.h"
#include "vendors/vendors.h"

namespace tessera::vendors {
namespace {

VendorId id_of(std::size_t row) { return {static_cast<std::uint16_t>(row)}; }

bool shares_device(const k8s::Container& c, const Vendor& v) {
  return quantity_text(c, v.memory_resource) != nullptr ||
         quantity_text(c, v.memory_percent_resource) != nullptr ||
         quantity_text(c, v.core_resource) != nullptr;
}

Result<std::optional<core::DeviceAsk>> ask_of(const k8s::Container& container, const Vendor& vendor,
                                              VendorId id, std::vector<std::string>& warnings) {
  return vendor.ask ? vendor.ask(vendor, container, id, warnings)
                    : device_ask(container, vendor, id, warnings);
}

core::PositionKind kind_of(const k8s::Container& container) {
  if (container.sidecar) return core::PositionKind::kSidecar;
  return container.init ? core::PositionKind::kInit : core::PositionKind::kApp;
}

bool asks_of(const core::Request& request, VendorId vendor) {
  return std::any_of(request.positions.begin(), request.positions.end(), [&](const auto& position) {
    return std::any_of(position.asks.begin(), position.asks.end(),
                       [&](const core::DeviceAsk& ask) { return ask.vendor == vendor; });
  });
}

template <class Pairs>
void append(Pairs& to, Pairs& from) {
  for (auto& pair : from) to.push_back(std::move(pair));
}

}  // namespace

bool Vendors::asks_vendor(const k8s::Container& container, std::size_t row) const {
  const Vendor& vendor = vendors_[row];
  if (vendor.ask) {
    std::vector<std::string> unheard;
    const auto ask = vendor.ask(vendor, container, id_of(row), unheard);
    if (!ask || *ask) return true;
  } else if (counts_devices(container, vendor)) {
    return true;
  }
  return vendor.default_count > 0 && !count_is_zero(container, vendor) &&
         shares_device(container, vendor);
}

Result<Demand> Vendors::demand(const k8s::Pod& pod, const PolicyDefaults& defaults) const {
  Demand demand;
  core::Request& request = demand.request;
  request.uid = {pod.uid};
  request.pod_namespace = pod.ns;
  request.pod_name = pod.name;
  request.subject = subject_of(pod);
  request.positions.reserve(pod.containers.size());
  for (const k8s::Container& container : pod.containers) {
    core::Position& position = request.positions.emplace_back();
    position.kind = kind_of(container);
    for (std::size_t row = 0; row < vendors_.size(); ++row) {
      auto ask = ask_of(container, vendors_[row], id_of(row), demand.warnings);
      if (!ask) return tl::unexpected(ask.error());
      if (*ask) position.asks.push_back(**ask);
    }
  }
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    if (asks_of(request, id_of(row)))
      request.constraints.push_back(pod_constraints(pod, vendors_[row], id_of(row)));
  }
  if (const Status ok = read_preferences(pod, defaults, request, demand.warnings); !ok) {
    return tl::unexpected(ok.error());
  }
  return demand;
}

bool Vendors::asks_devices(const k8s::Pod& pod) const {
  for (const k8s::Container& container : pod.containers) {
    for (std::size_t row = 0; row < vendors_.size(); ++row) {
      if (asks_vendor(container, row)) return true;
    }
  }
  return false;
}

core::QuotaSubject Vendors::subject_of(const k8s::Pod& pod) {
  return {pod.ns, pod.has_deadline, pod.best_effort, pod.priority_class};
}

std::vector<core::PositionKind> Vendors::kinds_of(const k8s::Pod& pod) {
  std::vector<core::PositionKind> kinds;
  kinds.reserve(pod.containers.size());
  for (const k8s::Container& container : pod.containers) kinds.push_back(kind_of(container));
  return kinds;
}

Result<Vendors::Mutation> Vendors::mutate(const k8s::Pod& pod) const {
  Mutation mutation;
  for (const k8s::Container& container : pod.containers) {
    ContainerMutation merged;
    for (std::size_t row = 0; row < vendors_.size(); ++row) {
      const Vendor& vendor = vendors_[row];
      auto one = vendor.mutate ? vendor.mutate(vendor, pod, container)
                               : mutate_container(vendor, container);
      if (!one) return tl::unexpected(one.error());
      hide_devices(vendor, *one);
      append(merged.set_limits, one->set_limits);
      append(merged.set_requests, one->set_requests);
      append(merged.append_env, one->append_env);
      append(mutation.warnings, one->warnings);
      if (!one->uses_device) continue;
      merged.uses_device = mutation.uses_device = true;
      if (mutation.runtime_class.empty() && pod.runtime_class.empty()) {
        mutation.runtime_class = vendor.runtime_class;
      }
      warn_about_values(container, vendor, mutation.warnings);
    }
    mutation.containers.push_back(std::move(merged));
  }
  if (mutation.uses_device) {
    warn_about_policies(pod, mutation.warnings);
    warn_about_resource_annotations(pod, resource_names(), mutation.warnings);
  }
  return mutation;
}

}  // namespace tessera::vendors
