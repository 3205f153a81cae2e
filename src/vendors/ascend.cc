#include "vendors/ascend.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "json/writer.h"

namespace tessera::vendors {
namespace {

constexpr auto kNodeSoftKey = "hami-vnpu-core";
constexpr auto kTimeKey = "predicate-time";

void set(k8s::StringMap& map, std::string_view key, std::string value) {
  for (auto& [known, text] : map) {
    if (known != key) continue;
    text = std::move(value);
    return;
  }
  map.emplace_back(key, std::move(value));
}

/// What the agent cuts: all cards of the pod in one list, whatever container they are for.
std::string cut_list(const AscendChip& chip, VendorId id, const core::Allocation& allocation) {
  json::Writer out;
  out.begin_array();
  for (const core::Grant& grant : allocation.grants) {
    if (grant.vendor != id) continue;
    out.begin_object().key("UUID").string(grant.device);
    const bool soft = (grant.traits & kAscendSoft) != 0;
    const AscendSlice slice = ascend_slice(chip, grant.memory.v);
    if (!soft && !slice.name.empty()) out.key("temp").string(slice.name);
    if (grant.memory.v != 0) out.key("memory").integer(grant.memory.v);
    if (grant.cores.v != 0) out.key("core").integer(grant.cores.v);
    out.end_object();
  }
  out.end_array();
  return std::move(out).take();
}

void add_keys(Vendor& v) {
  v.register_key = "hami.io/node-register-" + v.word;
  v.handshake_key = "hami.io/node-handshake-" + v.word;
  v.to_allocate_key = fmt::format("hami.io/{}-devices-to-allocate", v.word);
  v.allocated_key = fmt::format("hami.io/{}-devices-allocated", v.word);
  v.id_keys = {
      {fmt::format("hami.io/use-{}-uuid", v.word), fmt::format("hami.io/no-use-{}-uuid", v.word)}};
  v.pod_keys = {"huawei.com/" + v.word, kTimeKey};
  v.user_keys = {std::string(kAscendModeKey)};
  v.node_keys = {kNodeSoftKey};
}

Status read_mode(const AscendSection& section, const k8s::Node& node, VendorId id,
                 core::NodeSpec& spec) {
  const std::string* mode = k8s::find(node.annotations, kNodeSoftKey);
  if (mode == nullptr ? !section.soft_by_default : *mode != "true") return {};
  if (spec.traits.size() <= id.v) spec.traits.resize(id.v + 1U, 0);
  spec.traits[id.v] |= kAscendSoft;
  return {};
}

void annotate(const AscendChip& chip, VendorId id, const core::Allocation& allocation, WallTime now,
              k8s::StringMap& out) {
  set(out, "huawei.com/" + chip.word, cut_list(chip, id, allocation));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  set(out, kTimeKey, std::to_string(seconds.count()));
}

void add_functions(Vendor& v, std::shared_ptr<const AscendSection> section,
                   const AscendChip& chip) {
  v.mutate = [section, &chip](const Vendor& vendor, const k8s::Pod& pod,
                              const k8s::Container& container) {
    return ascend_mutate(*section, chip, vendor, pod, container);
  };
  v.node_extra = [section](const Vendor&, const k8s::Node& node, VendorId id,
                           core::NodeSpec& spec) { return read_mode(*section, node, id, spec); };
  v.constrain = [](const Vendor&, const k8s::Pod& pod, core::Constraints& constraints) {
    if (!ascend_soft(pod)) return;
    constraints.traits |= kAscendSoft;
    constraints.core_total = {100};
  };
  v.annotate = [section, &chip](const Vendor&, VendorId id, const core::Allocation& allocation,
                                WallTime now,
                                k8s::StringMap& out) { annotate(chip, id, allocation, now, out); };
  v.recall = [](const Vendor&, VendorId id, const k8s::Pod& pod,
                core::Allocation& allocation) -> Status {
    for (core::Grant& grant : allocation.grants) {
      if (grant.vendor == id && ascend_soft(pod)) grant.traits |= kAscendSoft;
    }
    return {};
  };
}

}  // namespace

Vendor ascend_vendor(const std::shared_ptr<const AscendSection>& section, const AscendChip& chip) {
  Vendor v;
  v.word = chip.word;
  v.count_resource = chip.count_name;
  v.memory_resource = chip.memory_name;
  v.core_resource = chip.core_name;
  v.memory_factor = chip.memory_factor;
  v.runtime_class = chip.runtime_class;
  // Agents register AI cores, soft slices are granted in percent.
  v.rules.least_core_capacity = {100};
  v.hooks = ascend_hooks(chip);
  v.rules.hooks = v.hooks.get();
  add_keys(v);
  add_functions(v, section, chip);
  return v;
}

}  // namespace tessera::vendors
