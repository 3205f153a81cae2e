#include "service/scrape.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/text.h"

namespace tessera::service {
namespace {

constexpr std::uint32_t kNodesPerPortion = 128;
constexpr std::int64_t kBytesPerMiB = 1024 * 1024;

void copy_pods(Books& books, NodeId node, ScrapePicture& picture) {
  for (const PodUid& uid : books.cluster().holders_on(node)) {
    const PodRecord* pod = books.pod(uid.v);
    const core::Hold* hold = books.cluster().hold(uid);
    if (pod == nullptr || hold == nullptr) continue;
    // A pod of the same name that is already gone for the API server would give the same series
    // twice.
    if (books.pod_by_name(pod->fact.ns, pod->fact.name) != pod) continue;
    picture.pods.push_back({pod->fact.ns, pod->fact.name, hold->allocation.node,
                            core::effective_charges(hold->allocation), hold->allocation.grants});
  }
}

void copy_portion(Books& books, std::uint32_t first, ScrapePicture& picture) {
  const core::Cluster& cluster = books.cluster();
  for (std::uint32_t i = first; i < cluster.node_count() && i < first + kNodesPerPortion; ++i) {
    const core::Node& node = cluster.node(NodeId{i});
    if (node.present && !node.spec.devices.empty()) {
      picture.nodes.push_back({node.spec.name, node.spec.devices, node.used, node.spec.offered});
    }
    copy_pods(books, NodeId{i}, picture);
  }
}

class Page {
 public:
  void family(std::string_view name, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
  }
  void row(std::string_view name, std::string_view labels, double value) {
    fmt::format_to(std::back_inserter(text_), "{}{{{}}} {}\n", name, labels, value);
  }
  void plain(std::string_view name, std::string_view help, double value) {
    family(name, help);
    fmt::format_to(std::back_inserter(text_), "{} {}\n", name, value);
  }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

struct DeviceRow {
  const ScrapeNode& node;
  const core::Device& device;
  const core::Usage& used;
  std::string labels;  ///< node and device, without braces
};

double bytes(MiB memory) { return static_cast<double>(memory.v) * kBytesPerMiB; }

std::vector<DeviceRow> device_rows(const ScrapePicture& picture) {
  std::vector<DeviceRow> rows;
  for (const ScrapeNode& node : picture.nodes) {
    const std::string name = label_text(node.name);
    for (std::size_t i = 0; i < node.devices.size(); ++i) {
      const core::Device& device = node.devices[i];
      rows.push_back(
          {node, device, node.used[i],
           fmt::format("device_index=\"{}\",device_type=\"{}\",device_uuid=\"{}\",node=\"{}\"",
                       device.index, label_text(device.model), label_text(device.id), name)});
    }
  }
  return rows;
}

void write_devices(Page& page, const std::vector<DeviceRow>& rows) {
  const auto write = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (const DeviceRow& row : rows) page.row(name, row.labels + ",zone=\"vGPU\"", value(row));
  };
  write("hami_gpu_memory_limit_bytes", "Memory of a device that can be given to pods.",
        [](const DeviceRow& r) { return bytes(r.device.memory); });
  write("hami_gpu_core_limit_ratio", "Compute of a device that can be given to pods, in percent.",
        [](const DeviceRow& r) { return static_cast<double>(r.device.cores.v); });
  write("hami_gpu_shared_count", "Containers that share a device.",
        [](const DeviceRow& r) { return static_cast<double>(r.used.slots); });
  write("hami_gpu_core_allocated_ratio", "Compute of a device promised to pods, in percent.",
        [](const DeviceRow& r) { return static_cast<double>(r.used.cores.v); });
  page.family("hami_gpu_memory_allocated_bytes", "Memory of a device promised to pods.");
  for (const DeviceRow& row : rows) {
    page.row("hami_gpu_memory_allocated_bytes",
             fmt::format("device_cores=\"{}\",{},zone=\"vGPU\"", row.device.cores.v, row.labels),
             bytes(row.used.memory));
  }
  page.family("hami_node_gpu_overview",
              "Memory of a device promised to pods, with its totals as labels.");
  for (const DeviceRow& row : rows) {
    page.row("hami_node_gpu_overview",
             fmt::format("device_cores=\"{}\",device_memory_limit=\"{}\",{},zone=\"vGPU\"",
                         row.device.cores.v, row.device.memory.v, row.labels),
             bytes(row.used.memory));
  }
  page.family("hami_node_gpu_memory_allocated_ratio",
              "Share of a device's memory promised to pods, 0 to 1.");
  for (const DeviceRow& row : rows) {
    if (row.device.memory.v <= 0) continue;
    page.row("hami_node_gpu_memory_allocated_ratio", row.labels + ",zone=\"vGPU\"",
             static_cast<double>(row.used.memory.v) / static_cast<double>(row.device.memory.v));
  }
}

void write_health(Page& page, const ScrapePicture& picture, const std::vector<DeviceRow>& rows,
                  const vendors::Vendors& vendors) {
  page.family("tessera_device_healthy", "Whether a device's agent reports it healthy.");
  for (const DeviceRow& row : rows)
    page.row("tessera_device_healthy", row.labels, row.device.healthy ? 1 : 0);
  page.family("tessera_node_offered", "Whether a node's devices of a vendor are offered to pods.");
  for (const ScrapeNode& node : picture.nodes) {
    for (std::size_t vendor = 0; vendor < node.offered.size() && vendor < vendors.all().size();
         ++vendor) {
      page.row("tessera_node_offered",
               fmt::format("node=\"{}\",vendor=\"{}\"", label_text(node.name),
                           label_text(vendors.all()[vendor].word)),
               node.offered[vendor] ? 1 : 0);
    }
  }
}

void write_pods(Page& page, const ScrapePicture& picture) {
  const auto charges = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (const ScrapePod& pod : picture.pods) {
      for (const core::Charge& charge : pod.charges) {
        if (charge.device.empty()) continue;
        page.row(name,
                 fmt::format("container_index=\"0\",device_uuid=\"{}\",namespace=\"{}\",node=\"{}"
                             "\",pod=\"{}\",zone=\"vGPU\"",
                             label_text(charge.device), label_text(pod.ns), label_text(pod.node),
                             label_text(pod.name)),
                 value(charge.usage));
      }
    }
  };
  charges("hami_vgpu_memory_allocated_bytes", "Memory of a device promised to one pod.",
          [](const core::Usage& u) { return bytes(u.memory); });
  charges("hami_vgpu_core_allocated_ratio", "Compute of a device promised to one pod, in percent.",
          [](const core::Usage& u) { return static_cast<double>(u.cores.v); });
  const auto grants = [&](std::string_view name, std::string_view help, auto&& value) {
    page.family(name, help);
    for (const ScrapePod& pod : picture.pods) {
      for (std::size_t i = 0; i < pod.grants.size(); ++i) {
        const core::Grant& grant = pod.grants[i];
        // Grants come by position: an equal neighbour is a card given twice to one container, which
        // only a forged annotation does.
        if (i > 0 && pod.grants[i - 1].position == grant.position &&
            pod.grants[i - 1].device == grant.device)
          continue;
        page.row(
            name,
            fmt::format(
                "container_index=\"{}\",device_uuid=\"{}\",namespace=\"{}\",node=\"{}\",pod=\"{}\"",
                grant.position, label_text(grant.device), label_text(pod.ns), label_text(pod.node),
                label_text(pod.name)),
            value(grant));
      }
    }
  };
  grants("tessera_container_memory_allocated_bytes",
         "Memory of a device promised to one container.",
         [](const core::Grant& g) { return bytes(g.memory); });
  grants("tessera_container_core_allocated_ratio",
         "Compute of a device promised to one container, in percent.",
         [](const core::Grant& g) { return static_cast<double>(g.cores.v); });
}

void write_figures(Page& page, const ScrapeFigures& figures) {
  const auto count = [](std::size_t v) { return static_cast<double>(v); };
  page.plain("tessera_bind_queue_length", "Binds that wait for the lock of their node.",
             count(figures.bind_waiting));
  page.plain("tessera_bind_active", "Binds between lock and answer.", count(figures.bind_active));
  page.plain("tessera_reservations", "Slices given away by filter and not bound yet, in pods.",
             count(figures.reservations));
  page.plain("tessera_locked_nodes", "Nodes that carry a lock.", count(figures.locked_nodes));
  page.plain("tessera_state_queue_length", "Messages that wait for the state thread.",
             count(figures.state_queue));
  page.plain("tessera_cache_synced", "Whether the first lists of pods and nodes are complete.",
             figures.synced ? 1 : 0);
  page.family("tessera_cache_objects", "Objects in the caches.");
  page.row("tessera_cache_objects", "resource=\"nodes\"", count(figures.nodes));
  page.row("tessera_cache_objects", "resource=\"pods\"", count(figures.pods));
}

}  // namespace

bool take_picture(TaskThread& state, Books& books, const std::function<ScrapeFigures()>& figures,
                  ScrapePicture& picture) {
  std::uint32_t count = 0;
  if (!state.run([&] {
        picture.figures = figures();
        count = static_cast<std::uint32_t>(books.cluster().node_count());
      })) {
    return false;
  }
  for (std::uint32_t first = 0; first < count; first += kNodesPerPortion) {
    if (!state.run([&] { copy_portion(books, first, picture); })) return false;
  }
  return true;
}

std::string picture_text(const ScrapePicture& picture, const vendors::Vendors& vendors,
                         std::string_view version) {
  Page page;
  page.family("hami_build_info", "The program that answers.");
  page.row("hami_build_info",
           fmt::format("version=\"{}\",revision=\"\",build_date=\"\",go_version=\"\",compiler=\"\","
                       "platform=\"\"",
                       label_text(version)),
           1);
  const std::vector<DeviceRow> rows = device_rows(picture);
  write_devices(page, rows);
  write_health(page, picture, rows, vendors);
  write_pods(page, picture);
  write_figures(page, picture.figures);
  return std::move(page).take();
}

std::string label_text(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  while (!value.empty()) {
    const std::size_t length = text::utf8_length(value);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      value.remove_prefix(1);
      continue;
    }
    if (value.front() == '\n')
      out += "\\n";
    else {
      if (value.front() == '"' || value.front() == '\\') out += '\\';
      out += value.substr(0, length);
    }
    value.remove_prefix(length);
  }
  return out;
}

}  // namespace tessera::service
