#include "history_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "json/reader.h"
#include "json/writer.h"
#include "k8s/decode.h"
#include "sim/agents_checker.h"
#include "sim/scenario_cards.h"
#include "sim/synthetic.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostProblems = 50;
constexpr std::string_view kLockKey = "hami.io/mutex.lock";

client::ApiClientOptions unlimited(std::string name) {
  client::ApiClientOptions options{.user_agent = std::move(name)};
  options.qps = -1;
  return options;
}

std::vector<core::Device> cards(const std::string& prefix, int count, std::uint16_t vendor,
                                const std::string& model, std::int64_t memory, std::int64_t slots) {
  return sim::synthetic_cards(
      {.model = model, .id_prefix = prefix, .count = count, .memory = memory, .slots = slots}, 0,
      {vendor});
}

sim::AgentNode partitioned_node(const std::string& name) {
  sim::AgentNode node{.name = name};
  node.devices = sim::synthetic_cards({.model = "NVIDIA-A100-SXM4-80GB",
                                       .id_prefix = name + "-gpu",
                                       .count = 2,
                                       .slots = 7,
                                       .profiles = sim::known_profiles("A100-80GB")},
                                      0);
  return node;
}

sim::AgentNode node_of_two_vendors(const std::string& name) {
  sim::AgentNode node{.name = name};
  node.devices = cards(name + "-gpu", 2, 0, "NVIDIA-Tesla T4", 16384, 5);
  for (core::Device& card : cards(name + "-xpu", 8, 1, "XPU", 98304, 4))
    node.devices.push_back(std::move(card));
  return node;
}

sim::AgentNode node_of_third_vendor(const std::string& name) {
  sim::AgentNode node{.name = name};
  node.devices = sim::synthetic_cards({.model = "Ascend910B3",
                                       .id_prefix = name + "-npu",
                                       .count = 4,
                                       .memory = 65536,
                                       .cores = 20,
                                       .slots = 4,
                                       .group_size = 2},
                                      0, {2});
  return node;
}

service::ServeOptions serve_options(bool scored) {
  service::ServeOptions options;
  if (scored) {
    options.answer = "scored";
    options.tentative_ttl = milliseconds(150);  // some end before their bind comes
  }
  options.http_bind = "127.0.0.1:0";
  options.metrics_bind = "";
  options.scheduler_name = "hami-scheduler";
  options.vendor_switches.ascend = true;
  options.node_lock_timeout = HistoryWorld::kLockTimeout;
  options.node_lock_retry_timeout = seconds(2);
  options.self_check_interval = milliseconds(500);
  return options;
}

}  // namespace

bool comes_true(const std::function<bool()>& condition, milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// ---- record

void Record::problem(std::string what) {
  const std::lock_guard guard(mutex_);
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(what));
}
std::vector<std::string> Record::problems() const {
  const std::lock_guard guard(mutex_);
  return problems_;
}
void Record::count(const std::string& event) {
  const std::lock_guard guard(mutex_);
  ++counts_[event];
}
std::uint64_t Record::events() const {
  const std::lock_guard guard(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [event, count] : counts_) sum += count;
  return sum;
}
std::uint64_t Record::count_of(const std::string& event) const {
  const std::lock_guard guard(mutex_);
  const auto found = counts_.find(event);
  return found == counts_.end() ? 0 : found->second;
}
std::string Record::summary() const {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> parts;
  for (const auto& [event, count] : counts_) parts.push_back(fmt::format("{} {}", event, count));
  return text::join(parts, ", ");
}

void Record::bound(const std::string& object) {
  const std::lock_guard guard(mutex_);
  for (const char* kind : kKinds)
    if (object.find(fmt::format("\"{}\":", kind)) != std::string::npos) ++kinds_[kind];
  if (object.find(R"("initContainers":[{)") != std::string::npos) ++kinds_[kInitKind];
}
std::uint64_t Record::bound_with(const std::string& what) const {
  const std::lock_guard guard(mutex_);
  const auto found = kinds_.find(what);
  return found == kinds_.end() ? 0 : found->second;
}

// ---- the server

bool ServerSlot::start() {
  auto started = service::Server::start(options_, {.server = api_url_}, clock_);
  if (!started) return false;
  const std::string url = fmt::format("http://127.0.0.1:{}", (*started)->port());
  auto client = std::make_shared<client::ApiClient>(client::Credentials{.server = url},
                                                    unlimited("kube-scheduler"), metrics_);
  const std::lock_guard guard(mutex_);
  server_ = std::move(*started);
  client_ = std::move(client);
  return true;
}

void ServerSlot::stop() {
  std::unique_ptr<service::Server> server;
  std::shared_ptr<client::ApiClient> client;
  {
    const std::lock_guard guard(mutex_);
    server = std::move(server_);
    client = std::move(client_);
  }
  server.reset();
}

client::ApiResponse ServerSlot::post(const std::string& path, std::string body) {
  std::shared_ptr<client::ApiClient> client;
  {
    const std::lock_guard guard(mutex_);
    client = client_;
  }
  if (client == nullptr) return {.error = "no server"};
  return client->call(
      {.method = "POST", .path = path, .body = std::move(body), .timeout = seconds(40)});
}

std::string ServerSlot::self_check() {
  const std::lock_guard guard(mutex_);
  return server_ == nullptr ? "no server" : server_->self_check();
}

std::string ServerSlot::metrics_page() {
  std::shared_ptr<client::ApiClient> client;
  {
    const std::lock_guard guard(mutex_);
    client = client_;
  }
  return client == nullptr ? std::string() : client->call({.path = "/metrics"}).body;
}

// ---- the world

HistoryWorld::HistoryWorld(bool scored)
    : scored_(scored),
      vendors_{sim::nvidia_agent(), sim::xpu_agent(), sim::ascend_agent("Ascend910B3")} {
  api_ = std::move(*sim::ApiServer::start({.bookmark_interval = milliseconds(200)}, clock_));
  agent_client_ = std::make_unique<client::ApiClient>(client::Credentials{.server = api_->url()},
                                                      unlimited("agents"), metrics_);
}

HistoryWorld::~HistoryWorld() {
  api_->clear_faults();
  api_->stall_watches(false);
  schedulers_.reset();
  if (agents_ != nullptr) agents_->stop();
  agents_.reset();
  agent_client_.reset();
  server_.reset();
}

void HistoryWorld::add_nodes() {
  for (const char* name : {"n0", "n1", "n2"}) {
    sim::AgentNode node{.name = name};
    node.devices = cards(fmt::format("{}-gpu", name), 4, 0, "NVIDIA-Tesla T4", 16384, 5);
    specs_.push_back(std::move(node));
  }
  specs_.push_back(partitioned_node("n3"));
  specs_.push_back(node_of_two_vendors("n4"));
  specs_.push_back(node_of_third_vendor("n5"));
  for (const sim::AgentNode& node : specs_) names_.push_back(node.name);
}

bool HistoryWorld::start() {
  add_nodes();
  write("POST", "/api/v1/namespaces", R"({"metadata":{"name":"team"}})");
  sim::AgentOptions options{.allocate_delay = milliseconds(1),
                            .late_delay = milliseconds(300),
                            .init_for = milliseconds(20),
                            .delete_finished = true,
                            .lock_timeout = kLockTimeout,
                            .lock_budget = kLockTimeout + seconds(5),
                            .registration_grace = seconds(20),
                            .handshake_period = milliseconds(300),
                            .vendors = vendors_};
  agents_ = std::make_unique<sim::Agents>(*agent_client_, std::move(options), clock_);
  for (const sim::AgentNode& node : specs_)
    if (!agents_->add_node(node)) return false;
  agents_->start();
  server_ = std::make_unique<ServerSlot>(serve_options(scored_), api_->url(), clock_);
  if (!server_->start()) return false;
  schedulers_ = std::make_unique<Schedulers>(*server_, *api_, names_, record_, 4, scored_);
  return true;
}

void HistoryWorld::write(std::string_view method, const std::string& path, const std::string& body,
                         std::string_view type) {
  api_->request(method, path, body, type);
}

void HistoryWorld::create(const std::string& ns, const std::string& name,
                          const std::string& object) {
  const auto made = api_->request("POST", fmt::format("/api/v1/namespaces/{}/pods", ns), object);
  json::Parser parser;
  const auto value = parser.parse(made.body);
  if (made.status != 201 || !value)
    return record_.problem(fmt::format("pod {} was not created: {}", name, made.body));
  schedulers_->add({ns, name, std::string((*value)["metadata"]["uid"].string_or(""))});
}

void HistoryWorld::remove(const std::string& ns, const std::string& name, bool at_once) {
  write("DELETE", fmt::format("/api/v1/namespaces/{}/pods/{}{}", ns, name,
                              at_once ? "?gracePeriodSeconds=0" : ""));
}

void HistoryWorld::restart_server() {
  server_->stop();
  if (!server_->start()) record_.problem("the server does not start again");
}

void HistoryWorld::replace_node(std::size_t index) {
  write("DELETE", "/api/v1/nodes/" + names_[index]);
  std::this_thread::sleep_for(milliseconds(20));
  if (!agents_->add_node(specs_[index])) record_.problem("node is not created again");
}

std::string HistoryWorld::list(const std::string& path) { return api_->request("GET", path).body; }

/// Everything that the API server says now, charged once more by books of their own.
void HistoryWorld::audit_devices() {
  sim::InvariantChecker audit(vendors_, milliseconds(0));
  const WallTime now = clock_.wall();
  for (const sim::AgentNode& node : specs_)
    audit.set_node(node.name, node.devices, now - seconds(1));
  json::Parser parser;
  const std::string text = list("/api/v1/pods");
  const auto pods = parser.parse(text);
  if (!pods) return record_.problem("pods cannot be listed");
  (*pods)["items"].for_each_element([&](json::Value item) {
    const auto pod = k8s::decode_pod(item);
    if (pod && !pod->node_name.empty()) audit.pod_seen(*pod, now);
  });
  for (const std::string& violation : audit.violations()) record_.problem("at rest: " + violation);
}

void HistoryWorld::audit_locks() {
  std::string left;
  const auto none = [&] {
    left.clear();
    json::Parser parser;
    const std::string text = list("/api/v1/nodes");
    const auto nodes = parser.parse(text);
    if (!nodes) return false;
    (*nodes)["items"].for_each_element([&](json::Value node) {
      const std::string_view lock = node["metadata"]["annotations"][kLockKey].string_or("");
      if (!lock.empty())
        left += fmt::format(" {} ({})", node["metadata"]["name"].string_or("?"), lock);
    });
    return left.empty();
  };
  if (!comes_true(none, kLockTimeout + seconds(6))) record_.problem("locks are left:" + left);
}

void HistoryWorld::checkpoint() {
  api_->clear_faults();
  api_->stall_watches(false);
  for (const std::string& node : names_) agents_->misbehave(node, sim::Misbehaviour::kNone);
  if (!schedulers_->idle(seconds(60))) record_.problem("calls do not end");
  audit_locks();
  audit_devices();
  if (const std::string wrong = server_->self_check(); !wrong.empty())
    record_.problem("books differ from a rebuild: " + wrong);
  for (const std::string& violation : agents_->violations())
    record_.problem("agents: " + violation);
}

void HistoryWorld::empty_out() {
  for (const char* ns : {"default", "team"})
    write("DELETE", fmt::format("/api/v1/namespaces/{}/pods?gracePeriodSeconds=0", ns));
  static constexpr std::string_view kUsed = "\nhami_gpu_memory_allocated_bytes{";
  const auto nothing_held = [this] {
    const std::string page = server_->metrics_page();
    bool empty = page.find("\ntessera_reservations 0\n") != std::string::npos &&
                 page.find(kUsed) != std::string::npos;
    std::size_t at = 0;
    while ((at = page.find(kUsed, at)) != std::string::npos) {
      const std::size_t value = page.find("} ", at) + 2;
      empty = empty && page.substr(value, page.find('\n', value) - value) == "0";
      at += kUsed.size();
    }
    return empty;
  };
  if (!comes_true(nothing_held, seconds(10)))
    record_.problem("something is held although no pod is left");
}

}  // namespace tessera::test
