#include "service/scrape_pack.h"

#include <algorithm>
#include <map>
#include <utility>

#include "obs/exposition.h"

namespace tessera::service {
namespace {

using obs::label_text;

constexpr unsigned kBits = 7;  // of a number in one byte; the eighth says that more follows
constexpr std::uint64_t kMore = 1U << kBits;

constexpr std::uint64_t kHealthy = 1;                   // of a device
constexpr std::uint64_t kRegistered = 1, kOffered = 2;  // of a vendor on a node

class Writer {
 public:
  void number(std::uint64_t v) {
    for (; v >= kMore; v >>= kBits) bytes_.push_back(static_cast<char>(v | kMore));
    bytes_.push_back(static_cast<char>(v));
  }
  /// Small ones of either sign take one byte.
  void signed_number(std::int64_t v) {
    const auto bits = static_cast<std::uint64_t>(v);
    number(v < 0 ? ~(bits << 1U) : bits << 1U);
  }
  void text(std::string_view v) {
    number(v.size());
    bytes_ += v;
  }
  /// 0 when it is the one that the reader knows.
  void text_or_same(std::string_view v, std::string_view known) {
    if (v == known) return number(0);
    number(v.size() + 1);
    bytes_ += v;
  }
  /// The place among the devices of the node, or 0 and the text.
  void device(std::string_view uuid) {
    const auto at = std::find(devices_.begin(), devices_.end(), uuid);
    if (at != devices_.end()) return number(static_cast<std::uint64_t>(at - devices_.begin()) + 1);
    number(0);
    text(uuid);
  }
  void add_device(std::string uuid) {
    text(uuid);
    devices_.push_back(std::move(uuid));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::string> devices_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t v = 0;
    for (unsigned shift = 0;; shift += kBits) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      v |= (byte & (kMore - 1)) << shift;
      if (byte < kMore) return v;
    }
  }
  std::uint32_t small() { return static_cast<std::uint32_t>(number()); }
  std::uint16_t vendor() { return static_cast<std::uint16_t>(number()); }
  std::int64_t signed_number() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>((bits & 1U) != 0 ? ~(bits >> 1U) : bits >> 1U);
  }
  std::string_view text() { return take(number()); }
  std::string_view text_or_same(std::string_view known) {
    const std::uint64_t size = number();
    return size == 0 ? known : take(size - 1);
  }
  std::string_view device(const std::vector<DeviceRow>& devices) {
    const std::uint64_t place = number();
    return place == 0 ? text() : devices[place - 1].uuid;
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view rest_;
};

// ---- packing

void pack_devices(const ScrapeNode& node, Writer& out) {
  const std::vector<core::Device>& devices = node.devices;
  out.number(node.present ? devices.size() : 0);
  if (!node.present) return;
  std::string last;
  for (const core::Device& device : devices) {
    out.number(device.index);
    out.number(device.vendor.v);
    out.number(device.healthy ? kHealthy : 0);
    out.signed_number(device.memory.v);
    out.signed_number(device.cores.v);
    out.add_device(label_text(device.id));
    std::string type = label_text(device.model);
    out.text_or_same(type, last);
    last = std::move(type);
  }
}

void pack_vendors(const ScrapeNode& node, Writer& out) {
  std::map<std::uint16_t, std::uint64_t> flags;
  if (node.present) {
    for (std::size_t v = 0; v < node.offered.size(); ++v) {
      if (node.offered[v]) flags[static_cast<std::uint16_t>(v)] |= kOffered;
    }
    for (const core::Device& device : node.devices) flags[device.vendor.v] |= kRegistered;
  }
  out.number(flags.size());
  for (const auto& [vendor, bits] : flags) {
    out.number(vendor);
    out.number(bits);
  }
}

struct Held {
  std::string container;
  std::int64_t memory = 0, cores = 0;
};

/// Several grants of one card to one container (instances) are one row.
void pack_containers(const ScrapePod& pod, Writer& out) {
  std::map<std::pair<std::uint32_t, std::string>, Held> by_card;
  for (const core::Grant& grant : pod.grants) {
    Held& held = by_card[{grant.position, label_text(grant.device)}];
    if (grant.position < pod.containers.size()) {
      held.container = label_text(pod.containers[grant.position]);
    }
    held.memory += grant.memory.v;
    held.cores += grant.cores.v;
  }
  out.number(by_card.size());
  for (const auto& [key, held] : by_card) {
    out.number(key.first);
    out.device(key.second);
    out.text(held.container);
    out.signed_number(held.memory);
    out.signed_number(held.cores);
  }
}

void pack_instances(const ScrapeNode& node, const ScrapePod& pod, Writer& out) {
  std::vector<std::pair<const core::Grant*, std::uint32_t>> found;
  for (const core::Grant& grant : pod.grants) {
    if (!grant.mig || !grant.mig->instance) continue;  // its agent has not made it yet
    const std::size_t at = core::find_device(node.devices, grant.vendor, grant.device);
    if (at == node.devices.size() || !node.devices[at].partitioned()) continue;
    found.emplace_back(&grant, node.devices[at].index);
  }
  out.number(found.size());
  for (const auto& [grant, device_index] : found) {
    out.device(label_text(grant->device));
    out.text(label_text(grant->mig->instance->uuid));
    out.text(label_text(grant->mig->profile));
    out.text(label_text(grant->mig->instance->gpu_instance));
    out.text(label_text(grant->mig->instance->compute_instance));
    out.number(device_index);
    out.number(grant->mig->placement.start);
    out.number(grant->mig->placement.size);
  }
}

void pack_pod(const ScrapeNode& node, const std::string& name, const ScrapePod& pod, Writer& out) {
  out.text(label_text(pod.ns));
  out.text(label_text(pod.name));
  out.text_or_same(label_text(pod.node), name);
  out.number(static_cast<std::uint64_t>(
      std::count_if(pod.charges.begin(), pod.charges.end(),
                    [](const core::Charge& charge) { return !charge.device.empty(); })));
  for (const core::Charge& charge : pod.charges) {
    if (charge.device.empty()) continue;
    out.device(label_text(charge.device));
    out.signed_number(charge.usage.memory.v);
    out.signed_number(charge.usage.cores.v);
  }
  pack_containers(pod, out);
  pack_instances(node, pod, out);
}

// ---- unpacking

void unpack_devices(const PackedNode& node, std::string_view name, Reader& in, NodeRows& rows) {
  std::string_view type;
  const std::uint64_t count = in.number();
  for (std::size_t i = 0; i < count; ++i) {
    DeviceRow& row = rows.devices.emplace_back();
    row.node = name;
    row.index = in.small();
    row.vendor = in.vendor();
    row.healthy = in.number() == kHealthy;
    row.memory = {in.signed_number()};
    row.cores = {in.signed_number()};
    row.uuid = in.text();
    row.type = type = in.text_or_same(type);
    row.used = node.used[i];
  }
}

void unpack_vendors(std::string_view name, Reader& in, NodeRows& rows) {
  for (std::uint64_t left = in.number(); left > 0; --left) {
    NodeVendorRow& row = rows.vendors.emplace_back();
    row.node = name;
    row.vendor = in.vendor();
    const std::uint64_t bits = in.number();
    row.registered = (bits & kRegistered) != 0;
    row.offered = (bits & kOffered) != 0;
  }
}

void unpack_instances(std::string_view name, Reader& in, NodeRows& rows) {
  for (std::uint64_t left = in.number(); left > 0; --left) {
    InstanceRow& row = rows.instances.emplace_back();
    row.node = name;
    row.uuid = in.device(rows.devices);
    row.mig_uuid = in.text();
    row.profile = in.text();
    row.gpu_instance = in.text();
    row.compute_instance = in.text();
    row.device_index = in.small();
    row.placement.start = in.small();
    row.placement.size = in.small();
  }
}

void unpack_pod(std::string_view name, Reader& in, NodeRows& rows) {
  const std::string_view ns = in.text(), pod = in.text(), node = in.text_or_same(name);
  for (std::uint64_t left = in.number(); left > 0; --left) {
    PodRow& row = rows.pods.emplace_back();
    row.ns = ns;
    row.pod = pod;
    row.node = node;
    row.uuid = in.device(rows.devices);
    row.memory = {in.signed_number()};
    row.cores = {in.signed_number()};
  }
  for (std::uint64_t left = in.number(); left > 0; --left) {
    ContainerRow& row = rows.containers.emplace_back();
    row.ns = ns;
    row.pod = pod;
    row.node = node;
    row.index = in.small();
    row.uuid = in.device(rows.devices);
    row.container = in.text();
    row.memory = in.signed_number();
    row.cores = in.signed_number();
  }
  unpack_instances(name, in, rows);
}

}  // namespace

std::shared_ptr<const PackedNode> pack(const ScrapeNode& node) {
  Writer out;
  const std::string name = label_text(node.name);
  out.text(name);
  pack_devices(node, out);
  pack_vendors(node, out);
  out.number(node.pods.size());
  for (const ScrapePod& pod : node.pods) pack_pod(node, name, pod, out);
  auto packed = std::make_shared<PackedNode>();
  packed->used.assign(node.used.begin(), node.used.end());
  packed->bytes.assign(out.bytes());  // exactly as much as is needed
  return packed;
}

void unpack(const PackedNode& node, NodeRows& rows) {
  rows.devices.clear();
  rows.pods.clear();
  rows.containers.clear();
  rows.instances.clear();
  rows.vendors.clear();
  Reader in(node.bytes);
  const std::string_view name = in.text();
  unpack_devices(node, name, in, rows);
  unpack_vendors(name, in, rows);
  for (std::uint64_t left = in.number(); left > 0; --left) unpack_pod(name, in, rows);
}

}  // namespace tessera::service
