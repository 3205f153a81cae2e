#include "harness.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "base/text.h"
#include "json/writer.h"
#include "service/node_lock.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

std::string limits_json(const Ask& ask) {
  json::Writer w;
  w.begin_object();
  if (ask.count > 0) w.key("nvidia.com/gpu").string(std::to_string(ask.count));
  if (ask.memory > 0) w.key("nvidia.com/gpumem").string(std::to_string(ask.memory));
  if (ask.cores >= 0) w.key("nvidia.com/gpucores").string(std::to_string(ask.cores));
  w.key("cpu").string("1").end_object();
  return std::move(w).take();
}

std::string spec_json(const Ask& ask, const std::string& node = {}) {
  json::Writer w;
  w.begin_object();
  if (!node.empty()) w.key("nodeName").string(node);
  w.key("schedulerName").string("hami-scheduler").key("containers").begin_array().begin_object();
  w.key("name").string("main").key("image").string("none");
  w.key("resources").begin_object().key("limits").raw(limits_json(ask)).end_object();
  w.end_object().end_array().end_object();
  return std::move(w).take();
}

std::vector<std::string> strings(json::Value array) {
  std::vector<std::string> out;
  array.for_each_element([&](json::Value v) { out.emplace_back(v.string_or("?")); });
  return out;
}

std::map<std::string, std::string> reasons(json::Value object) {
  std::map<std::string, std::string> out;
  object.for_each_member(
      [&](std::string_view key, json::Value v) { out[std::string(key)] = v.string_or("?"); });
  return out;
}

}  // namespace

ClusterTest::ClusterTest() {
  auto api = sim::ApiServer::start({.bookmark_interval = milliseconds(200)}, clock_);
  if (!api) throw std::runtime_error(api.error().what);
  api_ = std::move(*api);
  options_.http_bind = "127.0.0.1:0";
  options_.metrics_bind = "127.0.0.1:0";
  options_.scheduler_name = "hami-scheduler";
}

ClusterTest::~ClusterTest() {
  if (server_ != nullptr) {
    EXPECT_EQ(server_->self_check(), "");
  }
  stop_server();
}

void ClusterTest::start_server(bool wait_ready) {
  auto server = service::Server::start(options_, {.server = api_->url()}, clock_);
  ASSERT_TRUE(server) << server.error().what;
  server_ = std::move(*server);
  client::ApiClientOptions client;
  client.qps = -1;
  http_ = std::make_unique<client::ApiClient>(
      client::Credentials{.server = fmt::format("http://127.0.0.1:{}", server_->port())}, client,
      metrics_);
  if (wait_ready) {
    ASSERT_TRUE(server_->wait_ready(std::chrono::seconds(10)));
  }
}

void ClusterTest::stop_server() {
  http_.reset();
  server_.reset();
}

std::string ClusterTest::node_json(const std::string& name, int cards, int memory) const {
  json::Writer devices;
  devices.begin_array();
  for (int i = 0; i < cards; ++i) {
    devices.begin_object()
        .key("id")
        .string(fmt::format("{}-card{}", name, i))
        .key("index")
        .integer(i)
        .key("count")
        .integer(10);
    devices.key("devmem")
        .integer(memory)
        .key("devcore")
        .integer(100)
        .key("type")
        .string("NVIDIA-Tesla T4")
        .key("mode")
        .string("hami-core");
    devices.key("health").boolean(true).end_object();
  }
  devices.end_array();
  json::Writer w;
  w.begin_object()
      .key("apiVersion")
      .string("v1")
      .key("kind")
      .string("Node")
      .key("metadata")
      .begin_object()
      .key("name")
      .string(name);
  w.key("annotations")
      .begin_object()
      .key("hami.io/node-nvidia-register")
      .string(devices.text())
      .end_object()
      .end_object();
  w.key("status").begin_object();
  for (const char* part : {"capacity", "allocatable"}) {
    w.key(part)
        .begin_object()
        .key("cpu")
        .string("64")
        .key("nvidia.com/gpu")
        .string(std::to_string(cards * 10))
        .end_object();
  }
  w.end_object().end_object();
  return std::move(w).take();
}

void ClusterTest::add_node(const std::string& name, int cards, int memory) {
  const auto answer = api_->request("POST", "/api/v1/nodes", node_json(name, cards, memory));
  ASSERT_EQ(answer.status, 201) << answer.body;
}

std::string ClusterTest::pod_json(const std::string& name, const Ask& ask) const {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{}}})",
      name, spec_json(ask));
}

std::string ClusterTest::add_pod(const std::string& name, const Ask& ask) {
  const auto answer = api_->request("POST", kPods, pod_json(name, ask));
  EXPECT_EQ(answer.status, 201) << answer.body;
  return pod_field(name, {"metadata", "uid"});
}

std::string ClusterTest::add_running(const std::string& name, const std::string& node, int memory) {
  const std::string text = fmt::format("{}-card0,NVIDIA,{},0:;", node, memory);
  const std::string body = fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","annotations":{{"hami.io/vgpu-node":"{}","hami.io/bind-phase":"success","hami.io/vgpu-devices-allocated":"{}"}}}},"spec":{},"status":{{"phase":"Running"}}}})",
      name, node, text, spec_json({.memory = memory}, node));
  const auto answer = api_->request("POST", kPods, body);
  EXPECT_EQ(answer.status, 201) << answer.body;
  patch_pod(name, R"({"status":{"phase":"Running"}})", "status");
  return pod_field(name, {"metadata", "uid"});
}

void ClusterTest::delete_pod(const std::string& name) {
  const auto answer =
      api_->request("DELETE", fmt::format("{}/{}?gracePeriodSeconds=0", kPods, name));
  ASSERT_EQ(answer.status, 200) << answer.body;
}

std::string ClusterTest::pod_text(const std::string& name) {
  const auto answer = api_->request("GET", fmt::format("{}/{}", kPods, name));
  return answer.status == 200 ? answer.body : std::string();
}

std::string ClusterTest::pod_field(const std::string& name, const std::vector<std::string>& path) {
  json::Parser parser;
  const auto object = parser.parse(pod_text(name));
  if (!object) return {};
  json::Value value = *object;
  for (const std::string& key : path) value = value[key];
  return std::string(value.string_or(""));
}

std::string ClusterTest::annotation(const std::string& name, const std::string& key) {
  return pod_field(name, {"metadata", "annotations", key});
}

std::optional<std::string> ClusterTest::lock_of(const std::string& node) {
  json::Parser parser;
  const auto object = parser.parse(api_->request("GET", "/api/v1/nodes/" + node).body);
  if (!object) return std::nullopt;
  const auto value = (*object)["metadata"]["annotations"]["hami.io/mutex.lock"].string();
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

bool ClusterTest::owns_lock(const std::string& pod, const std::string& node) {
  const std::optional<std::string> lock = lock_of(node);
  return lock && lock->ends_with(",default," + pod);
}

void ClusterTest::patch_node(const std::string& node, const std::string& merge_patch) {
  const auto answer = api_->request("PATCH", "/api/v1/nodes/" + node, merge_patch, kMergePatch);
  ASSERT_EQ(answer.status, 200) << answer.body;
}

void ClusterTest::patch_pod(const std::string& name, const std::string& merge_patch,
                            const std::string& subresource) {
  std::string path = fmt::format("{}/{}", kPods, name);
  if (!subresource.empty()) path += "/" + subresource;
  const auto answer = api_->request("PATCH", path, merge_patch, kMergePatch);
  ASSERT_EQ(answer.status, 200) << answer.body;
}

void ClusterTest::set_lock(const std::string& node, const std::string& value) {
  json::Writer w;
  w.begin_object()
      .key("metadata")
      .begin_object()
      .key("annotations")
      .begin_object()
      .key("hami.io/mutex.lock")
      .string(value);
  w.end_object().end_object().end_object();
  patch_node(node, w.text());
}

void ClusterTest::remove_lock(const std::string& node) {
  patch_node(node, R"({"metadata":{"annotations":{"hami.io/mutex.lock":null}}})");
}

std::string ClusterTest::lock_text(std::chrono::seconds age, const std::string& owner) const {
  const std::string time = format_rfc3339(clock_.wall() - age);
  return owner.empty() ? time : time + "," + owner;
}

void ClusterTest::agent_serves(const std::string& pod, const std::string& node) {
  patch_pod(
      pod,
      R"({"metadata":{"annotations":{"hami.io/bind-phase":"success","hami.io/vgpu-devices-to-allocate":";"}}})");
  remove_lock(node);
}

FilterAnswer ClusterTest::filter(const std::string& pod, const std::vector<std::string>& names) {
  json::Writer w;
  w.begin_object().key("Pod").raw(pod_text(pod)).key("Nodes").null().key("NodeNames").begin_array();
  for (const std::string& name : names) w.string(name);
  w.end_array().end_object();
  return filter_body(w.text());
}

FilterAnswer ClusterTest::filter_body(const std::string& body) {
  const client::ApiResponse response = http_->call(
      {.method = "POST", .path = "/filter", .body = body, .timeout = std::chrono::seconds(40)});
  FilterAnswer answer;
  answer.status = response.status;
  answer.body = response.body;
  json::Parser parser;
  const auto object = parser.parse(response.body);
  EXPECT_TRUE(object) << response.body << response.error;
  if (!object) return answer;
  answer.names_null = (*object)["NodeNames"].is_null_or_missing();
  answer.nodes_null = (*object)["Nodes"].is_null_or_missing();
  answer.names = strings((*object)["NodeNames"]);
  (*object)["Nodes"]["items"].for_each_element([&](json::Value node) {
    answer.nodes.emplace_back(node["metadata"]["name"].string_or("?"));
  });
  answer.failed = reasons((*object)["FailedNodes"]);
  answer.unresolvable = reasons((*object)["FailedAndUnresolvableNodes"]);
  answer.error = (*object)["Error"].string_or("no Error member");
  return answer;
}

std::string ClusterTest::bind_body(const std::string& body) {
  const client::ApiResponse response = http_->call(
      {.method = "POST", .path = "/bind", .body = body, .timeout = std::chrono::seconds(40)});
  json::Parser parser;
  const auto object = parser.parse(response.body);
  EXPECT_TRUE(object) << response.status << " " << response.body << response.error;
  if (!object) return "no JSON";
  EXPECT_EQ(response.status, 200);
  return std::string((*object)["Error"].string_or("no Error member"));
}

std::string ClusterTest::bind(const std::string& pod, const std::string& uid,
                              const std::string& node) {
  return bind_body(fmt::format(
      R"({{"PodName":"{}","PodNamespace":"default","PodUID":"{}","Node":"{}"}})", pod, uid, node));
}

std::future<std::string> ClusterTest::bind_later(const std::string& pod, const std::string& uid,
                                                 const std::string& node) {
  return std::async(std::launch::async, [this, pod, uid, node] { return bind(pod, uid, node); });
}

client::ApiResponse ClusterTest::get(const std::string& path) {
  return http_->call({.path = path});
}

double ClusterTest::metric(const std::string& name_and_labels) {
  const std::string body = get("/metrics").body;
  for (const std::string_view line : text::split(body, '\n')) {
    if (line.substr(0, name_and_labels.size()) == name_and_labels &&
        line.size() > name_and_labels.size() && line[name_and_labels.size()] == ' ') {
      return std::stod(std::string(line.substr(name_and_labels.size() + 1)));
    }
  }
  return -1;
}

std::uint64_t ClusterTest::calls(const std::string& what) const {
  const auto counts = api_->request_counts();
  const auto found = counts.find("tessera|" + what);
  return found == counts.end() ? 0 : found->second;
}

std::vector<std::string> ClusterTest::events(const std::string& reason) {
  std::vector<std::string> out;
  json::Parser parser;
  const auto list = parser.parse(api_->request("GET", "/api/v1/events").body);
  if (!list) return out;
  (*list)["items"].for_each_element([&](json::Value event) {
    if (event["reason"].string_or("") == reason) out.emplace_back(event["message"].string_or(""));
  });
  return out;
}

bool ClusterTest::eventually(const std::function<bool()>& condition, milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

/// Two markers travel behind everything else: a node and a bound pod that the metrics show when
/// they have arrived.
void ClusterTest::settle() {
  const std::string mark = fmt::format("mark{}", ++settle_serial_);
  add_node(mark, 1, 64);
  add_running(mark, mark, 32);
  const std::string used = fmt::format(
      R"(hami_gpu_memory_allocated_bytes{{device_cores="100",device_index="0",device_type="NVIDIA-Tesla T4",device_uuid="{0}-card0",node="{0}",zone="vGPU"}})",
      mark);
  ASSERT_TRUE(eventually([&] { return metric(used) == 32.0 * 1024 * 1024; }))
      << get("/metrics").body;
}

}  // namespace tessera::test
