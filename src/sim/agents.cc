#include "sim/agents.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "json/reader.h"
#include "obs/log.h"
#include "sim/agents_objects.h"
#include "sim/agents_run.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";

constexpr int kLieTries = 8;
constexpr std::chrono::milliseconds kLockWatchPeriod{1000};

/// What this agent registers is not what is there.
bool lies(Misbehaviour how) {
  return how == Misbehaviour::kDropRegistration || how == Misbehaviour::kNothingAllocatable ||
         how == Misbehaviour::kUnhealthy || how == Misbehaviour::kShrunk;
}

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
      checker_(options_.vendors, options_.registration_grace) {}

Status Agents::Impl::add_node(const AgentNode& node) {
  {
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = nodes_.try_emplace(node.name);
    if (fresh) order_.push_back(node.name);
    it->second.spec = node;
    checker_.set_node(node.name, node.devices, clock_.wall());
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
  NodeEntry& entry = nodes_[node.name];
  if (!std::exchange(entry.reporting, true)) report_handshakes(node.name);
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
  const std::lock_guard lock(mutex_);
  watch_locks();
}

/// Invariant 8, from time to time.
void Agents::Impl::watch_locks() {
  const auto oldest = options_.lock_timeout + options_.lock_slack + options_.lock_budget;
  later(std::max<std::chrono::milliseconds>(options_.lock_timeout / 2, kLockWatchPeriod),
        [=, this] {
          send({.path = "/api/v1/nodes"}, [=, this](const client::ApiResponse& response) {
            json::Parser parser;
            const Result<json::Value> list = parser.parse(std::string_view(response.body));
            if (response.ok() && list) {
              (*list)["items"].for_each_element([&](json::Value node) {
                const std::string name(node["metadata"]["name"].string_or(""));
                if (nodes_.count(name) == 0) return;
                checker_.lock_seen(
                    name, node["metadata"]["annotations"]["hami.io/mutex.lock"].string_or(""),
                    clock_.wall(), oldest);
              });
            }
            watch_locks();
          });
        });
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
  Misbehaviour before = Misbehaviour::kNone;
  {
    const std::lock_guard lock(mutex_);
    const auto it = nodes_.find(name);
    if (it == nodes_.end()) return;
    before = std::exchange(it->second.how, how);
    spec = it->second.spec;
    checker_.set_node(name, registered_devices(spec, how), clock_.wall());
    serve_next(it->second);
  }
  if (lies(how) || lies(before)) register_again(spec, how);
}

/// The registration as this agent tells it now; the kubelet's figures follow.
void Agents::Impl::register_again(const AgentNode& spec, Misbehaviour how) {
  const bool dropped = how == Misbehaviour::kDropRegistration;
  AgentNode told = spec;
  told.devices = registered_devices(spec, how);
  const auto texts = registrations(told.devices, options_);
  std::vector<AnnotationChange> changes;
  for (const auto& [key, text] : texts) changes.push_back({key, dropped ? nullptr : &text});
  const std::string path = "/api/v1/nodes/" + spec.name;
  const auto patch = [&](const std::string& where, std::string body, std::string_view type) {
    client::ApiRequest request{.method = "PATCH",
                               .path = where,
                               .body = std::move(body),
                               .content_type = std::string(type)};
    for (int tries = 0; tries < kLieTries; ++tries)
      if (const client::ApiResponse done = api_.call(request); done.ok() || done.status == 404)
        return;
  };
  patch(path, annotations_patch(changes, {}, {}), kMergePatch);
  const bool offered = !dropped && how != Misbehaviour::kNothingAllocatable;
  patch(path + "/status", agent_node_status(told, options_, offered, clock_.wall()),
        kStrategicPatch);
}

/// Agents with a handshake write it on a timer, whatever the scheduler wrote there.
void Agents::Impl::report_handshakes(const std::string& name) {
  const NodeEntry& node = nodes_[name];
  const std::string text = reported(clock_.wall());
  std::vector<AnnotationChange> changes;
  for (std::size_t v = 0; v < options_.vendors.size(); ++v) {
    const bool there = std::any_of(node.spec.devices.begin(), node.spec.devices.end(),
                                   [&](const core::Device& d) { return d.vendor.v == v; });
    const std::string& key = options_.vendors[v].handshake_key;
    if (there && !key.empty()) changes.push_back({key, &text});
  }
  if (changes.empty()) return;
  if (node.how != Misbehaviour::kDead && node.how != Misbehaviour::kDropRegistration) {
    send({.method = "PATCH",
          .path = "/api/v1/nodes/" + name,
          .body = annotations_patch(changes, {}, {}),
          .content_type = std::string(kMergePatch)},
         [](const client::ApiResponse&) {});
  }
  later(options_.handshake_period, [this, name] { report_handshakes(name); });
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
