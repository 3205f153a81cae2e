/// Rows of a page of metrics, made once from a picture and written under several names. Internal to
/// the page. Thread rule: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/scrape.h"
#include "vendors/vendors.h"

namespace tessera::service {

/// Writes families one after the other.
class Page {
 public:
  void family(std::string_view name, std::string_view help);
  /// labels: pairs without braces, "" = none.
  void row(std::string_view name, std::string_view labels, double value);
  void plain(std::string_view name, std::string_view help, double value);
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

/// Label texts are escaped already. Pointers go into the picture.
struct DeviceRow {
  const core::Device* device = nullptr;
  core::Usage used;
  std::string node, uuid, type;
};
struct PodRow {
  std::string ns, pod, node, uuid;
  core::Usage used;
};
struct ContainerRow {
  std::string ns, pod, node, uuid, container;
  std::uint32_t index = 0;
  std::int64_t memory = 0, cores = 0;
};
struct InstanceRow {
  std::string node, uuid, mig_uuid, profile, gpu_instance, compute_instance;
  std::uint32_t device_index = 0;
  core::MigPlacement placement;
};
/// Of one namespace and resource name.
struct QuotaRow {
  std::string ns, resource;
  std::int64_t used = 0, limit = 0;
  bool limited = false;
};
/// Of one quota object and resource name.
struct QuotaObjectRow {
  std::string ns, quota, resource;
  std::int64_t used = 0, limit = 0;
};
struct NodeVendorRow {
  std::string node, vendor;
  bool registered = false, offered = false;
};

struct Rows {
  std::vector<DeviceRow> devices;
  std::vector<PodRow> pods;
  std::vector<ContainerRow> containers;
  std::vector<InstanceRow> instances;
  std::vector<QuotaRow> quotas;
  std::vector<QuotaObjectRow> quota_objects;
  std::vector<NodeVendorRow> node_vendors;
  std::size_t duplicates = 0;
};
Rows rows_of(const ScrapePicture& picture, const vendors::Vendors& vendors);

double bytes(MiB memory);

}  // namespace tessera::service
