#include "service/scrape_text.h"

#include <fmt/format.h>

#include <utility>

#include "obs/exposition.h"
#include "service/scrape_rows.h"

namespace tessera::service {
namespace {

using obs::label_text;

/// One set of names for what HAMi exports: today's, or those up to 2.8.
struct Names {
  std::string_view memory_limit, core_limit, memory_allocated, shared, core_allocated, overview,
      memory_share, instance, quota_used, pod_memory, pod_cores;
  std::string_view node, uuid, index, type, cores, memory;  // labels of devices
  std::string_view pod_namespace, pod_node, pod, container_index;
  std::string_view quota_namespace, quota_name;
};

constexpr Names kNames{
    .memory_limit = "hami_gpu_memory_limit_bytes",
    .core_limit = "hami_gpu_core_limit_ratio",
    .memory_allocated = "hami_gpu_memory_allocated_bytes",
    .shared = "hami_gpu_shared_count",
    .core_allocated = "hami_gpu_core_allocated_ratio",
    .overview = "hami_node_gpu_overview",
    .memory_share = "hami_node_gpu_memory_allocated_ratio",
    .instance = "hami_node_gpu_mig_instance_info",
    .quota_used = "hami_resource_quota_used",
    .pod_memory = "hami_vgpu_memory_allocated_bytes",
    .pod_cores = "hami_vgpu_core_allocated_ratio",
    .node = "node",
    .uuid = "device_uuid",
    .index = "device_index",
    .type = "device_type",
    .cores = "device_cores",
    .memory = "device_memory_limit",
    .pod_namespace = "namespace",
    .pod_node = "node",
    .pod = "pod",
    .container_index = "container_index",
    .quota_namespace = "namespace",
    .quota_name = "quota_name",
};
constexpr Names kLegacyNames{
    .memory_limit = "GPUDeviceMemoryLimit",
    .core_limit = "GPUDeviceCoreLimit",
    .memory_allocated = "GPUDeviceMemoryAllocated",
    .shared = "GPUDeviceSharedNum",
    .core_allocated = "GPUDeviceCoreAllocated",
    .overview = "nodeGPUOverview",
    .memory_share = "nodeGPUMemoryPercentage",
    .instance = "nodeGPUMigInstance",
    .quota_used = "QuotaUsed",
    .pod_memory = "vGPUMemoryAllocated",
    .pod_cores = "vGPUCoreAllocated",
    .node = "nodeid",
    .uuid = "deviceuuid",
    .index = "deviceidx",
    .type = "devicetype",
    .cores = "devicecores",
    .memory = "devicememorylimit",
    .pod_namespace = "podnamespace",
    .pod_node = "nodename",
    .pod = "podname",
    .container_index = "containeridx",
    .quota_namespace = "quotanamespace",
    .quota_name = "quotaName",
};
constexpr std::string_view kZone = R"(zone="vGPU")";

bool is_legacy(const Names& names) { return &names == &kLegacyNames; }

void write_devices(Page& page, const Names& n, const std::vector<DeviceRow>& rows) {
  std::vector<std::string> labels;
  labels.reserve(rows.size());
  for (const DeviceRow& row : rows) {
    labels.push_back(fmt::format(R"({}="{}",{}="{}",{}="{}",{}="{}",{})", n.index,
                                 row.device->index, n.type, row.type, n.uuid, row.uuid, n.node,
                                 row.node, kZone));
  }
  const auto write = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (std::size_t i = 0; i < rows.size(); ++i) page.row(name, labels[i], value(rows[i]));
  };
  write(n.memory_limit, "Memory of a device that can be given to pods.",
        [](const DeviceRow& r) { return bytes(r.device->memory); });
  write(n.core_limit, "Compute of a device that can be given to pods, in percent.",
        [](const DeviceRow& r) { return static_cast<double>(r.device->cores.v); });
  write(n.shared, "Containers that share a device.",
        [](const DeviceRow& r) { return static_cast<double>(r.used.slots); });
  write(n.core_allocated, "Compute of a device promised to pods, in percent.",
        [](const DeviceRow& r) { return static_cast<double>(r.used.cores.v); });
  page.family(n.memory_allocated, "Memory of a device promised to pods.");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    page.row(n.memory_allocated,
             fmt::format(R"({}="{}",{})", n.cores, rows[i].device->cores.v, labels[i]),
             bytes(rows[i].used.memory));
  }
  page.family(n.overview, "Memory of a device promised to pods, with its totals as labels.");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    page.row(n.overview,
             fmt::format(R"({}="{}",{}="{}",{})", n.cores, rows[i].device->cores.v, n.memory,
                         rows[i].device->memory.v, labels[i]),
             bytes(rows[i].used.memory));
  }
}

void write_memory_share(Page& page, const Names& n, const std::vector<DeviceRow>& rows) {
  page.family(n.memory_share, "Share of a device's memory promised to pods, 0 to 1.");
  for (const DeviceRow& row : rows) {
    if (row.device->memory.v <= 0) continue;  // neither NaN nor infinite
    std::string labels = fmt::format(R"({}="{}",)", n.index, row.device->index);
    if (!is_legacy(n)) labels += fmt::format(R"({}="{}",)", n.type, row.type);
    labels += fmt::format(R"({}="{}",{}="{}",{})", n.uuid, row.uuid, n.node, row.node, kZone);
    page.row(n.memory_share, labels,
             static_cast<double>(row.used.memory.v) / static_cast<double>(row.device->memory.v));
  }
}

void write_instances(Page& page, const Names& n, const std::vector<InstanceRow>& rows) {
  page.family(n.instance, "Instances of partitioned devices that a pod uses; always 1.");
  for (const InstanceRow& row : rows) {
    const std::string base = fmt::format(R"({}="{}",{}="{}",{}="{}",{})", n.index, row.device_index,
                                         n.uuid, row.uuid, n.node, row.node, kZone);
    if (is_legacy(n)) {
      page.row(n.instance,
               fmt::format(R"({},migname="{}-{}")", base, row.profile, row.gpu_instance), 1);
      continue;
    }
    page.row(
        n.instance,
        fmt::format(
            R"({},mig_uuid="{}",profile="{}",gpu_instance_id="{}",compute_instance_id="{}",placement_start="{}",placement_size="{}")",
            base, row.mig_uuid, row.profile, row.gpu_instance, row.compute_instance,
            row.placement.start, row.placement.size),
        1);
  }
}

void write_pods(Page& page, const Names& n, const std::vector<PodRow>& rows) {
  const auto write = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (const PodRow& row : rows) {
      page.row(name,
               fmt::format(R"({}="0",{}="{}",{}="{}",{}="{}",{}="{}",{})", n.container_index,
                           n.uuid, row.uuid, n.pod_namespace, row.ns, n.pod_node, row.node, n.pod,
                           row.pod, kZone),
               value(row.used));
    }
  };
  write(n.pod_memory, "Memory of a device promised to one pod.",
        [](const core::Usage& u) { return bytes(u.memory); });
  write(n.pod_cores, "Compute of a device promised to one pod, in percent.",
        [](const core::Usage& u) { return static_cast<double>(u.cores.v); });
}

void write_quota_used(Page& page, const Names& n, const std::vector<QuotaRow>& rows) {
  page.family(n.quota_used, "Use of a device resource in a namespace, in MiB, percent or cards.");
  for (const QuotaRow& row : rows) {
    page.row(n.quota_used,
             fmt::format(R"(limit="{}",{}="{}",{}="{}",{})", row.limited ? row.limit : 0,
                         n.quota_namespace, row.ns, n.quota_name, row.resource, kZone),
             static_cast<double>(row.used));
  }
}

void write_quotas(Page& page, const Rows& rows) {
  page.family("hami_resource_quota_limit",
              "Lowest limit of a device resource in a namespace, in MiB, percent or cards.");
  for (const QuotaRow& row : rows.quotas) {
    if (!row.limited) continue;
    page.row("hami_resource_quota_limit",
             fmt::format(R"(namespace="{}",quota_name="{}",{})", row.ns, row.resource, kZone),
             static_cast<double>(row.limit));
  }
  const auto write = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (const QuotaObjectRow& row : rows.quota_objects) {
      page.row(name,
               fmt::format(R"(namespace="{}",quota="{}",resource="{}")", row.ns, row.quota,
                           row.resource),
               static_cast<double>(value(row)));
    }
  };
  write("tessera_resource_quota_used", "Use that counts against one ResourceQuota.",
        [](const QuotaObjectRow& row) { return row.used; });
  write("tessera_resource_quota_limit", "Limit of one ResourceQuota.",
        [](const QuotaObjectRow& row) { return row.limit; });
}

void write_containers(Page& page, const std::vector<ContainerRow>& rows) {
  const auto write = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (const ContainerRow& row : rows) {
      page.row(
          name,
          fmt::format(
              R"(container="{}",container_index="{}",device_uuid="{}",namespace="{}",node="{}",pod="{}")",
              row.container, row.index, row.uuid, row.ns, row.node, row.pod),
          value(row));
    }
  };
  write("tessera_container_memory_allocated_bytes", "Memory of a device promised to one container.",
        [](const ContainerRow& row) { return bytes({row.memory}); });
  write("tessera_container_core_allocated_ratio",
        "Compute of a device promised to one container, in percent.",
        [](const ContainerRow& row) { return static_cast<double>(row.cores); });
}

void write_health(Page& page, const Rows& rows, const vendors::Vendors& vendors) {
  page.family("tessera_device_healthy", "Whether a device's agent reports it healthy: 1 or 0.");
  for (const DeviceRow& row : rows.devices) {
    const VendorId vendor = row.device->vendor;
    const std::string word =
        vendor.v < vendors.all().size() ? label_text(vendors.at(vendor).word) : std::string();
    page.row("tessera_device_healthy",
             fmt::format(R"(device_uuid="{}",node="{}",vendor="{}")", row.uuid, row.node, word),
             row.device->healthy ? 1 : 0);
  }
  const auto write = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (const NodeVendorRow& row : rows.node_vendors) {
      page.row(name, fmt::format(R"(node="{}",vendor="{}")", row.node, row.vendor),
               value(row) ? 1 : 0);
    }
  };
  write("tessera_node_registered",
        "Whether devices of a vendor are known of a node that offers its resource: 1 or 0.",
        [](const NodeVendorRow& row) { return row.registered; });
  write("tessera_node_offered", "Whether a node's devices of a vendor are offered to pods: 1 or 0.",
        [](const NodeVendorRow& row) { return row.offered; });
}

void write_figures(Page& page, const ScrapeFigures& figures) {
  const auto count = [](std::size_t v) { return static_cast<double>(v); };
  page.plain("tessera_bind_queue_length",
             "Binds that wait for the lock of their node or for their turn.",
             count(figures.bind_waiting));
  page.plain("tessera_bind_active", "Binds between lock and answer.", count(figures.bind_active));
  page.plain("tessera_reservations", "Pods that hold devices and are not bound yet.",
             count(figures.reservations));
  page.plain("tessera_locked_nodes", "Nodes that carry a lock.", count(figures.locked_nodes));
  page.plain("tessera_state_queue_length", "Messages that wait for the state thread.",
             count(figures.state_queue));
  page.plain("tessera_unassigned_pods",
             "Bound pods that ask for devices and were given none by a scheduler of devices.",
             count(figures.unassigned_pods));
  page.family("tessera_cache_synced", "Whether the list of a resource is complete: 1 or 0.");
  for (const auto& cache : figures.caches) {
    page.row("tessera_cache_synced", fmt::format(R"(resource="{}")", cache.resource),
             cache.synced ? 1 : 0);
  }
  page.family("tessera_cache_objects", "Objects kept of a resource.");
  for (const auto& cache : figures.caches) {
    page.row("tessera_cache_objects", fmt::format(R"(resource="{}")", cache.resource),
             count(cache.objects));
  }
  page.family("tessera_allocate_pending", "Bound pods whose node's agent has not answered yet.");
  for (const auto& [node, pods] : figures.allocating) {
    page.row("tessera_allocate_pending", fmt::format(R"(node="{}")", label_text(node)),
             count(pods));
  }
}

void write_build(Page& page, std::string_view version) {
  page.family("hami_build_info", "The program that answers; always 1.");
  page.row(
      "hami_build_info",
      fmt::format(
          R"(version="{}",revision="{}",build_date="{}",go_version="",compiler="{}",platform="{}")",
          label_text(version), label_text(TESSERA_REVISION), label_text(TESSERA_BUILD_DATE),
          label_text(TESSERA_COMPILER), label_text(TESSERA_PLATFORM)),
      1);
}

}  // namespace

ScrapePage picture_page(const ScrapePicture& picture, const vendors::Vendors& vendors,
                        std::string_view version, bool legacy) {
  Page page;
  const Rows rows = rows_of(picture, vendors);
  write_build(page, version);
  for (const Names* names : {&kNames, &kLegacyNames}) {
    if (is_legacy(*names) && !legacy) continue;
    write_devices(page, *names, rows.devices);
    write_memory_share(page, *names, rows.devices);
    write_instances(page, *names, rows.instances);
    write_quota_used(page, *names, rows.quotas);
    write_pods(page, *names, rows.pods);
  }
  write_quotas(page, rows);
  write_containers(page, rows.containers);
  write_health(page, rows, vendors);
  write_figures(page, picture.figures);
  return {.text = std::move(page).take(), .duplicates = rows.duplicates};
}

}  // namespace tessera::service
