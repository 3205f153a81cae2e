/// What is kept of a node between two pages of metrics, as short as it gets: one block of bytes in
/// which its texts stand as a page writes them, each id once. A copy of the books' own records is
/// five times as large. Thread rule: pure functions and immutable values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.h"

namespace tessera::service {

struct ScrapePod {
  std::string ns, name, node;
  std::vector<std::string> containers;  ///< names by position; empty when no watch told them
  std::vector<core::Charge> charges;
  std::vector<core::Grant> grants;
};
/// As the state thread copies it.
struct ScrapeNode {
  std::string name;
  bool present = false;  ///< else only its pods count
  std::vector<core::Device> devices;
  std::vector<core::Usage> used;
  std::vector<bool> offered;
  std::vector<ScrapePod> pods;
};

struct PackedNode {
  std::vector<core::Usage> used;  ///< by device
  std::string bytes;              ///< all else, for unpack() only
};
std::shared_ptr<const PackedNode> pack(const ScrapeNode& node);

/// Rows of a page. Texts are escaped already and lie in the packed node.
struct DeviceRow {
  std::string_view node, uuid, type;
  std::uint32_t index = 0;
  std::uint16_t vendor = 0;
  bool healthy = false;
  MiB memory;
  CorePercent cores;
  core::Usage used;
};
struct PodRow {
  std::string_view ns, pod, node, uuid;
  MiB memory;
  CorePercent cores;
};
struct ContainerRow {
  std::string_view ns, pod, node, uuid, container;
  std::uint32_t index = 0;
  std::int64_t memory = 0, cores = 0;
};
struct InstanceRow {
  std::string_view node, uuid, mig_uuid, profile, gpu_instance, compute_instance;
  std::uint32_t device_index = 0;
  core::MigPlacement placement;
};
struct NodeVendorRow {
  std::string_view node;
  std::uint16_t vendor = 0;
  bool registered = false, offered = false;
};
/// Of one node.
struct NodeRows {
  std::vector<DeviceRow> devices;
  std::vector<PodRow> pods;
  std::vector<ContainerRow> containers;
  std::vector<InstanceRow> instances;
  std::vector<NodeVendorRow> vendors;
};
/// Replaces what is in `rows`, without new memory when there was as much before.
void unpack(const PackedNode& node, NodeRows& rows);

}  // namespace tessera::service
