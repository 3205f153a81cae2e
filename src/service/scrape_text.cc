#include "service/scrape_text.h"

#include <fmt/format.h>

#include <iterator>
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

template <class... Args>
void set(std::string& labels, fmt::format_string<Args...> form, Args&&... args) {
  labels.clear();
  fmt::format_to(std::back_inserter(labels), form, std::forward<Args>(args)...);
}

template <class... Args>
void add(std::string& labels, fmt::format_string<Args...> form, Args&&... args) {
  fmt::format_to(std::back_inserter(labels), form, std::forward<Args>(args)...);
}

void add_device(std::string& labels, const Names& n, const DeviceRow& row) {
  add(labels, R"({}="{}",{}="{}",{}="{}",{}="{}",{})", n.index, row.index, n.type, row.type, n.uuid,
      row.uuid, n.node, row.node, kZone);
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

std::string family(std::string_view name, std::string_view help) {
  std::string text;
  Page(text).family(name, help);
  return text;
}

/// A family, or some that are small: the text above it and as many rows as there are in it, asked
/// for one item (node, quota) after the other.
struct Section {
  std::string head;
  std::size_t items = 0;
  std::function<void(Page&, std::size_t item)> write;
};

}  // namespace

class PicturePage::Sections {
 public:
  Sections(ScrapePicture picture, std::shared_ptr<const vendors::Vendors> vendors,
           std::string_view version, bool legacy, std::function<std::string()> more);
  std::size_t duplicates() const { return reader_.duplicates(); }
  http::Piece next(std::string& piece);

 private:
  /// `rows`: the member of NodeRows; each row gets its labels and its value.
  template <class Row, class Labels, class Value>
  void nodes(std::string_view name, std::string_view help, std::vector<Row> NodeRows::*rows,
             Labels labels, Value value);
  void devices(const Names& n);
  void memory_share(const Names& n);
  void instances(const Names& n);
  void quota_used(const Names& n);
  void pods(const Names& n);
  void quotas();
  void containers();
  void health();

  const ScrapePicture picture_;
  const std::shared_ptr<const vendors::Vendors> vendors_;
  RowReader reader_;
  const QuotaRows quotas_;
  std::vector<Section> sections_;
  std::size_t section_ = 0, item_ = 0;
  std::string labels_;
};

template <class Row, class Labels, class Value>
void PicturePage::Sections::nodes(std::string_view name, std::string_view help,
                                  std::vector<Row> NodeRows::*rows, Labels labels, Value value) {
  sections_.push_back({family(name, help), picture_.nodes.size(),
                       [this, name, rows, labels, value](Page& page, std::size_t node) {
                         for (const Row& row : reader_.rows(node).*rows) {
                           labels_.clear();
                           labels(labels_, row);
                           page.row(name, labels_, value(row));
                         }
                       }});
}

void PicturePage::Sections::devices(const Names& n) {
  const auto labels = [&n](std::string& out, const DeviceRow& row) { add_device(out, n, row); };
  nodes(n.memory_limit, "Memory of a device that can be given to pods.", &NodeRows::devices, labels,
        [](const DeviceRow& r) { return bytes(r.memory); });
  nodes(n.core_limit, "Compute of a device that can be given to pods, in percent.",
        &NodeRows::devices, labels,
        [](const DeviceRow& r) { return static_cast<double>(r.cores.v); });
  nodes(n.shared, "Containers that share a device.", &NodeRows::devices, labels,
        [](const DeviceRow& r) { return static_cast<double>(r.used.slots); });
  nodes(n.core_allocated, "Compute of a device promised to pods, in percent.", &NodeRows::devices,
        labels, [](const DeviceRow& r) { return static_cast<double>(r.used.cores.v); });
  nodes(
      n.memory_allocated, "Memory of a device promised to pods.", &NodeRows::devices,
      [&n](std::string& out, const DeviceRow& row) {
        add(out, R"({}="{}",)", n.cores, row.cores.v);
        add_device(out, n, row);
      },
      [](const DeviceRow& r) { return bytes(r.used.memory); });
  nodes(
      n.overview, "Memory of a device promised to pods, with its totals as labels.",
      &NodeRows::devices,
      [&n](std::string& out, const DeviceRow& row) {
        add(out, R"({}="{}",{}="{}",)", n.cores, row.cores.v, n.memory, row.memory.v);
        add_device(out, n, row);
      },
      [](const DeviceRow& r) { return bytes(r.used.memory); });
}

void PicturePage::Sections::memory_share(const Names& n) {
  const auto write = [this, &n](Page& page, std::size_t node) {
    for (const DeviceRow& row : reader_.rows(node).devices) {
      if (row.memory.v <= 0) continue;  // neither NaN nor infinite
      set(labels_, R"({}="{}",)", n.index, row.index);
      if (!is_legacy(n)) add(labels_, R"({}="{}",)", n.type, row.type);
      add(labels_, R"({}="{}",{}="{}",{})", n.uuid, row.uuid, n.node, row.node, kZone);
      page.row(n.memory_share, labels_,
               static_cast<double>(row.used.memory.v) / static_cast<double>(row.memory.v));
    }
  };
  sections_.push_back(
      {family(n.memory_share, "Share of a device's memory promised to pods, 0 to 1."),
       picture_.nodes.size(), write});
}

void PicturePage::Sections::instances(const Names& n) {
  nodes(
      n.instance, "Instances of partitioned devices that a pod uses; always 1.",
      &NodeRows::instances,
      [&n](std::string& out, const InstanceRow& row) {
        add(out, R"({}="{}",{}="{}",{}="{}",{})", n.index, row.device_index, n.uuid, row.uuid,
            n.node, row.node, kZone);
        if (is_legacy(n)) {
          add(out, R"(,migname="{}-{}")", row.profile, row.gpu_instance);
          return;
        }
        add(out,
            R"(,mig_uuid="{}",profile="{}",gpu_instance_id="{}",compute_instance_id="{}",placement_start="{}",placement_size="{}")",
            row.mig_uuid, row.profile, row.gpu_instance, row.compute_instance, row.placement.start,
            row.placement.size);
      },
      [](const InstanceRow&) { return 1; });
}

void PicturePage::Sections::pods(const Names& n) {
  const auto labels = [&n](std::string& out, const PodRow& row) {
    add(out, R"({}="0",{}="{}",{}="{}",{}="{}",{}="{}",{})", n.container_index, n.uuid, row.uuid,
        n.pod_namespace, row.ns, n.pod_node, row.node, n.pod, row.pod, kZone);
  };
  nodes(n.pod_memory, "Memory of a device promised to one pod.", &NodeRows::pods, labels,
        [](const PodRow& r) { return bytes(r.memory); });
  nodes(n.pod_cores, "Compute of a device promised to one pod, in percent.", &NodeRows::pods,
        labels, [](const PodRow& r) { return static_cast<double>(r.cores.v); });
}

void PicturePage::Sections::quota_used(const Names& n) {
  const auto write = [this, &n](Page& page, std::size_t item) {
    const QuotaRow& row = quotas_.quotas[item];
    set(labels_, R"(limit="{}",{}="{}",{}="{}",{})", row.limited ? row.limit : 0, n.quota_namespace,
        row.ns, n.quota_name, row.resource, kZone);
    page.row(n.quota_used, labels_, static_cast<double>(row.used));
  };
  sections_.push_back(
      {family(n.quota_used, "Use of a device resource in a namespace, in MiB, percent or cards."),
       quotas_.quotas.size(), write});
}

void PicturePage::Sections::quotas() {
  const auto limits = [this](Page& page, std::size_t item) {
    const QuotaRow& row = quotas_.quotas[item];
    if (!row.limited) return;
    set(labels_, R"(namespace="{}",quota_name="{}",{})", row.ns, row.resource, kZone);
    page.row("hami_resource_quota_limit", labels_, static_cast<double>(row.limit));
  };
  sections_.push_back(
      {family("hami_resource_quota_limit",
              "Lowest limit of a device resource in a namespace, in MiB, percent or cards."),
       quotas_.quotas.size(), limits});
  const auto objects = [this](std::string_view name, std::string_view help, auto value) {
    const auto write = [this, name, value](Page& page, std::size_t item) {
      const QuotaObjectRow& row = quotas_.objects[item];
      set(labels_, R"(namespace="{}",quota="{}",resource="{}")", row.ns, row.quota, row.resource);
      page.row(name, labels_, static_cast<double>(value(row)));
    };
    sections_.push_back({family(name, help), quotas_.objects.size(), write});
  };
  objects("tessera_resource_quota_used", "Use that counts against one ResourceQuota.",
          [](const QuotaObjectRow& row) { return row.used; });
  objects("tessera_resource_quota_limit", "Limit of one ResourceQuota.",
          [](const QuotaObjectRow& row) { return row.limit; });
}

void PicturePage::Sections::containers() {
  const auto labels = [](std::string& out, const ContainerRow& row) {
    add(out,
        R"(container="{}",container_index="{}",device_uuid="{}",namespace="{}",node="{}",pod="{}")",
        row.container, row.index, row.uuid, row.ns, row.node, row.pod);
  };
  nodes("tessera_container_memory_allocated_bytes", "Memory of a device promised to one container.",
        &NodeRows::containers, labels, [](const ContainerRow& row) { return bytes({row.memory}); });
  nodes("tessera_container_core_allocated_ratio",
        "Compute of a device promised to one container, in percent.", &NodeRows::containers, labels,
        [](const ContainerRow& row) { return static_cast<double>(row.cores); });
}

void PicturePage::Sections::health() {
  nodes(
      "tessera_device_healthy", "Whether a device's agent reports it healthy: 1 or 0.",
      &NodeRows::devices,
      [this](std::string& out, const DeviceRow& row) {
        add(out, R"(device_uuid="{}",node="{}",vendor="{}")", row.uuid, row.node,
            reader_.word(row.vendor));
      },
      [](const DeviceRow& row) { return row.healthy ? 1 : 0; });
  const auto labels = [this](std::string& out, const NodeVendorRow& row) {
    add(out, R"(node="{}",vendor="{}")", row.node, reader_.word(row.vendor));
  };
  nodes("tessera_node_registered",
        "Whether devices of a vendor are known of a node that offers its resource: 1 or 0.",
        &NodeRows::vendors, labels,
        [](const NodeVendorRow& row) { return row.registered ? 1 : 0; });
  nodes("tessera_node_offered", "Whether a node's devices of a vendor are offered to pods: 1 or 0.",
        &NodeRows::vendors, labels, [](const NodeVendorRow& row) { return row.offered ? 1 : 0; });
}

PicturePage::Sections::Sections(ScrapePicture picture,
                                std::shared_ptr<const vendors::Vendors> vendors,
                                std::string_view version, bool legacy,
                                std::function<std::string()> more)
    : picture_(std::move(picture)),
      vendors_(std::move(vendors)),
      reader_(picture_, *vendors_),
      quotas_(quota_rows(picture_, *vendors_)) {
  std::string build;
  Page build_page(build);
  write_build(build_page, version);
  sections_.push_back({.head = std::move(build), .items = 0, .write = {}});
  for (const Names* names : {&kNames, &kLegacyNames}) {
    if (is_legacy(*names) && !legacy) continue;
    devices(*names);
    memory_share(*names);
    instances(*names);
    quota_used(*names);
    pods(*names);
  }
  quotas();
  containers();
  health();
  std::string figures;
  Page figures_page(figures);
  write_figures(figures_page, picture_.figures);
  sections_.push_back({.head = std::move(figures), .items = 0, .write = {}});
  sections_.push_back(
      {.head = {}, .items = 1, .write = [more = std::move(more)](Page& page, std::size_t) {
         page.text(more());
       }});
}

http::Piece PicturePage::Sections::next(std::string& piece) {
  constexpr std::size_t kSpare = 16 * 1024;  // of the last rows that still go in
  piece.reserve(http::kPieceSize + kSpare);
  Page page(piece);
  for (; section_ < sections_.size(); ++section_, item_ = 0) {
    const Section& section = sections_[section_];
    if (item_ == 0) piece += section.head;
    while (item_ < section.items) {
      section.write(page, item_++);
      if (piece.size() >= http::kPieceSize) return http::Piece::kMore;
    }
  }
  return http::Piece::kLast;
}

PicturePage::PicturePage(ScrapePicture picture, std::shared_ptr<const vendors::Vendors> vendors,
                         std::string_view version, bool legacy, std::function<std::string()> more)
    : sections_(std::make_unique<Sections>(std::move(picture), std::move(vendors), version, legacy,
                                           std::move(more))) {}
PicturePage::~PicturePage() = default;

http::Piece PicturePage::next(std::string& piece) { return sections_->next(piece); }
std::size_t PicturePage::duplicates() const { return sections_->duplicates(); }

ScrapePage picture_page(const ScrapePicture& picture, const vendors::Vendors& vendors,
                        std::string_view version, bool legacy) {
  // Not an owner: the table outlives this call.
  PicturePage pieces(picture, {std::shared_ptr<void>(), &vendors}, version, legacy,
                     [] { return std::string(); });
  ScrapePage page{.text = {}, .duplicates = pieces.duplicates()};
  while (pieces.next(page.text) == http::Piece::kMore) {
  }
  return page;
}

}  // namespace tessera::service
