#include "sim/synthetic_size.h"

#include <fmt/format.h>

#include <string_view>

#include "json/writer.h"

namespace tessera::sim {
namespace {

constexpr std::size_t kNodeSize = 14'500, kPodSize = 2'400;
constexpr std::size_t kServerFields = 180;  // what the API server adds to a new object
constexpr std::string_view kSince = "2026-05-01T08:00:00Z";

void insert_behind(std::string& object, std::string_view mark, std::string_view what) {
  const auto at = object.find(mark);
  if (at != std::string::npos) object.insert(at + mark.size(), what);
}

/// "key":… as a member that follows another.
std::string member(std::string_view key, json::Writer value) {
  return fmt::format(R"(,"{}":{})", key, std::move(value).take());
}

json::Writer node_conditions(std::int64_t beat) {
  json::Writer w;
  w.begin_array();
  for (const std::string_view type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
    const bool ready = type == "Ready";
    w.begin_object().key("type").string(type).key("status").string(ready ? "True" : "False");
    w.key("lastHeartbeatTime")
        .string(fmt::format("2026-05-04T{:02}:{:02}:{:02}Z", beat / 3600 % 24, beat / 60 % 60,
                            beat % 60));
    w.key("lastTransitionTime").string(kSince);
    w.key("reason").string(ready ? "KubeletReady" : "KubeletHasSufficientResources");
    w.key("message").string(fmt::format("kubelet is posting its status, beat {}", beat));
    w.end_object();
  }
  w.end_array();
  return w;
}

/// They fill what is left of the size, as they do on a real node.
json::Writer node_images(std::int64_t n, std::size_t room) {
  json::Writer w;
  w.begin_array();
  for (std::int64_t i = 0; w.text().size() + 120 < room; ++i) {
    const std::string name =
        fmt::format("images.example.com/team-{:02}/service-{:03}", i, (n + i * 37) % 400);
    w.begin_object().key("names").begin_array();
    w.string(fmt::format("{}@sha256:{:064x}", name, n * 1000 + i));
    w.string(fmt::format("{}:v1.{}.{}", name, i, n % 7)).end_array();
    w.key("sizeBytes").integer(180'000'000 + i * 1'234'567).end_object();
  }
  w.end_array();
  return w;
}

json::Writer pod_conditions() {
  json::Writer w;
  w.begin_array();
  for (const std::string_view type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    w.begin_object().key("type").string(type).key("status").string("True");
    w.key("lastTransitionTime").string(kSince).end_object();
  }
  w.end_array();
  return w;
}

json::Writer tolerations() {
  json::Writer w;
  w.begin_array();
  for (const std::string_view key : {"not-ready", "unreachable"}) {
    w.begin_object().key("key").string(fmt::format("node.kubernetes.io/{}", key));
    w.key("operator").string("Exists").key("effect").string("NoExecute");
    w.key("tolerationSeconds").integer(300).end_object();
  }
  w.end_array();
  return w;
}

/// What a container has beside its name, image and resources, but the environment.
std::string container_parts() {
  return R"(,"args":["--config=/etc/service/config.yaml","--v=2"],"volumeMounts":[{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent")";
}

std::string spec_parts() {
  std::string parts =
      R"("serviceAccountName":"default","restartPolicy":"Always","terminationGracePeriodSeconds":30,"volumes":[{"name":"kube-api-access","projected":{"defaultMode":420}}])";
  return parts + member("tolerations", tolerations()) + ",";
}

json::Writer environment(std::int64_t serial, std::size_t room) {
  json::Writer w;
  w.begin_array();
  for (int i = 0; w.text().size() + 40 < room; ++i) {
    w.begin_object().key("name").string(fmt::format("SERVICE_SETTING_{}", i));
    w.key("value").string(fmt::format("value {} of usual length", serial + i)).end_object();
  }
  w.end_array();
  return w;
}

}  // namespace

std::string real_size_node(std::string object, std::int64_t n) {
  insert_behind(object, R"("spec":{)",
                fmt::format(R"("podCIDR":"10.{}.{}.0/24")", n / 250, n % 250));
  // The conditions end the object; a status that follows them is written anew.
  object.resize(object.rfind(R"(,"conditions":[)"));
  object += member("conditions", node_conditions(0));
  const std::size_t used = object.size() + kServerFields;
  object += member("images", node_images(n, used < kNodeSize ? kNodeSize - used : 0));
  return object + "}}";
}

std::string real_size_pod(std::string object, std::int64_t serial) {
  insert_behind(object, R"("metadata":{)",
                fmt::format(R"("labels":{{"app":"service-{}","pod-template-hash":"{:010x}"}},)",
                            serial % 500, serial % 4096));
  insert_behind(object, R"("spec":{)", spec_parts());
  if (object.find(R"("phase":"Running")") != std::string::npos) {
    const std::string status =
        fmt::format(R"(,"qosClass":"Burstable","hostIP":"10.1.{}.{}","startTime":"{}")",
                    serial / 250 % 250, serial % 250, kSince);
    object.insert(object.size() - 2, status + member("conditions", pod_conditions()));
  }
  const std::string_view image = R"("image":"none")";
  insert_behind(object, image, container_parts());
  const std::size_t used = object.size() + kServerFields;
  insert_behind(object, image,
                member("env", environment(serial, used < kPodSize ? kPodSize - used : 0)));
  return object;
}

TextPairs real_node_labels(const std::string& name, std::int64_t n) {
  return {{"kubernetes.io/hostname", name},
          {"kubernetes.io/arch", "amd64"},
          {"kubernetes.io/os", "linux"},
          {"topology.kubernetes.io/zone", fmt::format("zone-{}", n % 3)},
          {"node.kubernetes.io/instance-type", "accelerated-8x"},
          {"gpu", "on"}};
}

TextPairs real_node_annotations() {
  return {{"hami.io/node-handshake", "Reported 2026-05-04 08:00:00.000000 +0000 UTC"},
          {"volumes.kubernetes.io/controller-managed-attach-detach", "true"}};
}

TextPairs real_pod_annotations(bool runs_with_devices) {
  TextPairs all{{"prometheus.io/scrape", "true"}, {"prometheus.io/port", "9090"}};
  if (!runs_with_devices) return all;
  all.emplace_back("hami.io/vgpu-time", "1777622400");
  all.emplace_back("hami.io/bind-time", "1777622400");
  all.emplace_back("hami.io/vgpu-devices-to-allocate", ";");
  return all;
}

std::string heartbeat_status(std::int64_t beat) {
  json::Writer w;
  w.begin_object().key("status").begin_object().key("conditions");
  w.raw(std::move(node_conditions(beat)).take()).end_object().end_object();
  return std::move(w).take();
}

}  // namespace tessera::sim
