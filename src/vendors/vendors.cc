#include "vendors/vendors.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "vendors/annotations.h"
#include "vendors/ask.h"
#include "vendors/codec.h"
#include "vendors/nvidia.h"

namespace tessera::vendors {
namespace {

VendorId id_of(std::size_t row) { return {static_cast<std::uint16_t>(row)}; }

void append_unique(std::vector<std::string>& names, const std::string& name) {
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  names.push_back(name);
}

bool contains(const std::vector<std::string>& sorted, std::string_view key) {
  return std::binary_search(sorted.begin(), sorted.end(), key);
}

bool shares_device(const k8s::Container& c, const Vendor& v) {
  return quantity_text(c, v.memory_resource) != nullptr ||
         quantity_text(c, v.memory_percent_resource) != nullptr ||
         quantity_text(c, v.core_resource) != nullptr;
}

bool asks_vendor(const k8s::Container& c, const Vendor& v) {
  if (counts_devices(c, v)) return true;
  return v.default_count > 0 && !count_is_zero(c, v) && shares_device(c, v);
}

/// D9: the count resource is what the agent's health shows in.
bool is_offered(const k8s::Node& node, const Vendor& vendor, std::vector<std::string>& problems) {
  if (vendor.count_resource.empty()) return false;
  const std::string* value = k8s::find(node.allocatable, vendor.count_resource);
  if (value == nullptr) return false;
  const auto quantity = Quantity::parse(*value);
  if (!quantity) {
    problems.push_back(fmt::format("node {}: status.allocatable[{}]: {}", node.name,
                                   text::quote(vendor.count_resource), quantity.error().what));
    return false;
  }
  return !quantity->negative() && quantity->rounded() > 0;
}

/// Devices of one vendor; a bad annotation costs this vendor only (W-13).
void read_devices(const k8s::Node& node, const Vendor& vendor, VendorId id, NodeReading& reading,
                  std::unordered_set<std::string>& ids) {
  if (vendor.register_key.empty()) return;
  const std::string* text = k8s::find(node.annotations, vendor.register_key);
  if (text == nullptr) return;
  reading.has_register = true;
  auto devices = decode_register(*text, id);
  if (!devices) {
    reading.problems.push_back(
        fmt::format("node {}: {}: {}", node.name, vendor.register_key, devices.error().what));
    return;
  }
  for (core::Device& device : *devices) {
    if (!ids.insert(device.id).second) {
      reading.problems.push_back(
          fmt::format("node {}: {}: id {} is already taken by another vendor", node.name,
                      vendor.register_key, text::quote(device.id)));
      continue;
    }
    reading.spec.devices.push_back(std::move(device));
  }
}

void add_entries(std::vector<std::string>& list, const k8s::StringMap& map, std::string_view key) {
  if (key.empty()) return;
  if (const std::string* value = k8s::find(map, key)) {
    for (std::string& entry : comma_list(*value)) append_unique(list, entry);
  }
}

/// HAMi leaves out positions without devices on some nodes (S-1): as many pieces as containers that
/// ask means exactly those containers. Otherwise piece i is container i.
std::vector<std::uint32_t> positions_of(const k8s::Pod& pod, const Vendor& vendor,
                                        std::size_t pieces) {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = 0; i < pod.containers.size(); ++i) {
    if (asks_vendor(pod.containers[i], vendor)) positions.push_back(i);
  }
  if (pieces < pod.containers.size() && positions.size() == pieces) return positions;
  positions.clear();
  for (std::uint32_t i = 0; i < pieces; ++i) positions.push_back(i);
  return positions;
}

Status decode_vendor(const k8s::Pod& pod, const Vendor& vendor, VendorId id,
                     const std::string& text, core::Allocation& allocation) {
  auto pieces = decode_pod_devices(text);
  if (!pieces) {
    return fail(Code::kInvalid, fmt::format("pod {}/{}: {}: {}", pod.ns, pod.name,
                                            vendor.allocated_key, pieces.error().what));
  }
  if (pieces->back().empty()) pieces->pop_back();  // what follows the last ';'
  const auto positions = positions_of(pod, vendor, pieces->size());
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    for (DeviceText& d : (*pieces)[i]) {
      // A negative share would give room to others that is not there.
      allocation.grants.push_back({positions[i],
                                   id,
                                   std::move(d.id),
                                   {std::max<std::int64_t>(d.memory, 0)},
                                   {std::max<std::int64_t>(d.cores, 0)},
                                   std::nullopt});
    }
  }
  return {};
}

}  // namespace

Result<Vendors> Vendors::make(const DeviceConfig& config) {
  Vendors vendors;
  if (config.nvidia) vendors.vendors_.push_back(nvidia_vendor(*config.nvidia));
  if (vendors.vendors_.empty()) {
    return fail(Code::kInvalid,
                "the device configuration has no section that this build serves: nvidia");
  }
  return vendors;
}

core::VendorTable Vendors::rules() const {
  core::VendorTable table;
  for (const Vendor& v : vendors_) table.push_back(v.rules);
  return table;
}

std::vector<std::string> Vendors::resource_names() const {
  std::vector<std::string> names;
  for (const Vendor& v : vendors_) {
    for (const std::string* name : {&v.count_resource, &v.memory_resource, &v.core_resource,
                                    &v.memory_percent_resource, &v.priority_resource}) {
      append_unique(names, *name);
    }
  }
  return names;
}

k8s::Keep Vendors::keep() const {
  std::vector<std::string> annotations;
  for (const std::string_view key : {kNodePolicyKey, kDevicePolicyKey, kNodeLockKey}) {
    annotations.emplace_back(key);
  }
  for (const Vendor& v : vendors_) {
    for (const std::string* key :
         {&v.register_key, &v.handshake_key, &v.cordon_key, &v.to_allocate_key, &v.allocated_key,
          &v.use_model_key, &v.nouse_model_key, &v.numa_bind_key, &v.mode_key}) {
      append_unique(annotations, *key);
    }
    for (const IdKeys& keys : v.id_keys) {
      append_unique(annotations, keys.use);
      append_unique(annotations, keys.nouse);
    }
  }
  std::sort(annotations.begin(), annotations.end());
  std::vector<std::string> resources = resource_names();
  std::sort(resources.begin(), resources.end());
  k8s::Keep keep;
  keep.annotation = [annotations = std::move(annotations)](std::string_view key) {
    return contains(annotations, key) || scheduler_key(key);
  };
  keep.label = [](std::string_view key) { return scheduler_key(key); };
  keep.resource = [resources = std::move(resources)](std::string_view name) {
    return contains(resources, name);
  };
  return keep;
}

NodeReading Vendors::read_node(const k8s::Node& node) const {
  NodeReading reading;
  reading.spec.name = node.name;
  std::unordered_set<std::string> ids;
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    const Vendor& vendor = vendors_[row];
    reading.spec.offered.push_back(is_offered(node, vendor, reading.problems));
    read_devices(node, vendor, id_of(row), reading, ids);
    add_entries(reading.spec.cordoned, node.annotations, vendor.cordon_key);
  }
  const std::string* lock = k8s::find(node.annotations, kNodeLockKey);
  reading.spec.locked = lock != nullptr && !lock->empty();
  return reading;
}

Result<Demand> Vendors::demand(const k8s::Pod& pod, const PolicyDefaults& defaults) const {
  Demand demand;
  core::Request& request = demand.request;
  request.uid = {pod.uid};
  request.pod_namespace = pod.ns;
  request.pod_name = pod.name;
  const auto kinds = kinds_of(pod);
  std::vector<bool> asked(vendors_.size(), false);
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    core::Position position;
    position.kind = kinds[i];
    for (std::size_t row = 0; row < vendors_.size(); ++row) {
      auto ask = device_ask(pod.containers[i], vendors_[row], id_of(row), demand.warnings);
      if (!ask) return tl::unexpected(ask.error());
      if (!*ask) continue;
      position.asks.push_back(**ask);
      asked[row] = true;
    }
    request.positions.push_back(std::move(position));
  }
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    if (asked[row]) request.constraints.push_back(pod_constraints(pod, vendors_[row], id_of(row)));
  }
  PolicyDefaults chosen = defaults;
  if (request.asks_devices()) chosen = pod_policies(pod, defaults, demand.warnings);
  request.node_policy = chosen.node;
  request.device_policies = std::move(chosen.devices);
  return demand;
}

bool Vendors::asks_devices(const k8s::Pod& pod) const {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const k8s::Container& c) {
    return std::any_of(vendors_.begin(), vendors_.end(),
                       [&](const Vendor& v) { return asks_vendor(c, v); });
  });
}

bool Vendors::needs_lock(const core::Request& request) const {
  for (const core::Position& position : request.positions) {
    for (const core::DeviceAsk& ask : position.asks) {
      if (at(ask.vendor).locks_node) return true;
    }
  }
  return false;
}

k8s::StringMap Vendors::encode(const core::Allocation& allocation) const {
  k8s::StringMap out;
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    std::vector<std::vector<DeviceText>> positions(allocation.kinds.size());
    bool used = false;
    for (const core::Grant& grant : allocation.grants) {
      if (grant.vendor != id_of(row)) continue;
      if (grant.position >= positions.size()) positions.resize(grant.position + 1);
      positions[grant.position].push_back(
          {grant.device, vendors_[row].word, grant.memory.v, grant.cores.v});
      used = true;
    }
    if (!used) continue;
    const std::string text = encode_pod_devices(positions);
    for (const std::string* key : {&vendors_[row].to_allocate_key, &vendors_[row].allocated_key}) {
      if (!key->empty()) out.emplace_back(*key, text);
    }
  }
  return out;
}

Result<core::Allocation> Vendors::decode(const k8s::Pod& pod) const {
  core::Allocation allocation;
  allocation.node = pod.node_name;
  allocation.kinds = kinds_of(pod);
  allocation.init_finished = pod.init_finished;
  std::optional<Error> error;
  // Annotations of a pod that asks for nothing are forged or copied (S-12).
  for (std::size_t row = 0; row < vendors_.size() && asks_devices(pod); ++row) {
    const Vendor& vendor = vendors_[row];
    const std::string* text =
        vendor.allocated_key.empty() ? nullptr : k8s::find(pod.annotations, vendor.allocated_key);
    if (text == nullptr) continue;
    const Status ok = decode_vendor(pod, vendor, id_of(row), *text, allocation);
    if (!ok && !error) error = ok.error();
  }
  if (!allocation.grants.empty()) {
    std::stable_sort(
        allocation.grants.begin(), allocation.grants.end(),
        [](const core::Grant& a, const core::Grant& b) { return a.position < b.position; });
    return allocation;
  }
  if (error) return tl::unexpected(*error);
  return fail(Code::kNotFound, fmt::format("pod {}/{} carries no device", pod.ns, pod.name));
}

std::vector<core::PositionKind> Vendors::kinds_of(const k8s::Pod& pod) {
  std::vector<core::PositionKind> kinds;
  kinds.reserve(pod.containers.size());
  for (const k8s::Container& c : pod.containers) {
    kinds.push_back(c.sidecar ? core::PositionKind::kSidecar
                    : c.init  ? core::PositionKind::kInit
                              : core::PositionKind::kApp);
  }
  return kinds;
}

Result<Vendors::Mutation> Vendors::mutate(const k8s::Pod& pod) const {
  Mutation mutation;
  for (const k8s::Container& container : pod.containers) {
    ContainerMutation merged;
    for (std::size_t row = 0; row < vendors_.size(); ++row) {
      const Vendor& vendor = vendors_[row];
      if (!vendor.mutate) continue;
      auto one = vendor.mutate(vendor, pod, container);
      if (!one) return tl::unexpected(one.error());
      for (auto& limit : one->set_limits) merged.set_limits.push_back(std::move(limit));
      for (auto& env : one->append_env) merged.append_env.push_back(std::move(env));
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
    pod_policies(pod, {}, mutation.warnings);
    warn_about_resource_annotations(pod, resource_names(), mutation.warnings);
  }
  return mutation;
}

bool Vendors::is_scheduler_key(std::string_view key) const { return scheduler_key(key); }

}  // namespace tessera::vendors
