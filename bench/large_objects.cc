#include "large_objects.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "core/device.h"
#include "json/writer.h"
#include "vendors/codec.h"

namespace tessera::bench {
namespace {

constexpr std::size_t kNodeSize = 14'500, kPodSize = 2'400;
constexpr std::size_t kServerFields = 180;  // what the API server adds to a new object

std::string card_id(std::int64_t node, std::int64_t card) {
  return fmt::format("GPU-5a1c7e90-0000-4000-8000-{:011}{}", node, card);
}

std::string register_text(std::int64_t n) {
  std::vector<core::Device> cards;
  for (std::int64_t i = 0; i < kLargeCards; ++i) {
    core::Device card;
    card.id = card_id(n, i);
    card.index = static_cast<std::uint32_t>(i);
    card.slots = 10;
    card.memory = {kLargeCardMemory};
    card.cores = {100};
    card.model = "NVIDIA-NVIDIA H100 80GB HBM3";
    card.mode = "hami-core";
    card.numa = i / 4;
    card.healthy = true;
    card.vendor = VendorId{0};
    cards.push_back(std::move(card));
  }
  return vendors::encode_register_json(cards);
}

/// Images fill what is left of the size, as they do on a real node.
void write_images(json::Writer& w, std::int64_t n, std::size_t room) {
  w.key("images").begin_array();
  std::size_t written = 0;
  for (std::int64_t i = 0; written < room; ++i) {
    const std::string tag =
        fmt::format("registry.example.com/team-{:02}/service-{:03}:v1.{}.{}", i, n % 400, i, n % 7);
    const std::string digest = fmt::format(
        "registry.example.com/team-{:02}/service-{:03}@sha256:{:064x}", i, n % 400, n * 1000 + i);
    w.begin_object().key("names").begin_array().string(digest).string(tag).end_array();
    w.key("sizeBytes").integer(180'000'000 + i * 1'234'567).end_object();
    written += tag.size() + digest.size() + 45;
  }
  w.end_array();
}

void write_conditions(json::Writer& w, std::int64_t beat) {
  w.key("conditions").begin_array();
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
    const bool ready = std::string_view(type) == "Ready";
    w.begin_object().key("type").string(type).key("status").string(ready ? "True" : "False");
    w.key("lastHeartbeatTime")
        .string(fmt::format("2026-05-04T{:02}:{:02}:{:02}Z", beat / 3600 % 24, beat / 60 % 60,
                            beat % 60));
    w.key("lastTransitionTime").string("2026-05-01T08:00:00Z");
    w.key("reason").string(ready ? "KubeletReady" : "KubeletHasSufficientResources");
    w.key("message").string("kubelet is posting its status, beat " + std::to_string(beat));
    w.end_object();
  }
  w.end_array();
}

void write_amounts(json::Writer& w) {
  for (const char* section : {"capacity", "allocatable"}) {
    w.key(section).begin_object().key("cpu").string("128").key("memory").string("1056000000Ki");
    w.key("ephemeral-storage").string("1888000000Ki").key("hugepages-2Mi").string("0");
    w.key("nvidia.com/gpu").string(std::to_string(kLargeCards * 10)).key("pods").string("110");
    w.end_object();
  }
}

void write_container(json::Writer& w, bool devices) {
  w.begin_object().key("name").string("main");
  w.key("image").string("registry.example.com/team/service:v1.2.3");
  w.key("args").begin_array().string("--config=/etc/service/config.yaml").string("--v=2");
  w.end_array().key("env").begin_array();
  for (int i = 0; i < 3; ++i) {
    w.begin_object().key("name").string(fmt::format("SERVICE_SETTING_{}", i));
    w.key("value").string("a value of usual length").end_object();
  }
  w.end_array().key("resources").begin_object();
  for (const char* section : {"limits", "requests"}) {
    w.key(section).begin_object().key("cpu").string("2").key("memory").string("4Gi");
    if (devices)
      w.key("nvidia.com/gpu")
          .string("1")
          .key("nvidia.com/gpumem")
          .string(std::to_string(kHeldMemory));
    if (devices) w.key("nvidia.com/gpucores").string(std::to_string(kHeldCores));
    w.end_object();
  }
  w.end_object().key("volumeMounts").begin_array().begin_object();
  w.key("name").string("kube-api-access").key("readOnly").boolean(true);
  w.key("mountPath").string("/var/run/secrets/kubernetes.io/serviceaccount").end_object();
  w.end_array().key("terminationMessagePath").string("/dev/termination-log");
  w.key("imagePullPolicy").string("IfNotPresent").end_object();
}

void write_pod_status(json::Writer& w, std::int64_t node) {
  w.key("status").begin_object().key("phase").string("Running").key("qosClass").string("Burstable");
  w.key("hostIP").string(fmt::format("10.1.{}.{}", node / 250, node % 250));
  w.key("startTime").string("2026-05-01T08:00:00Z").key("conditions").begin_array();
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    w.begin_object().key("type").string(type).key("status").string("True");
    w.key("lastTransitionTime").string("2026-05-01T08:00:00Z").end_object();
  }
  w.end_array().end_object();
}

std::string pod_with(std::int64_t serial, std::int64_t node, const std::string& devices,
                     std::size_t filling) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Pod");
  w.key("metadata").begin_object();
  w.key("name").string(fmt::format("{}-{:08}", devices.empty() ? "plain" : "device", serial));
  w.key("labels").begin_object().key("app").string(fmt::format("service-{}", serial % 500));
  w.key("pod-template-hash").string(fmt::format("{:010x}", serial % 4096)).end_object();
  w.key("annotations").begin_object();
  w.key("prometheus.io/scrape").string("true").key("prometheus.io/port").string("9090");
  if (!devices.empty()) {
    w.key("hami.io/vgpu-node").string(large_node_name(node));
    w.key("hami.io/vgpu-time").string("1777622400").key("hami.io/bind-time").string("1777622400");
    w.key("hami.io/bind-phase").string("success");
    w.key("hami.io/vgpu-devices-allocated").string(devices);
    w.key("hami.io/vgpu-devices-to-allocate").string(";");
  }
  w.end_object().end_object();
  w.key("spec").begin_object().key("nodeName").string(large_node_name(node));
  w.key("schedulerName").string(devices.empty() ? "default-scheduler" : "hami-scheduler");
  w.key("serviceAccountName").string("default").key("restartPolicy").string("Always");
  w.key("terminationGracePeriodSeconds").integer(30).key("containers").begin_array();
  write_container(w, !devices.empty());
  w.end_array().key("tolerations").begin_array();
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    w.begin_object().key("key").string(key).key("operator").string("Exists");
    w.key("effect").string("NoExecute").key("tolerationSeconds").integer(300).end_object();
  }
  w.end_array().key("volumes").begin_array().begin_object();
  w.key("name").string("kube-api-access").key("projected").begin_object();
  w.key("defaultMode").integer(420).key("note");
  w.string(std::string(filling, 'x'));
  w.end_object().end_object().end_array().end_object();
  write_pod_status(w, node);
  w.end_object();
  return std::move(w).take();
}

std::string pod(std::int64_t serial, std::int64_t node, const std::string& devices) {
  const std::size_t bare = pod_with(serial, node, devices, 0).size() + kServerFields;
  return pod_with(serial, node, devices, bare < kPodSize ? kPodSize - bare : 0);
}

}  // namespace

std::string large_node_name(std::int64_t n) { return fmt::format("node-{:05}", n); }
std::string large_namespace(std::int64_t n) { return fmt::format("team-{:02}", n); }

std::string large_node(std::int64_t n) {
  json::Writer w;
  w.begin_object().key("apiVersion").string("v1").key("kind").string("Node");
  w.key("metadata").begin_object().key("name").string(large_node_name(n));
  w.key("labels").begin_object().key("kubernetes.io/hostname").string(large_node_name(n));
  w.key("kubernetes.io/arch").string("amd64").key("kubernetes.io/os").string("linux");
  w.key("topology.kubernetes.io/zone").string(fmt::format("zone-{}", n % 3));
  w.key("node.kubernetes.io/instance-type").string("accelerated-8x").key("gpu").string("on");
  w.end_object().key("annotations").begin_object();
  w.key("hami.io/node-nvidia-register").string(register_text(n));
  w.key("hami.io/node-handshake").string("Reported 2026-05-04 08:00:00.000000 +0000 UTC");
  w.key("volumes.kubernetes.io/controller-managed-attach-detach").string("true");
  w.end_object().end_object();
  w.key("spec").begin_object();
  w.key("podCIDR").string(fmt::format("10.{}.{}.0/24", n / 250, n % 250)).end_object();
  w.key("status").begin_object();
  write_amounts(w);
  write_conditions(w, 0);
  const std::size_t used = w.text().size() + kServerFields;
  write_images(w, n, used < kNodeSize ? kNodeSize - used : 0);
  w.end_object().end_object();
  return std::move(w).take();
}

std::string large_device_pod(std::int64_t serial, std::int64_t node, std::int64_t card) {
  const vendors::DeviceText held{card_id(node, card), "NVIDIA", kHeldMemory, kHeldCores};
  return pod(serial, node, vendors::encode_pod_devices({{held}}));
}

std::string large_plain_pod(std::int64_t serial, std::int64_t node) {
  return pod(serial, node, {});
}

std::string node_heartbeat(std::int64_t beat) {
  json::Writer w;
  w.begin_object().key("status").begin_object();
  write_conditions(w, beat);
  w.end_object().end_object();
  return std::move(w).take();
}

}  // namespace tessera::bench
