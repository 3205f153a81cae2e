#include "vendors/vendors.h"

#include <algorithm>
#include <utility>

#include "vendors/annotations.h"

namespace tessera::vendors {
namespace {

void append_unique(std::vector<std::string>& names, const std::string& name) {
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  names.push_back(name);
}

bool contains(const std::vector<std::string>& sorted, std::string_view key) {
  return std::binary_search(sorted.begin(), sorted.end(), key);
}

void append_keys(const Vendor& v, std::vector<std::string>& keys) {
  for (const std::string* key :
       {&v.register_key, &v.handshake_key, &v.score_key, &v.cordon_key, &v.to_allocate_key,
        &v.allocated_key, &v.use_model_key, &v.nouse_model_key, &v.numa_bind_key, &v.mode_key}) {
    append_unique(keys, *key);
  }
  for (const IdKeys& pair : v.id_keys) {
    append_unique(keys, pair.use);
    append_unique(keys, pair.nouse);
  }
  for (const auto* list : {&v.pod_keys, &v.user_keys, &v.node_keys}) {
    for (const std::string& key : *list) append_unique(keys, key);
  }
}

}  // namespace

Vendors::Vendors(std::vector<Vendor> rows) : vendors_(std::move(rows)) {
  for (Vendor& vendor : vendors_) vendor.rules.hooks = vendor.hooks.get();
}

Result<Vendors> Vendors::make(DeviceConfig config) {
  if (config.vendors.empty()) {
    std::string what = "all configurations are empty: no section gives a vendor";
    for (const std::string& name : config.other_sections)
      what += "; " + name + " is not served yet";
    for (const std::string& name : config.switched_off) what += "; " + name + " needs its flag";
    return fail(Code::kInvalid, what);
  }
  return Vendors(std::move(config.vendors));
}

core::VendorTable Vendors::rules() const {
  core::VendorTable table;
  for (const Vendor& v : vendors_) {
    table.push_back(v.rules);
    table.back().word = v.word;
  }
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

std::vector<VendorDescription> Vendors::table() const {
  std::vector<VendorDescription> table;
  for (const Vendor& v : vendors_) {
    table.push_back({v.word, v.section, v.count_resource, v.memory_resource,
                     v.memory_percent_resource, v.core_resource,
                     std::max<std::int64_t>(v.memory_factor, 1), v.register_key, v.handshake_key,
                     v.to_allocate_key, v.allocated_key, v.locks_node});
  }
  return table;
}

k8s::Keep Vendors::keep() const {
  std::vector<std::string> annotations;
  for (const std::string_view key :
       {kNodePolicyKey, kDevicePolicyKey, kScoringWeightsKey, kNodeLockKey}) {
    annotations.emplace_back(key);
  }
  for (const Vendor& v : vendors_) append_keys(v, annotations);
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

bool Vendors::needs_lock(const core::Request& request) const {
  for (const core::Position& position : request.positions) {
    for (const core::DeviceAsk& ask : position.asks) {
      if (at(ask.vendor).locks_node) return true;
    }
  }
  return false;
}

bool Vendors::is_scheduler_key(std::string_view key) const {
  if (scheduler_key(key)) return true;
  return std::any_of(vendors_.begin(), vendors_.end(), [&](const Vendor& v) {
    return std::find(v.pod_keys.begin(), v.pod_keys.end(), key) != v.pod_keys.end() ||
           key == v.to_allocate_key || key == v.allocated_key;
  });
}

}  // namespace tessera::vendors
