#include "service/scrape_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "obs/exposition.h"

namespace tessera::service {
namespace {

using obs::label_text;

constexpr double kBytesPerMiB = 1024 * 1024;

/// Equal labels twice make a scraper refuse the whole page; they come up when names differ only in
/// bytes that are no UTF-8, or when a pod was made anew under the name of one not gone yet.
class Seen {
 public:
  explicit Seen(std::size_t& duplicates) : duplicates_(duplicates) {}
  template <class... Parts>
  bool is_new(const Parts&... parts) {
    std::string key;
    ((key += parts, key += '\n'), ...);  // label texts hold no raw line end
    if (keys_.insert(std::move(key)).second) return true;
    ++duplicates_;
    return false;
  }

 private:
  std::unordered_set<std::string> keys_;
  std::size_t& duplicates_;
};

void add_devices(const ScrapeNode& node, const std::string& name, Seen& seen, Rows& rows) {
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const core::Device& device = node.devices[i];
    DeviceRow row{&device, node.used[i], name, label_text(device.id), label_text(device.model)};
    if (seen.is_new(row.node, row.uuid)) rows.devices.push_back(std::move(row));
  }
}

void add_vendors(const ScrapeNode& node, const std::string& name, const vendors::Vendors& vendors,
                 Seen& seen, Rows& rows) {
  for (std::size_t v = 0; v < vendors.all().size(); ++v) {
    NodeVendorRow row{name, label_text(vendors.all()[v].word)};
    row.offered = v < node.offered.size() && node.offered[v];
    row.registered = std::any_of(node.devices.begin(), node.devices.end(),
                                 [v](const core::Device& device) { return device.vendor.v == v; });
    if (!row.offered && !row.registered) continue;  // the node has nothing to do with this vendor
    if (seen.is_new(row.node, row.vendor)) rows.node_vendors.push_back(std::move(row));
  }
}

/// Several grants of one card to one container (instances) are one row.
std::vector<ContainerRow> container_rows(const ScrapePod& pod, const PodRow& base) {
  std::map<std::pair<std::uint32_t, std::string>, ContainerRow> by_card;
  for (const core::Grant& grant : pod.grants) {
    const std::string uuid = label_text(grant.device);
    ContainerRow& row = by_card[{grant.position, uuid}];
    row.ns = base.ns;
    row.pod = base.pod;
    row.node = base.node;
    row.uuid = uuid;
    row.index = grant.position;
    if (grant.position < pod.containers.size()) {
      row.container = label_text(pod.containers[grant.position]);
    }
    row.memory += grant.memory.v;
    row.cores += grant.cores.v;
  }
  std::vector<ContainerRow> rows;
  for (auto& [key, row] : by_card) rows.push_back(std::move(row));
  return rows;
}

void add_instances(const ScrapeNode& node, const std::string& name, const ScrapePod& pod,
                   Seen& seen, Rows& rows) {
  for (const core::Grant& grant : pod.grants) {
    if (!grant.mig || !grant.mig->instance) continue;  // its agent has not made it yet
    const std::size_t at = core::find_device(node.devices, grant.vendor, grant.device);
    if (at == node.devices.size() || !node.devices[at].partitioned()) continue;
    InstanceRow row{.node = name,
                    .uuid = label_text(grant.device),
                    .mig_uuid = label_text(grant.mig->instance->uuid),
                    .profile = label_text(grant.mig->profile),
                    .gpu_instance = label_text(grant.mig->instance->gpu_instance),
                    .compute_instance = label_text(grant.mig->instance->compute_instance),
                    .device_index = node.devices[at].index,
                    .placement = grant.mig->placement};
    if (seen.is_new(row.node, row.uuid, row.profile, row.gpu_instance)) {
      rows.instances.push_back(std::move(row));
    }
  }
}

struct PodSeen {
  Seen pods, containers, instances;
};

void add_pods(const ScrapeNode& node, const std::string& name, PodSeen& seen, Rows& rows) {
  for (const ScrapePod& pod : node.pods) {
    PodRow base{label_text(pod.ns), label_text(pod.name), label_text(pod.node), {}, {}};
    for (const core::Charge& charge : pod.charges) {
      if (charge.device.empty()) continue;
      PodRow row = base;
      row.uuid = label_text(charge.device);
      row.used = charge.usage;
      if (seen.pods.is_new(row.ns, row.pod, row.node, row.uuid)) rows.pods.push_back(row);
    }
    for (ContainerRow& row : container_rows(pod, base)) {
      if (seen.containers.is_new(row.ns, row.pod, row.node, row.uuid, std::to_string(row.index))) {
        rows.containers.push_back(std::move(row));
      }
    }
    add_instances(node, name, pod, seen.instances, rows);
  }
}

// ---- quotas

constexpr core::QuotaKind kKinds[] = {core::QuotaKind::kMemory, core::QuotaKind::kCores,
                                      core::QuotaKind::kCount};

const std::string& resource_of(const vendors::Vendor& vendor, core::QuotaKind kind) {
  if (kind == core::QuotaKind::kMemory) return vendor.memory_resource;
  return kind == core::QuotaKind::kCores ? vendor.core_resource : vendor.count_resource;
}

using QuotaTable = std::map<std::pair<std::string, std::string>, QuotaRow>;

QuotaRow& quota_row(QuotaTable& table, const std::string& ns, const std::string& resource) {
  QuotaRow& row = table[{ns, resource}];
  row.ns = label_text(ns);
  row.resource = label_text(resource);
  return row;
}

void add_limits(const core::QuotaBook::Row& quota, const vendors::Vendors& vendors,
                QuotaTable& table, Rows& rows) {
  for (const core::QuotaLimit& limit : quota.quota.limits) {
    if (limit.vendor.v >= vendors.all().size()) continue;
    const std::string& resource = resource_of(vendors.at(limit.vendor), limit.kind);
    QuotaRow& row = quota_row(table, quota.quota.ns, resource);
    // Of several objects the lowest limit is the one that counts.
    row.limit = row.limited ? std::min(row.limit, limit.limit) : limit.limit;
    row.limited = true;
    std::int64_t used = 0;
    for (const core::QuotaNeed& need : quota.used) {
      if (need.vendor == limit.vendor) used += need.amount(limit.kind);
    }
    rows.quota_objects.push_back({label_text(quota.quota.ns), label_text(quota.quota.name),
                                  label_text(resource), used, limit.limit});
  }
}

void add_quotas(const ScrapeQuotas& quotas, const vendors::Vendors& vendors, Rows& rows) {
  QuotaTable table;
  for (const core::QuotaBook::Row& quota : quotas.rows) add_limits(quota, vendors, table, rows);
  for (const auto& [ns, needs] : quotas.used) {
    for (const core::QuotaNeed& need : needs) {
      if (need.vendor.v >= vendors.all().size()) continue;
      for (const core::QuotaKind kind : kKinds) {
        const std::string& resource = resource_of(vendors.at(need.vendor), kind);
        if (!resource.empty()) quota_row(table, ns, resource).used += need.amount(kind);
      }
    }
  }
  for (auto& [key, row] : table) rows.quotas.push_back(std::move(row));
}

}  // namespace

void Page::family(std::string_view name, std::string_view help) {
  fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

void Page::row(std::string_view name, std::string_view labels, double value) {
  text_ += name;
  if (!labels.empty()) {
    text_ += '{';
    text_ += labels;
    text_ += '}';
  }
  text_ += ' ';
  // Nearly all values are whole: written as such they take a fraction of the time.
  constexpr double kExact = 1e15;
  if (value > -kExact && value < kExact && value == std::trunc(value)) {
    const fmt::format_int whole(static_cast<std::int64_t>(value));
    text_.append(whole.data(), whole.size());
  } else {
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  text_ += '\n';
}

void Page::plain(std::string_view name, std::string_view help, double value) {
  family(name, help);
  row(name, {}, value);
}

double bytes(MiB memory) { return static_cast<double>(memory.v) * kBytesPerMiB; }

Rows rows_of(const ScrapePicture& picture, const vendors::Vendors& vendors) {
  Rows rows;
  Seen devices(rows.duplicates), node_vendors(rows.duplicates);
  PodSeen pods{Seen(rows.duplicates), Seen(rows.duplicates), Seen(rows.duplicates)};
  for (const auto& node : picture.nodes) {
    const std::string name = label_text(node->name);
    if (node->present) {
      add_devices(*node, name, devices, rows);
      add_vendors(*node, name, vendors, node_vendors, rows);
    }
    add_pods(*node, name, pods, rows);
  }
  if (picture.quotas != nullptr) add_quotas(*picture.quotas, vendors, rows);
  return rows;
}

}  // namespace tessera::service
