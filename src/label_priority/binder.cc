#include "label_priority/binder.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "client/binding.h"
#include "client/object_name.h"
#include "json/reader.h"
#include "obs/log.h"

namespace tessera::label_priority {
namespace {

constexpr int kTries = 3;
constexpr std::chrono::milliseconds kPause{200};

obs::Counter counted(obs::Metrics& metrics, const char* result) {
  return metrics.counter("tessera_bind_total", "Bind calls by how they ended.",
                         {{"result", result}});
}

/// "" when every name may stand in a path.
std::string bad_name(const k8s::BindArgs& args) {
  const std::pair<const char*, const std::string*> names[] = {
      {"PodName", &args.pod_name}, {"PodNamespace", &args.pod_namespace}, {"Node", &args.node}};
  for (const auto& [field, value] : names) {
    if (!client::is_object_name(*value))
      return fmt::format("bind args: {} {} is not a name", field, text::quote(*value));
  }
  return {};
}

}  // namespace

struct Binder::Job {
  client::BindingTarget target;
  client::ApiClient* api = nullptr;
  Done done;
  std::string problem;  ///< of the write, when the pod must tell
  int tries_left = kTries;
};

Binder::Binder(KubeAccess& kube, BindOptions options, obs::Metrics& metrics)
    : kube_(kube),
      options_(options),
      bound_(counted(metrics, "bound")),
      failed_(counted(metrics, "failed")) {}

void Binder::refuse(const k8s::BindArgs& args, const std::string& error, const Done& done) const {
  end({.target = {args.pod_namespace, args.pod_name, args.pod_uid, args.node}, .done = done},
      error);
}

void Binder::bind(const k8s::BindArgs& args, Done done) const {
  if (!options_.enabled) {
    return refuse(args,
                  "bind is switched off here (--bind=false): take bindVerb out of the "
                  "scheduler's configuration",
                  done);
  }
  if (const std::string bad = bad_name(args); !bad.empty()) return refuse(args, bad, done);
  const Result<client::ApiClient*> api = kube_.get();
  if (!api) return refuse(args, api.error().what, done);
  auto job = std::make_shared<Job>(
      Job{.target = {args.pod_namespace, args.pod_name, args.pod_uid, args.node},
          .api = *api,
          .done = std::move(done)});
  job->api->send({.method = "POST",
                  .path = client::binding_path(job->target.ns, job->target.pod),
                  .body = client::binding_body(job->target),
                  .timeout = options_.timeout},
                 [this, job](const client::ApiResponse& response) { answered(job, response); });
}

void Binder::answered(const std::shared_ptr<Job>& job, const client::ApiResponse& response) const {
  const client::BindingAnswer answer = client::judge_binding(response);
  if (answer == client::BindingAnswer::kBound) return end(*job, {});
  if (answer == client::BindingAnswer::kRefused || !options_.verify)
    return end(*job, response.message());
  job->problem = response.message();
  ask_pod(job);
}

void Binder::ask_pod(const std::shared_ptr<Job>& job) const {
  job->api->send({.path = client::pod_path(job->target.ns, job->target.pod)},
                 [this, job](client::ApiResponse response) { pod_told(job, std::move(response)); });
}

void Binder::pod_told(const std::shared_ptr<Job>& job, client::ApiResponse response) const {
  if (!response.ok()) {
    if (response.status == 404 || --job->tries_left == 0) return end(*job, job->problem);
    return job->api->after(kPause, [this, job] { ask_pod(job); });
  }
  json::Parser parser;
  const auto pod = parser.parse(std::move(response.body));
  if (!pod) return end(*job, job->problem);
  const bool same =
      job->target.uid.empty() || (*pod)["metadata"]["uid"].string_or("") == job->target.uid;
  const bool here = (*pod)["spec"]["nodeName"].string_or("") == job->target.node;
  end(*job, same && here ? std::string() : job->problem);
}

void Binder::end(const Job& job, const std::string& error) const {
  const std::string pod = job.target.ns + "/" + job.target.pod;
  if (error.empty()) {
    bound_.increment();
    log::info("bound", {{"pod", pod}, {"node", job.target.node}});
  } else {
    failed_.increment();
    log::error("bind failed", {{"pod", pod}, {"node", job.target.node}, {"problem", error}});
  }
  job.done(error);
}

}  // namespace tessera::label_priority
