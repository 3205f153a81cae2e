#include "label_priority/routes.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "http/metrics_answer.h"
#include "label_priority/call.h"
#include "obs/log.h"
#include "obs/process.h"

namespace tessera::label_priority {
namespace {

constexpr std::size_t kBindMaxBody = 1U << 20;

std::string too_long(std::size_t limit) {
  return fmt::format("request body is longer than the limit of {} bytes, see --max-body", limit);
}

/// Answers one call, once, and measures how long it took.
class Reply {
 public:
  Reply(const Extender& e, Verb verb, http::Responder respond)
      : extender_(e), verb_(verb), respond_(std::move(respond)), arrived_(e.clock.mono()) {}
  void operator()(int code, std::string body) const {
    const double seconds = std::chrono::duration<double>(extender_.clock.mono() - arrived_).count();
    extender_.measures.answered(verb_, code, seconds);
    respond_({.body = std::move(body)});
  }
  /// The original answers a scoring call that it cannot read with no scores at all.
  void fail(int code, const std::string& error) const {
    if (verb_ != Verb::kPrioritize) return (*this)(code, filter_error(error));
    log::warn("scores cannot be given", {{"problem", error}});
    (*this)(code, std::string(kNoScores));
  }

 private:
  const Extender& extender_;
  Verb verb_;
  http::Responder respond_;
  MonoTime arrived_;
};

std::string body_of(Verb verb, const Call& call) {
  if (verb == Verb::kFilter) return call.filter();
  return verb == Verb::kFilterOnlyOne ? call.filter_only_one() : call.prioritize();
}

/// Names are no use without the labels of the nodes.
void answer_by_names(Extender& e, Verb verb, std::shared_ptr<Call> call, const Reply& reply) {
  const Result<client::ApiClient*> api = e.kube.get();
  if (!api)
    return reply.fail(500, "NodeNames without Nodes needs the API server: " + api.error().what);
  e.start_cache();
  e.cache.when_filled(
      **api, e.options.cache_wait,
      [&e, verb, call = std::move(call), reply](const std::string& problem) {
        if (!problem.empty()) return reply.fail(500, "NodeNames without Nodes: " + problem);
        call->look_up([&e](std::string_view name) { return e.cache.label_of(name); });
        reply(200, body_of(verb, *call));
      });
}

void handle_nodes(Extender& e, Verb verb, http::Request&& request, const http::Responder& respond) {
  const Reply reply(e, verb, respond);
  auto read = Call::read(std::move(request.body), e.options.rules);
  if (!read) return reply.fail(400, read.error().what);
  std::shared_ptr<Call> call = std::move(*read);
  if (call->names_only()) return answer_by_names(e, verb, std::move(call), reply);
  call->each_label([&e](std::string_view name, const std::string* bad) { e.watch.see(name, bad); });
  reply(call->nameless() ? 500 : 200, body_of(verb, *call));
}

void handle_bind(const Extender& e, const http::Request& request, const http::Responder& respond) {
  const Reply reply(e, Verb::kBind, respond);
  const auto answer = [reply](int code, const std::string& error) {
    reply(code, k8s::encode_bind_result(error) + "\n");
  };
  json::Parser parser;
  const Result<k8s::BindArgs> args = k8s::decode_bind_args(parser, request.body);
  if (!args) return answer(400, args.error().what);
  e.binder.bind(*args,
                [answer](const std::string& error) { answer(error.empty() ? 200 : 500, error); });
}

/// Without a body, as the original answers.
http::Route other_methods(const char* path, const char* allowed) {
  return {.method = "*", .path = path, .handler = [allowed](http::Request&&, http::Responder r) {
            http::Response response = http::plain_text(405, "");
            response.headers.emplace_back("Allow", allowed);
            r(std::move(response));
          }};
}

void add_post(Extender& e, std::vector<http::Route>& all, const char* path, Verb verb) {
  const bool binds = verb == Verb::kBind;
  http::Route route{.method = "POST", .path = path};
  route.max_body = binds ? kBindMaxBody : e.options.max_body;
  route.handler = [&e, verb, binds](http::Request&& request, const http::Responder& respond) {
    if (binds) return handle_bind(e, request, respond);
    handle_nodes(e, verb, std::move(request), respond);
  };
  route.too_large = [verb, binds](std::size_t limit) -> http::Response {
    if (binds) return {.body = k8s::encode_bind_result(too_long(limit)) + "\n"};
    if (verb == Verb::kPrioritize) return {.body = std::string(kNoScores)};
    return {.body = filter_error(too_long(limit))};
  };
  all.push_back(std::move(route));
  all.push_back(other_methods(path, "POST"));
}

void add_get(std::vector<http::Route>& all, const char* path,
             std::function<http::Response(const http::Request&)> answer) {
  all.push_back({.method = "GET",
                 .path = path,
                 .handler = [answer = std::move(answer)](http::Request&& q, http::Responder r) {
                   r(answer(q));
                 }});
  all.push_back(other_methods(path, "GET"));
}

http::Response ready_answer(Extender& e) {
  const std::string missing = e.missing();
  if (!missing.empty()) return http::plain_text(503, "not ready: " + missing);
  const std::string without = e.cache.missing();
  return http::plain_text(200, without.empty() ? "" : "ready for full nodes only: " + without);
}

}  // namespace

Extender::Extender(const Options& given, KubeAccess::Find find, const Clock& wall)
    : options(given),
      clock(wall),
      measures(metrics),
      watch(given.rules.label, metrics),
      cache(given.rules.label, watch, metrics),
      kube(std::move(find),
           {.user_agent = "tessera-label-priority/" TESSERA_VERSION,
            .qps = given.kube_qps,
            .burst = given.kube_burst},
           metrics),
      binder(kube,
             {.enabled = given.bind, .verify = !given.rules.compat, .timeout = given.bind_timeout},
             metrics) {}

Status Extender::start_cache() {
  if (options.rules.compat) return {};
  const Result<client::ApiClient*> api = kube.get();
  if (!api) return tl::unexpected(api.error());
  const auto seed = static_cast<std::uint64_t>(clock.wall().time_since_epoch().count());
  cache.start(**api, seed);
  return {};
}

std::string Extender::missing() {
  if (const Status started = start_cache(); !started)
    return options.bind ? "bind needs the API server: " + started.error().what : std::string();
  if (options.rules.compat && options.bind) {
    const auto api = kube.get();
    if (!api) return "bind needs the API server: " + api.error().what;
  }
  return cache.refused() ? std::string() : cache.missing();
}

std::vector<http::Route> probe_routes(Extender& e) {
  std::vector<http::Route> all;
  add_get(all, "/healthz", [](const http::Request&) { return http::plain_text(200, ""); });
  add_get(all, "/readyz", [&e](const http::Request&) { return ready_answer(e); });
  add_get(all, "/metrics", [&e](const http::Request& request) {
    return http::metrics_answer(e.metrics.render() + obs::process_text(obs::process_figures()),
                                http::metrics_form(request));
  });
  // A name that is nearly right is wrong: no redirects.
  all.push_back({.method = "*", .path = "/*", .handler = [](http::Request&&, http::Responder r) {
                   r(http::plain_text(404, "404 page not found\n"));
                 }});
  return all;
}

std::vector<http::Route> main_routes(Extender& e) {
  std::vector<http::Route> all = probe_routes(e);
  add_post(e, all, "/filter", Verb::kFilter);
  add_post(e, all, "/filter_onlyone", Verb::kFilterOnlyOne);
  add_post(e, all, "/priority", Verb::kPrioritize);
  add_post(e, all, "/prioritize", Verb::kPrioritize);
  add_post(e, all, "/bind", Verb::kBind);
  return all;
}

}  // namespace tessera::label_priority
