#include "sim/api_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "http/server.h"
#include "sim/api_admission.h"
#include "sim/api_call.h"
#include "sim/api_engine.h"
#include "sim/api_timer.h"
#include "sim/api_watch.h"

namespace tessera::sim {
namespace {

using api::Call;
using api::Reply;
using api::Target;

constexpr std::string_view kHealthPaths[] = {"/healthz", "/readyz", "/livez"};

Call call_of(http::Request&& request) {
  Call call;
  call.method = request.method;
  call.path = request.path;
  call.query = api::parse_query(request.query);
  call.content_type = request.header("content-type");
  call.accept = request.header("accept");
  call.body = std::move(request.body);
  return call;
}

http::Response response_of(Reply reply) {
  http::Response response;
  response.status = reply.status;
  response.content_type = std::move(reply.content_type);
  response.body = std::move(reply.body);
  if (reply.retry_after_seconds > 0)
    response.headers.emplace_back("Retry-After", std::to_string(reply.retry_after_seconds));
  return response;
}

/// Seconds for the Retry-After header, which has no smaller unit; never 0 when a wait was asked
/// for.
int whole_seconds(std::chrono::milliseconds wait) {
  return static_cast<int>((wait.count() + 999) / 1000);
}

bool is_watch(const Call& call) { return call.method == "GET" && call.flag("watch"); }

/// "tessera/0.1.0 (linux)" -> "tessera"
std::string_view agent_prefix(std::string_view user_agent) {
  return user_agent.substr(0, user_agent.find_first_of("/ "));
}

std::string counter_name(std::string_view user_agent, const Call& call, const Target& target) {
  std::string_view verb = call.method;
  if (is_watch(call))
    verb = "WATCH";
  else if (call.method == "GET" && target.name.empty())
    verb = "LIST";
  std::string resource(target.resource->name);
  if (!target.subresource.empty()) resource += "/" + target.subresource;
  return fmt::format("{}|{} {}", agent_prefix(user_agent), verb, resource);
}

}  // namespace

struct ApiServer::Impl {
  Impl(Options given, const Clock& clock)
      : options(std::move(given)),
        store(options.history, [this](const api::Change& change) { hub.publish(change); }),
        hub(store, clock),
        engine(store, clock) {}

  void make_namespaces();
  Reply answer(const Call& call);
  void on_request(http::Request&& request, const http::Responder& responder);
  std::optional<Fault> take_fault(std::string_view line);
  void serve(Call call, const http::Responder& responder, bool drop_answer);
  void finish(const Call& call, const http::Responder& responder, bool drop_answer);
  void open_watch(const Call& call, const Target& target, const http::Responder& responder);
  void count(std::string_view user_agent, const Call& call);
  bool authorised(const http::Request& request) const;
  void schedule_bookmarks();

  const Options options;
  std::string address;  // host:port, written before the first request is let in

  std::mutex mutex;  // guards everything below, and through it the classes' "owner serialises"
  api::Store store;
  api::WatchHub hub;
  api::Engine engine;
  std::vector<Fault> faults;
  std::map<std::string, std::uint64_t> counts;

  api::Admission admission;
  api::Timer timer;                      // after what its functions use
  std::unique_ptr<http::Server> server;  // last: its handlers use all of the above
};

void ApiServer::Impl::make_namespaces() {
  for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    const api::Value space =
        api::Value::object({{"metadata", api::Value::object({{"name", name}})}});
    answer({.method = "POST", .path = "/api/v1/namespaces", .body = space.dump()});
  }
}

/// Everything that needs no connection. The mutex is held.
Reply ApiServer::Impl::answer(const Call& call) {
  if (std::find(std::begin(kHealthPaths), std::end(kHealthPaths), call.path) !=
      std::end(kHealthPaths))
    return {.status = 200, .body = "ok", .content_type = "text/plain; charset=utf-8"};
  if (const auto target = api::parse_target(call.path)) return engine.handle(call, *target);
  api::Value document = api::discovery_document(call.path, address);
  if (document.is_null()) document = api::openapi_document(call.path);
  if (document.is_null()) return api::unknown_path();
  return call.method == "GET" ? api::json_reply(200, document) : api::method_not_allowed();
}

std::optional<Fault> ApiServer::Impl::take_fault(std::string_view line) {
  for (auto fault = faults.begin(); fault != faults.end(); ++fault) {
    if (line.find(fault->match) == std::string_view::npos) continue;
    const Fault taken = *fault;
    if (fault->times > 0 && --fault->times == 0) faults.erase(fault);
    return taken;
  }
  return std::nullopt;
}

void ApiServer::Impl::count(std::string_view user_agent, const Call& call) {
  if (const auto target = api::parse_target(call.path))
    ++counts[counter_name(user_agent, call, *target)];
}

bool ApiServer::Impl::authorised(const http::Request& request) const {
  const bool open_to_all = std::find(std::begin(kHealthPaths), std::end(kHealthPaths),
                                     request.path) != std::end(kHealthPaths);
  return options.token.empty() || open_to_all ||
         request.header("authorization") == "Bearer " + options.token;
}

void ApiServer::Impl::on_request(http::Request&& request, const http::Responder& responder) {
  if (!authorised(request))
    return responder(response_of(api::failure(401, "Unauthorized", "Unauthorized")));
  std::string line = request.method + " " + request.path;
  if (!request.query.empty()) line += "?" + request.query;
  const std::string user_agent(request.header("user-agent"));
  if (options.on_request) options.on_request(user_agent, line, request.body);
  Call call = call_of(std::move(request));
  std::optional<Fault> fault;
  {
    const std::lock_guard lock(mutex);
    count(user_agent, call);
    fault = take_fault(line);
  }
  if (!fault) return serve(call, responder, false);
  auto act = [this, call = std::move(call), responder, fault = *fault] {
    if (fault.cut) return responder.abort();
    if (fault.status == 0) return serve(call, responder, fault.drop_after_effect);
    responder(response_of(api::injected_failure(fault.status, whole_seconds(fault.retry_after))));
  };
  if (fault->delay.count() == 0) return act();
  timer.after(fault->delay, std::move(act));
}

void ApiServer::Impl::serve(Call call, const http::Responder& responder, bool drop_answer) {
  const auto target = api::parse_target(call.path);
  if (!target || !admission.applies(call, *target)) return finish(call, responder, drop_answer);
  admission.review(
      std::move(call), *target,
      [this, responder, drop_answer](const Call& admitted, std::optional<Reply> refused) {
        if (!refused) return finish(admitted, responder, drop_answer);
        responder(response_of(std::move(*refused)));
      });
}

void ApiServer::Impl::finish(const Call& call, const http::Responder& responder, bool drop_answer) {
  const std::lock_guard lock(mutex);
  const auto target = is_watch(call) ? api::parse_target(call.path) : std::nullopt;
  if (target) return open_watch(call, *target, responder);
  Reply reply = answer(call);
  if (drop_answer) return responder.abort();
  responder(response_of(std::move(reply)));
}

void ApiServer::Impl::open_watch(const Call& call, const Target& target,
                                 const http::Responder& responder) {
  auto order = api::WatchHub::read_order(call, target);
  if (Reply* refused = std::get_if<Reply>(&order))
    return responder(response_of(std::move(*refused)));
  auto& accepted = std::get<api::WatchHub::Order>(order);
  const std::chrono::seconds timeout(accepted.timeout_seconds);
  const std::uint64_t id = hub.open(std::move(accepted), responder.stream(200, "application/json"));
  if (timeout.count() == 0) return;
  timer.after(timeout, [this, id] {
    const std::lock_guard lock(mutex);
    hub.end(id);
  });
}

void ApiServer::Impl::schedule_bookmarks() {
  timer.after(options.bookmark_interval, [this] {
    {
      const std::lock_guard lock(mutex);
      hub.bookmark();
    }
    schedule_bookmarks();
  });
}

Result<std::unique_ptr<ApiServer>> ApiServer::start(Options options, const Clock& clock) {
  auto impl = std::make_unique<Impl>(std::move(options), clock);
  Impl* self = impl.get();
  const std::string host = self->options.address.substr(0, self->options.address.rfind(':'));
  http::Route everything{.method = "*", .path = "/*", .max_body = 16 << 20};
  everything.handler = [self](http::Request&& request, http::Responder responder) {
    self->on_request(std::move(request), responder);
  };
  self->make_namespaces();
  // held until the address is known: discovery tells it
  const std::unique_lock lock(self->mutex);
  auto server = http::Server::start({.address = self->options.address, .threads = 2}, {everything});
  if (!server) return tl::unexpected(server.error());
  self->server = std::move(*server);
  self->address = fmt::format("{}:{}", host.empty() ? "127.0.0.1" : host, self->server->port());
  self->schedule_bookmarks();
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ApiServer::~ApiServer() {
  impl_->timer.stop();
  impl_->admission.set_url("");
  drop_watches();
  impl_->server->stop();
  drop_watches();  // those that came between; streams must not outlive the server
}

std::string ApiServer::url() const { return "http://" + impl_->address; }

std::string ApiServer::kubeconfig() const {
  const std::string user =
      impl_->options.token.empty() ? "{}" : fmt::format("{{token: \"{}\"}}", impl_->options.token);
  return fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "clusters:\n"
      "- name: tessera\n"
      "  cluster: {{server: \"{}\"}}\n"
      "users:\n"
      "- name: tessera\n"
      "  user: {}\n"
      "contexts:\n"
      "- name: tessera\n"
      "  context: {{cluster: tessera, user: tessera, namespace: default}}\n"
      "current-context: tessera\n",
      url(), user);
}

void ApiServer::inject(Fault fault) {
  const std::lock_guard lock(impl_->mutex);
  impl_->faults.push_back(std::move(fault));
}

void ApiServer::clear_faults() {
  const std::lock_guard lock(impl_->mutex);
  impl_->faults.clear();
}

void ApiServer::drop_watches() {
  const std::lock_guard lock(impl_->mutex);
  impl_->hub.drop_all();
}

void ApiServer::stall_watches(bool stalled) {
  const std::lock_guard lock(impl_->mutex);
  impl_->hub.stall(stalled);
}

void ApiServer::forget_history() {
  const std::lock_guard lock(impl_->mutex);
  impl_->store.forget_history();
  impl_->engine.forget_lists();
}

void ApiServer::set_webhook(const std::string& url) { impl_->admission.set_url(url); }

ApiServer::Answer ApiServer::request(std::string_view method, std::string_view path,
                                     std::string_view body, std::string_view content_type) {
  const std::size_t question = path.find('?');
  Call call{.method = std::string(method), .path = std::string(path.substr(0, question))};
  if (question != std::string_view::npos) call.query = api::parse_query(path.substr(question + 1));
  call.body = body;
  call.content_type = content_type;
  const std::lock_guard lock(impl_->mutex);
  Reply reply = impl_->answer(call);
  return {.status = reply.status, .body = std::move(reply.body)};
}

std::map<std::string, std::uint64_t> ApiServer::request_counts() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->counts;
}

}  // namespace tessera::sim
