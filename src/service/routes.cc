#include "service/routes.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "http/metrics_answer.h"
#include "json/reader.h"
#include "k8s/admission.h"
#include "k8s/extender.h"
#include "service/explain_api.h"
#include "service/refit_api.h"
#include "service/simulate_api.h"
#include "service/webhook.h"

namespace tessera::service {
namespace {

constexpr std::size_t kBindMaxBody = 1U << 20;

std::string too_long(std::size_t limit, std::string_view flag) {
  return fmt::format("request body is longer than the limit of {} bytes{}{}", limit,
                     flag.empty() ? "" : ", see ", flag);
}

double seconds_since(const Scheduler& s, MonoTime begin) {
  return std::chrono::duration<double>(s.clock.mono() - begin).count();
}

int webhook_code(WebhookResult result) {
  if (result == WebhookResult::kDenied) return 403;
  return result == WebhookResult::kError ? 400 : 200;
}

FilterCallPool::Handle take_call(Scheduler& s, const http::Request& request,
                                 const http::Responder& respond) {
  FilterCallPool::Handle call = s.filter_calls.take();
  call->arrived = s.clock.mono();
  call->client_gone = request.client_gone;
  call->answer = [respond](http::Response response) { respond(std::move(response)); };
  return call;
}

/// On the state thread. Only who must wait is made into a visitor.
void pass_gate(Scheduler& s, FilterCallPool::Handle call) {
  if (s.gate.is_open()) return s.filter.decide(*call);
  const auto shared = std::make_shared<FilterCallPool::Handle>(std::move(call));
  s.gate.pass(
      {.enter = [&s, shared] { s.filter.decide(**shared); },
       .turn_away = [&s, shared](const std::string& why) { s.filter.refuse(**shared, why); },
       .client_gone = (*shared)->client_gone});
}

void handle_filter(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  FilterCallPool::Handle call = take_call(s, request, respond);
  if (!s.filter.prepare(*call, std::move(request.body))) return;
  s.state.run_or_post([&s, call = std::move(call)]() mutable { pass_gate(s, std::move(call)); });
}

/// Scores are a wish: who can't be answered at once gets none, and kube-scheduler goes on without.
void handle_prioritize(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  FilterCallPool::Handle call = take_call(s, request, respond);
  if (!s.prioritizer.prepare(*call, std::move(request.body))) return;
  s.state.run_or_post([&s, call = std::move(call)] {
    if (s.gate.is_open()) return s.prioritizer.decide(*call);
    s.prioritizer.refuse(*call, "caches are not synced, or somebody else leads", 500);
  });
}

void handle_bind(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  const auto answer = [&s, respond, arrived = s.clock.mono()](const std::string& error) {
    s.measures.answered(Verb::kBind, error.empty() ? 200 : 500, seconds_since(s, arrived));
    respond({.body = k8s::encode_bind_result(error)});
  };
  json::Parser parser;
  Result<k8s::BindArgs> args = k8s::decode_bind_args(parser, request.body);
  if (!args) return answer(args.error().what);
  BindCall call{.args = std::move(*args),
                .answer = answer,
                .client_gone = request.client_gone,
                .arrived = s.clock.mono()};
  s.state.post([&s, call = std::move(call), answer] {
    s.gate.pass({.enter = [&s, call] { s.binder.bind(call); },
                 .turn_away = answer,
                 .client_gone = call.client_gone});
  });
}

void handle_preempt(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  const auto refuse = [&s, respond, arrived = s.clock.mono()](int status, const std::string& why) {
    s.preempt_verb.answered(status, arrived);
    respond(http::plain_text(status, why));
  };
  Result<PreemptCall> call = s.preempt_verb.prepare(request.body);
  if (!call) return refuse(400, call.error().what);
  auto shared = std::make_shared<PreemptCall>(std::move(*call));
  s.state.post([&s, respond, refuse, shared, gone = request.client_gone] {
    s.gate.pass({.enter =
                     [&s, respond, shared] {
                       std::string body = s.preempt_verb.decide(*shared);
                       s.preempt_verb.answered(200, shared->arrived);
                       respond({.body = std::move(body)});
                     },
                 .turn_away = [refuse](const std::string& why) { refuse(503, why); },
                 .client_gone = gone});
  });
}

void handle_webhook(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  const MonoTime arrived = s.clock.mono();
  json::Parser parser;
  const WebhookOptions options{.scheduler_name = s.options.scheduler_name,
                               .force_overwrite = s.options.force_overwrite_default_scheduler,
                               .quotas = &s.quota_view};
  const std::string type(request.header("content-type"));
  const auto reader = s.live.get();
  WebhookAnswer answer =
      answer_admission(parser, std::move(request.body), reader->vendors(), options, type);
  s.measures.count_webhook(answer.result);
  s.measures.answered(Verb::kWebhook, webhook_code(answer.result), seconds_since(s, arrived));
  respond({.body = std::move(answer.body)});
}

void handle_metrics(Scheduler& s, http::Request&& request, const http::Responder& respond) {
  s.scrape.post([&s, respond, form = http::metrics_form(request)] {
    Result<std::unique_ptr<http::PieceSource>> page = s.metrics_page();
    if (!page) return respond(http::plain_text(503, page.error().what));
    http::send_metrics(respond, form, std::move(*page),
                       [&s](std::function<void()> task) { s.scrape.post(std::move(task)); });
  });
}

void handle_ready(Scheduler& s, const http::Responder& respond) {
  const std::string missing = s.caches->filled() ? std::string() : s.caches->missing();
  respond(missing.empty() ? http::plain_text(200, "")
                          : http::plain_text(503, "not ready: " + missing));
}

http::Response filter_too_large(std::size_t limit) {
  return {.body = k8s::encode_filter_error(too_long(limit, "--extender-max-body"))};
}

http::Response prioritize_too_large(std::size_t) {
  return {.body = k8s::encode_host_priorities({}, {})};
}

http::Response preempt_too_large(std::size_t limit) {
  return http::plain_text(413, too_long(limit, "--extender-max-body"));
}

http::Response bind_too_large(std::size_t limit) {
  return {.body = k8s::encode_bind_result(too_long(limit, ""))};
}

http::Response webhook_too_large(std::size_t limit) {
  k8s::AdmissionResponse denial;
  denial.api_version = "admission.k8s.io/v1";
  denial.kind = "AdmissionReview";
  denial.allowed = false;
  denial.code = 413;
  denial.message =
      fmt::format("request entity is too large; limit is {} bytes, see --webhook-max-body", limit);
  return {.body = k8s::encode_admission_response(denial)};
}

}  // namespace

std::vector<http::Route> metrics_routes(Scheduler& s) {
  std::vector<http::Route> routes;
  routes.push_back(
      {.method = "GET", .path = "/metrics", .handler = [&s](http::Request&& q, http::Responder r) {
         handle_metrics(s, std::move(q), r);
       }});
  routes.push_back(
      {.method = "GET", .path = "/healthz", .handler = [](http::Request&&, http::Responder r) {
         r(http::plain_text(200, ""));
       }});
  routes.push_back({.method = "GET",
                    .path = "/readyz",
                    .handler = [&s](http::Request&&, http::Responder r) { handle_ready(s, r); }});
  return routes;
}

std::vector<http::Route> main_routes(Scheduler& s) {
  std::vector<http::Route> routes = metrics_routes(s);
  routes.push_back(
      {.method = "POST",
       .path = "/filter",
       .max_body = s.options.extender_max_body,
       .handler = [&s](http::Request&& q, http::Responder r) { handle_filter(s, std::move(q), r); },
       .too_large = filter_too_large});
  for (const char* path : {"/prioritize", "/priority"}) {
    routes.push_back({.method = "POST",
                      .path = path,
                      .max_body = s.options.extender_max_body,
                      .handler = [&s](http::Request&& q,
                                      http::Responder r) { handle_prioritize(s, std::move(q), r); },
                      .too_large = prioritize_too_large});
  }
  routes.push_back(
      {.method = "POST",
       .path = "/bind",
       .max_body = kBindMaxBody,
       .handler = [&s](http::Request&& q, http::Responder r) { handle_bind(s, std::move(q), r); },
       .too_large = bind_too_large});
  routes.push_back({.method = "POST",
                    .path = "/preempt",
                    .max_body = s.options.extender_max_body,
                    .handler = [&s](http::Request&& q,
                                    http::Responder r) { handle_preempt(s, std::move(q), r); },
                    .too_large = preempt_too_large});
  routes.push_back({.method = "POST",
                    .path = "/webhook",
                    .max_body = s.options.webhook_max_body,
                    .handler = [&s](http::Request&& q,
                                    http::Responder r) { handle_webhook(s, std::move(q), r); },
                    .too_large = webhook_too_large});
  for (const char* method : {"GET", "POST"}) {
    routes.push_back({.method = method,
                      .path = "/v1/explain",
                      .max_body = kExplainMaxBody,
                      .handler = [&s](http::Request&& q, http::Responder r) {
                        handle_explain(s, std::move(q), r);
                      }});
  }
  routes.push_back({.method = "POST",
                    .path = "/v1/simulate",
                    .max_body = s.options.extender_max_body,
                    .handler = [&s](http::Request&& q, http::Responder r) {
                      handle_simulate(s, std::move(q), r);
                    }});
  routes.push_back({.method = "POST",
                    .path = "/v1/refit",
                    .max_body = kRefitMaxBody,
                    .handler = [&s](http::Request&& q, http::Responder r) {
                      handle_refit(s, std::move(q), r);
                    }});
  s.callers.guard(routes);
  return routes;
}

}  // namespace tessera::service
