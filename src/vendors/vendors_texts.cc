// Decisions as pod annotations, and back.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vendors/codec.h"
#include "vendors/vendors.h"

namespace tessera::vendors {
namespace {

VendorId id_of(std::size_t row) { return {static_cast<std::uint16_t>(row)}; }

bool grants_of(const core::Allocation& allocation, VendorId id) {
  return std::any_of(allocation.grants.begin(), allocation.grants.end(),
                     [&](const core::Grant& g) { return g.vendor == id; });
}

/// One list per position; empty when the allocation has nothing of this vendor.
std::vector<std::vector<DeviceText>> texts_of(const core::Allocation& allocation, VendorId id,
                                              const std::string& word) {
  if (!grants_of(allocation, id)) return {};
  std::vector<std::vector<DeviceText>> positions(allocation.kinds.size());
  for (const core::Grant& grant : allocation.grants) {
    if (grant.vendor != id) continue;
    if (grant.position >= positions.size()) positions.resize(grant.position + 1);
    positions[grant.position].push_back({grant.device, word, grant.memory.v, grant.cores.v});
  }
  return positions;
}

}  // namespace

k8s::StringMap Vendors::encode(const core::Allocation& allocation, WallTime now,
                               const std::vector<std::string>& carried) const {
  k8s::StringMap out;
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    const Vendor& vendor = vendors_[row];
    const auto positions = texts_of(allocation, id_of(row), vendor.word);
    if (positions.empty()) continue;
    const std::string text = encode_pod_devices(positions);
    for (const std::string* key : {&vendor.to_allocate_key, &vendor.allocated_key}) {
      if (!key->empty()) out.emplace_back(*key, text);
    }
    if (vendor.annotate) vendor.annotate(vendor, id_of(row), allocation, now, out);
  }
  for (const std::string& key : carried) {
    if (k8s::find(out, key) == nullptr) out.emplace_back(key, "");
  }
  return out;
}

std::vector<std::string> Vendors::carried_keys(const k8s::Pod& pod) const {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    const std::string* value = key.empty() ? nullptr : k8s::find(pod.annotations, key);
    if (value == nullptr || value->empty()) return;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const Vendor& vendor : vendors_) {
    add(vendor.to_allocate_key);
    add(vendor.allocated_key);
    for (const std::string& key : vendor.pod_keys) add(key);
  }
  return keys;
}

/// HAMi leaves out positions without devices on some nodes (S-1): as many pieces as containers that
/// ask means exactly those containers. Otherwise piece i is container i.
std::vector<std::uint32_t> Vendors::positions_of(const k8s::Pod& pod, std::size_t row,
                                                 std::size_t pieces) const {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = 0; i < pod.containers.size(); ++i) {
    if (asks_vendor(pod.containers[i], row)) positions.push_back(i);
  }
  if (pieces < pod.containers.size() && positions.size() == pieces) return positions;
  positions.clear();
  for (std::uint32_t i = 0; i < pieces; ++i) positions.push_back(i);
  return positions;
}

Status Vendors::decode_vendor(const k8s::Pod& pod, std::size_t row, const std::string& text,
                              core::Allocation& allocation) const {
  auto pieces = decode_pod_devices(text);
  if (!pieces) {
    return fail(Code::kInvalid, fmt::format("pod {}/{}: {}: {}", pod.ns, pod.name,
                                            vendors_[row].allocated_key, pieces.error().what));
  }
  if (pieces->back().empty()) pieces->pop_back();  // what follows the last ';'
  const auto positions = positions_of(pod, row, pieces->size());
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    for (DeviceText& d : (*pieces)[i]) {
      // A negative share would give room to others that is not there.
      allocation.grants.push_back({positions[i],
                                   id_of(row),
                                   std::move(d.id),
                                   {std::max<std::int64_t>(d.memory, 0)},
                                   {std::max<std::int64_t>(d.cores, 0)},
                                   std::nullopt});
    }
  }
  return {};
}

Result<core::Allocation> Vendors::decode(const k8s::Pod& pod,
                                         std::vector<std::string>* problems) const {
  core::Allocation allocation;
  allocation.node = pod.node_name;
  allocation.kinds = kinds_of(pod);
  allocation.init_finished = pod.init_finished;
  allocation.subject = subject_of(pod);
  std::vector<Error> errors;
  // Annotations of a pod that asks for nothing are forged or copied (S-12).
  const bool asks = asks_devices(pod);
  for (std::size_t row = 0; row < vendors_.size() && asks; ++row) {
    const std::string& key = vendors_[row].allocated_key;
    const std::string* text = key.empty() ? nullptr : k8s::find(pod.annotations, key);
    if (text == nullptr) continue;
    if (Status ok = decode_vendor(pod, row, *text, allocation); !ok) {
      errors.push_back(std::move(ok.error()));
    }
  }
  std::stable_sort(
      allocation.grants.begin(), allocation.grants.end(),
      [](const core::Grant& a, const core::Grant& b) { return a.position < b.position; });
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    if (!vendors_[row].recall || !grants_of(allocation, id_of(row))) continue;
    if (Status ok = vendors_[row].recall(vendors_[row], id_of(row), pod, allocation); !ok) {
      errors.push_back(
          {ok.error().code, fmt::format("pod {}/{}: {}", pod.ns, pod.name, ok.error().what)});
    }
  }
  if (!allocation.grants.empty()) {
    for (Error& error : errors) {
      if (problems != nullptr) problems->push_back(std::move(error.what));
    }
    return allocation;
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors.front()));
  return fail(Code::kNotFound, fmt::format("pod {}/{} carries no device", pod.ns, pod.name));
}

}  // namespace tessera::vendors
