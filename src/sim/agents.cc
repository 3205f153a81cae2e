#include "sim/agents.h"

#include <fmt/format.h>

#include "base/text.h"
#include "obs/log.h"
#include "sim/agents_objects.h"
#include "sim/agents_run.h"
#include "vendors/codec.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";

Status expect_ok(const client::ApiResponse& response, std::string_view what) {
  if (response.ok()) return {};
  return fail(Code::kUnavailable, fmt::format("{}: {}", what, response.message()));
}

}  // namespace

Agents::Agents(client::ApiClient& api, AgentOptions options, const Clock& clock)
    : impl_(std::make_shared<Impl>(api, std::move(options), clock)) {}
Agents::~Agents() { stop(); }
Status Agents::add_node(const AgentNode& node) { return impl_->add_node(node); }
void Agents::start() { impl_->start(); }
void Agents::stop() { impl_->stop(); }
void Agents::misbehave(const std::string& node, Misbehaviour how) { impl_->misbehave(node, how); }

std::uint64_t Agents::served() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->served_;
}
std::uint64_t Agents::finished() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->finished_;
}
std::vector<std::string> Agents::violations() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->checker_.violations();
}

std::vector<AgentNodeView> Agents::view() const {
  const std::lock_guard lock(impl_->mutex_);
  std::unordered_map<std::string, std::size_t> pods;
  for (const auto& [uid, entry] : impl_->pods_)
    if (!entry.pod.finished()) ++pods[entry.pod.node_name];
  std::vector<AgentNodeView> out;
  for (const std::string& name : impl_->order_) {
    AgentNodeView view{
        .name = name, .devices = impl_->nodes_[name].spec.devices, .pods = pods[name]};
    for (const core::Device& d : view.devices)
      view.used.push_back(impl_->checker_.used(name, d.id));
    out.push_back(std::move(view));
  }
  return out;
}

Agents::Impl::Impl(client::ApiClient& api, AgentOptions options, const Clock& clock)
    : api_(api),
      options_(std::move(options)),
      clock_(clock),
      checker_({options_.to_allocate_key, options_.allocated_key}) {}

Status Agents::Impl::add_node(const AgentNode& node) {
  {
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = nodes_.try_emplace(node.name);
    if (fresh) order_.push_back(node.name);
    it->second.spec = node;
    checker_.set_node(node.name, node.devices);
  }
  const std::string path = "/api/v1/nodes/" + node.name;
  client::ApiResponse created =
      api_.call({.method = "POST",
                 .path = "/api/v1/nodes",
                 .body = agent_node_object(node, options_, clock_.wall())});
  if (created.status ==
      409) {  // it is there already: an agent that starts again writes its registration anew
    const std::string text = agent_node_object(node, options_, clock_.wall());
    created = api_.call(
        {.method = "PATCH", .path = path, .body = text, .content_type = std::string(kMergePatch)});
  }
  if (Status s = expect_ok(created, "create node " + node.name); !s) return s;
  // A real API server taints a new node as not ready and leaves it to a controller to take the
  // taint away.
  const client::ApiResponse untainted = api_.call({.method = "PATCH",
                                                   .path = path,
                                                   .body = R"({"spec":{"taints":null}})",
                                                   .content_type = std::string(kMergePatch)});
  if (Status s = expect_ok(untainted, "remove taints of node " + node.name); !s) return s;
  const client::ApiResponse status =
      api_.call({.method = "PATCH",
                 .path = path + "/status",
                 .body = agent_node_status(node, options_, true, clock_.wall()),
                 .content_type = std::string(kStrategicPatch)});
  if (Status s = expect_ok(status, "status of node " + node.name); !s) return s;
  const std::lock_guard lock(mutex_);
  if (!options_.handshake_key.empty()) report_handshake(node.name);
  return {};
}

void Agents::Impl::start() {
  const std::weak_ptr<Impl> self = weak_from_this();
  const auto with_self = [self](auto&& f) {
    if (const std::shared_ptr<Impl> impl = self.lock()) {
      const std::lock_guard lock(impl->mutex_);
      if (!impl->stopped_) f(*impl);
    }
  };
  client::ReflectorHandlers handlers;
  handlers.on_list_begin = [with_self] { with_self([](Impl& i) { i.list_begin(); }); };
  handlers.on_object = [with_self](json::Value v) { with_self([&](Impl& i) { i.object(v); }); };
  handlers.on_delete = [with_self](json::Value v) { with_self([&](Impl& i) { i.deleted(v); }); };
  handlers.on_list_end = [with_self](bool) { with_self([](Impl& i) { i.list_end(); }); };
  handlers.on_problem = [](std::string_view problem) {
    log::debug("agents: watch", {{"problem", problem}});
  };
  reflector_ = std::make_unique<client::Reflector>(
      api_, client::ReflectorOptions{.path = "/api/v1/pods"}, std::move(handlers));
  reflector_->start();
}

void Agents::Impl::stop() {
  std::unique_ptr<client::Reflector> reflector;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    reflector = std::move(reflector_);
  }
  // Outside the mutex: a handler under way may be waiting for it.
  reflector.reset();
}

void Agents::Impl::misbehave(const std::string& name, Misbehaviour how) {
  AgentNode spec;
  bool was_dropped = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = nodes_.find(name);
    if (it == nodes_.end()) return;
    was_dropped = it->second.how == Misbehaviour::kDropRegistration;
    it->second.how = how;
    spec = it->second.spec;
    serve_next(it->second);
  }
  const bool drop = how == Misbehaviour::kDropRegistration;
  if (!drop && !was_dropped) return;
  const std::string registration = vendors::encode_register_json(spec.devices);
  const std::string path = "/api/v1/nodes/" + name;
  api_.call(
      {.method = "PATCH",
       .path = path,
       .body = annotations_patch({{options_.register_key, drop ? nullptr : &registration}}, {}, {}),
       .content_type = std::string(kMergePatch)});
  api_.call({.method = "PATCH",
             .path = path + "/status",
             .body = agent_node_status(spec, options_, !drop, clock_.wall()),
             .content_type = std::string(kStrategicPatch)});
}

void Agents::Impl::report_handshake(const std::string& node) {
  const std::string text = "Reported " + format_rfc3339(clock_.wall());
  client::ApiRequest request{.method = "PATCH",
                             .path = "/api/v1/nodes/" + node,
                             .body = annotations_patch({{options_.handshake_key, &text}}, {}, {}),
                             .content_type = std::string(kMergePatch)};
  send(std::move(request), [](const client::ApiResponse&) {});
  later(std::chrono::seconds(30), [this, node] { report_handshake(node); });
}

client::ApiRequest Agents::Impl::status_patch(const k8s::Pod& pod, std::string body) const {
  return {.method = "PATCH",
          .path = fmt::format("/api/v1/namespaces/{}/pods/{}/status", pod.ns, pod.name),
          .body = std::move(body),
          .content_type = std::string(kStrategicPatch)};
}

void Agents::Impl::send(client::ApiRequest request,
                        std::function<void(const client::ApiResponse&)> done, int tries) {
  const client::ApiRequest again = request;
  api_.send(std::move(request), [self = weak_from_this(), again, done = std::move(done),
                                 tries](const client::ApiResponse& response) {
    const std::shared_ptr<Impl> impl = self.lock();
    if (!impl) return;
    const std::lock_guard lock(impl->mutex_);
    if (impl->stopped_) return;
    const bool passing = response.status == 0 || response.status == 429 || response.status >= 500;
    if (!passing || tries <= 1) {
      if (passing)
        log::warn("agents: giving up",
                  {{"request", again.method + " " + again.path}, {"error", response.message()}});
      return done(response);
    }
    const std::chrono::milliseconds pause(std::min(50 << (8 - std::min(tries, 8)), 2000));
    impl->later(std::max(pause, response.retry_after),
                [impl = impl.get(), again, done, tries] { impl->send(again, done, tries - 1); });
  });
}

void Agents::Impl::later(std::chrono::milliseconds delay, std::function<void()> f) {
  api_.after(delay, [self = weak_from_this(), f = std::move(f)] {
    const std::shared_ptr<Impl> impl = self.lock();
    if (!impl) return;
    const std::lock_guard lock(impl->mutex_);
    if (!impl->stopped_) f();
  });
}

}  // namespace tessera::sim
