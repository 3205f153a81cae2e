#include "service/webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "k8s/admission.h"
#include "k8s/decode.h"
#include "service/webhook_patch.h"
#include "service/webhook_quota.h"
#include "service/webhook_update.h"

namespace tessera::service {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";
constexpr std::string_view kOptOutLabel = "hami.io/webhook", kOptOutValue = "ignore";
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
/// kube-apiserver cuts the sum of all warnings at 4096 bytes.
constexpr std::size_t kMaxWarnings = 15;

bool is_json(std::string_view content_type) {
  const std::string_view media = text::trim(content_type.substr(0, content_type.find(';')));
  if (text::equals_ignoring_case(media, "application/json")) return true;
  constexpr std::string_view kTail = "+json";
  return media.size() > kTail.size() &&
         text::equals_ignoring_case(media.substr(0, 12), "application/") &&
         text::equals_ignoring_case(media.substr(media.size() - kTail.size()), kTail);
}

void deny(k8s::AdmissionResponse& response, int code, std::string message) {
  response.allowed = false;
  response.code = code;
  response.reason = code == kForbidden ? "Forbidden" : "BadRequest";
  response.message = std::move(message);
}

/// Path of a container in the pod, e.g. spec.initContainers[0].
std::string path_of(const k8s::Pod& pod, std::size_t position) {
  const std::size_t init = pod.init_count();
  return position < init ? fmt::format("spec.initContainers[{}]", position)
                         : fmt::format("spec.containers[{}]", position - init);
}

/// Any container of a device pod, whether it asks for devices itself or not: it would see all of
/// the node's.
std::optional<std::string> privilege_objection(const k8s::Pod& pod) {
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    if (!pod.containers[i].privileged) continue;
    return fmt::format(
        "container {} is privileged: {}.securityContext.privileged gives it every device of its "
        "node; set it to false, or ask for no device in this pod",
        pod.containers[i].name, path_of(pod, i));
  }
  return std::nullopt;
}

std::string node_objection(const k8s::Pod& pod) {
  return fmt::format(
      "pod has node assigned: spec.nodeName is {}, so no scheduler would choose its devices; leave "
      "it out and name the node in spec.nodeSelector (kubernetes.io/hostname)",
      text::quote(pod.node_name));
}

/// The same may be found twice: at the webhook's own look and at the decision's.
void warn(k8s::AdmissionResponse& response, std::string warning) {
  auto& all = response.warnings;
  if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(std::move(warning));
}

bool belongs_to_another(const k8s::Pod& pod, const WebhookOptions& options) {
  if (pod.scheduler_name.empty()) return false;
  if (pod.scheduler_name == kDefaultScheduler && options.force_overwrite) return false;
  return options.scheduler_name.empty() || pod.scheduler_name != options.scheduler_name;
}

void leave_to_another(const k8s::Pod& pod, const vendors::Vendors& vendors,
                      k8s::AdmissionResponse& response) {
  response.message = "pod already has different scheduler assigned";
  if (pod.scheduler_name == kDefaultScheduler && vendors.asks_devices(pod)) {
    warn(response,
         "this pod asks for shared devices, but default-scheduler places it: no device will be "
         "assigned and it fails on its node");
  }
}

bool changes_amounts(const vendors::Vendors::Mutation& mutation) {
  return std::any_of(mutation.containers.begin(), mutation.containers.end(),
                     [](const auto& wanted) {
                       return !wanted.set_limits.empty() || !wanted.set_requests.empty();
                     });
}

/// Limits of the namespace, checked against the pod as it will be. Also says what is wrong with
/// annotations that only a decision reads.
void admit_request(const k8s::Pod& pod, const std::string& ns, const vendors::Vendors& vendors,
                   const vendors::Vendors::Mutation& mutation, const QuotaView* quotas,
                   k8s::AdmissionResponse& response) {
  auto demand = changes_amounts(mutation) ? vendors.demand(mutated_pod(pod, mutation), {})
                                          : vendors.demand(pod, {});
  if (!demand) return deny(response, kForbidden, demand.error().what);
  for (std::string& warning : demand->warnings) warn(response, std::move(warning));
  const auto book = quotas == nullptr ? nullptr : quotas->get();
  if (book == nullptr) return;
  demand->request.subject.ns = ns;
  if (const auto objection = quota_objection(*book, demand->request, vendors)) {
    deny(response, kForbidden, "exceeding resource quota: " + *objection);
  }
}

/// The device part of the review: what is denied, what is changed. The order of the tests is
/// HAMi's.
void admit_devices(const k8s::Pod& pod, const std::string& ns, json::Value object,
                   const vendors::Vendors& vendors, const WebhookOptions& options,
                   json::PatchBuilder& patch, k8s::AdmissionResponse& response) {
  auto mutation = vendors.mutate(pod);
  if (!mutation) return deny(response, kForbidden, mutation.error().what);
  if (mutation->uses_device) {
    if (auto objection = privilege_objection(pod)) {
      return deny(response, kForbidden, std::move(*objection));
    }
    if (!options.scheduler_name.empty()) {
      if (!pod.node_name.empty()) return deny(response, kForbidden, node_objection(pod));
      if (pod.scheduler_name != options.scheduler_name) {
        patch_spec_text(patch, object, "schedulerName", options.scheduler_name);
      }
    }
  }
  for (std::string& warning : mutation->warnings) warn(response, std::move(warning));
  for (vendors::ContainerMutation& container : mutation->containers) {
    for (std::string& warning : container.warnings) warn(response, std::move(warning));
  }
  admit_request(pod, ns, vendors, *mutation, options.quotas, response);
  if (!response.allowed) return;
  if (!mutation->runtime_class.empty()) {
    patch_spec_text(patch, object, "runtimeClassName", mutation->runtime_class);
  }
  patch_containers(patch, object, pod, *mutation);
}

/// The selectors of the webhook's registration keep such pods away; where they are written
/// otherwise, the label counts all the same.
bool opted_out(const k8s::Pod& pod) {
  const std::string* value = k8s::find(pod.labels, kOptOutLabel);
  return value != nullptr && *value == kOptOutValue;
}

void leave_opted_out(const k8s::Pod& pod, const vendors::Vendors& vendors,
                     const WebhookOptions& options, k8s::AdmissionResponse& response) {
  response.message = fmt::format("pod is labelled {}: {}", kOptOutLabel, kOptOutValue);
  if (pod.scheduler_name != options.scheduler_name && vendors.asks_devices(pod)) {
    warn(response, fmt::format("this pod asks for shared devices, but its label {}: {} keeps it "
                               "from their scheduler: no device will be assigned",
                               kOptOutLabel, kOptOutValue));
  }
}

void review_pod(const k8s::Pod& pod, const k8s::AdmissionRequest& request,
                const vendors::Vendors& vendors, const WebhookOptions& options,
                k8s::AdmissionResponse& response) {
  if (pod.containers.size() == pod.init_count()) {
    return deny(response, kForbidden, "pod has no containers: spec.containers is empty");
  }
  if (opted_out(pod)) return leave_opted_out(pod, vendors, options, response);
  json::PatchBuilder patch;
  // Forged on purpose or copied with a manifest, these would book devices that nobody assigned:
  // they go from every pod, whoever schedules it.
  for (const std::string& key : patch_out_scheduler_keys(patch, request.object, vendors)) {
    warn(response, fmt::format("{} is written by the scheduler only: removed", key));
  }
  if (belongs_to_another(pod, options)) {
    leave_to_another(pod, vendors, response);
  } else {
    // The object's own namespace may be empty, the request's never is.
    const std::string& ns = request.ns.empty() ? pod.ns : request.ns;
    admit_devices(pod, ns, request.object, vendors, options, patch, response);
  }
  if (response.allowed && !patch.empty()) response.patch = patch.text();
}

void review_creation(const k8s::AdmissionRequest& request, const vendors::Vendors& vendors,
                     const WebhookOptions& options, k8s::AdmissionResponse& response) {
  const json::Value object = request.object;
  if (object.is_null_or_missing()) {
    return deny(response, kBadRequest, "there is no content to decode");
  }
  const std::string_view kind = object["kind"].string_or("Pod");
  if (kind != "Pod") {
    return deny(response, kBadRequest, fmt::format("object kind {}: a Pod is expected", kind));
  }
  const auto pod = k8s::decode_pod(object);
  if (!pod) return deny(response, kBadRequest, pod.error().what);
  review_pod(*pod, request, vendors, options, response);
}

void review(const k8s::AdmissionRequest& request, const vendors::Vendors& vendors,
            const WebhookOptions& options, k8s::AdmissionResponse& response) {
  // A registration with wider rules than ours must not stop what is none of our business.
  if (!request.object_kind.empty() && request.object_kind != "Pod") {
    response.message = fmt::format("{} is no Pod: not looked at", request.object_kind);
    return;
  }
  if (request.operation == "UPDATE") {
    if (auto objection = update_objection(request, vendors)) {
      deny(response, kForbidden, std::move(*objection));
    }
    return;
  }
  const bool creation = request.operation.empty() || request.operation == "CREATE";
  if (creation && request.sub_resource.empty()) {
    review_creation(request, vendors, options, response);
  }
}

WebhookResult result_of(const k8s::AdmissionResponse& response) {
  if (!response.allowed) {
    return response.code == kForbidden ? WebhookResult::kDenied : WebhookResult::kError;
  }
  return response.patch.empty() ? WebhookResult::kUnchanged : WebhookResult::kMutated;
}

void answer(json::Parser& parser, std::string&& body, const vendors::Vendors& vendors,
            const WebhookOptions& options, std::string_view content_type,
            k8s::AdmissionResponse& response) {
  if (body.empty()) return deny(response, kBadRequest, "request body is empty");
  if (!is_json(content_type)) {
    return deny(response, kBadRequest,
                fmt::format("contentType={}, expected application/json", content_type));
  }
  const auto request = k8s::decode_admission_review(parser, std::move(body));
  if (!request) return deny(response, kBadRequest, request.error().what);
  response.api_version = request->api_version;
  response.kind = request->kind;
  response.uid = request->uid;
  review(*request, vendors, options, response);
}

}  // namespace

std::string_view webhook_result_word(WebhookResult result) {
  switch (result) {
    case WebhookResult::kMutated:
      return "mutated";
    case WebhookResult::kUnchanged:
      return "unchanged";
    case WebhookResult::kDenied:
      return "denied";
    case WebhookResult::kError:
      break;
  }
  return "error";
}

WebhookAnswer answer_admission(json::Parser& parser, std::string body,
                               const vendors::Vendors& vendors, const WebhookOptions& options,
                               std::string_view content_type) {
  k8s::AdmissionResponse response;
  answer(parser, std::move(body), vendors, options, content_type, response);
  if (response.warnings.size() > kMaxWarnings) response.warnings.resize(kMaxWarnings);
  return {.body = k8s::encode_admission_response(response), .result = result_of(response)};
}

}  // namespace tessera::service
