// From a node object to what it offers.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "vendors/annotations.h"
#include "vendors/codec.h"
#include "vendors/pair_scores.h"
#include "vendors/reserved_memory.h"
#include "vendors/seen_ids.h"
#include "vendors/vendors.h"

namespace tessera::vendors {
namespace {

VendorId id_of(std::size_t row) { return {static_cast<std::uint16_t>(row)}; }

/// D9: the count resource is what the agent's health shows in.
bool is_offered(const k8s::Node& node, const Vendor& vendor, std::vector<std::string>& problems) {
  if (vendor.count_resource.empty()) return false;
  const bool by_capacity = vendor.offered_by_capacity;
  const std::string* value =
      k8s::find(by_capacity ? node.capacity : node.allocatable, vendor.count_resource);
  if (value == nullptr) return false;
  const auto quantity = Quantity::parse(*value);
  if (!quantity) {
    problems.push_back(fmt::format("node {}: status.{}[{}]: {}", node.name,
                                   by_capacity ? "capacity" : "allocatable",
                                   text::quote(vendor.count_resource), quantity.error().what));
    return false;
  }
  return !quantity->negative() && quantity->rounded() > 0;
}

/// nullopt = the node carries none of this vendor.
Result<std::optional<std::vector<core::Device>>> devices_of(const k8s::Node& node,
                                                            const Vendor& vendor, VendorId id,
                                                            json::Parser& parser,
                                                            NodeReading& reading) {
  const std::string* text =
      vendor.register_key.empty() ? nullptr : k8s::find(node.annotations, vendor.register_key);
  if (text != nullptr) reading.has_register = true;
  if (vendor.devices) {
    auto devices = vendor.devices(vendor, node, id);
    if (devices && *devices) reading.has_register = true;
    return devices;
  }
  if (text == nullptr) return std::nullopt;
  auto devices = decode_register(*text, id, parser);
  if (!devices) {
    return fail(devices.error().code,
                fmt::format("{}: {}", vendor.register_key, devices.error().what));
  }
  return std::move(*devices);
}

/// Devices of one vendor with all that belongs to them; what is bad costs this vendor only (W-13).
void read_vendor(const k8s::Node& node, const Vendor& vendor, VendorId id, json::Parser& parser,
                 NodeReading& reading) {
  auto devices = devices_of(node, vendor, id, parser, reading);
  if (!devices) {
    reading.problems.push_back(fmt::format("node {}: {}", node.name, devices.error().what));
    return;
  }
  if (!*devices) return;
  std::vector<core::Device>& all = reading.spec.devices;
  all.reserve(all.size() + (*devices)->size());  // from here on their ids stay where they are
  SeenIds ids;
  for (const core::Device& device : all) ids.add(device.id);
  for (core::Device& device : **devices) {
    device.vendor = id;
    if (ids.has(device.id)) {
      reading.problems.push_back(
          fmt::format("node {}: {}: id {} is already taken by another vendor", node.name,
                      vendor.word, text::quote(device.id)));
      continue;
    }
    ids.add(all.emplace_back(std::move(device)).id);
  }
}

void add_entries(std::vector<std::string>& list, const k8s::StringMap& map, std::string_view key) {
  if (key.empty()) return;
  const std::string* value = k8s::find(map, key);
  if (value == nullptr) return;
  for (std::string& entry : comma_list(*value)) {
    if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(std::move(entry));
  }
}

}  // namespace

NodeReading Vendors::read_node(const k8s::Node& node) const {
  json::Parser parser;
  return read_node(node, parser);
}

NodeReading Vendors::read_node(const k8s::Node& node, json::Parser& parser) const {
  NodeReading reading;
  reading.spec.name = node.name;
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    const Vendor& vendor = vendors_[row];
    reading.spec.offered.push_back(is_offered(node, vendor, reading.problems));
    read_vendor(node, vendor, id_of(row), parser, reading);
    add_entries(reading.spec.cordoned, node.annotations, vendor.cordon_key);
  }
  if (const std::string* kept = k8s::find(node.annotations, kReservedMemoryKey)) {
    const Status done = reserve_memory(*kept, reading.spec.devices);
    if (!done) reading.problems.push_back(fmt::format("node {}: {}", node.name, done.error().what));
  }
  // Links are a square over all devices, so every vendor's must be there first.
  for (std::size_t row = 0; row < vendors_.size(); ++row) {
    const Vendor& vendor = vendors_[row];
    if (!vendor.node_extra) continue;
    const Status extra = vendor.node_extra(vendor, node, id_of(row), reading.spec);
    if (extra) continue;
    reading.problems.push_back(fmt::format("node {}: {}", node.name, extra.error().what));
    drop_devices(reading.spec, id_of(row));
  }
  const std::string* lock = k8s::find(node.annotations, kNodeLockKey);
  reading.spec.locked = lock != nullptr && !lock->empty();
  return reading;
}

}  // namespace tessera::vendors
