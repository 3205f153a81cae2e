#include "service/webhook.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "k8s/admission.h"
#include "k8s/decode.h"
#include "service/webhook_patch.h"

namespace tessera::service {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";
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

const k8s::Container* first_privileged(const k8s::Pod& pod) {
  for (const k8s::Container& c : pod.containers) {
    if (c.privileged) return &c;
  }
  return nullptr;
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
    response.warnings.push_back(
        "this pod asks for shared devices, but default-scheduler places it: no device will be "
        "assigned and it fails on its node");
  }
}

/// The device part of the review: what is denied, what is changed.
void admit_devices(const k8s::Pod& pod, json::Value object, const vendors::Vendors& vendors,
                   const WebhookOptions& options, json::PatchBuilder& patch,
                   k8s::AdmissionResponse& response) {
  auto mutation = vendors.mutate(pod);
  if (!mutation) return deny(response, kForbidden, mutation.error().what);
  if (mutation->uses_device) {
    if (const k8s::Container* c = first_privileged(pod)) {
      return deny(response, kForbidden, fmt::format("container {} is privileged", c->name));
    }
    if (!options.scheduler_name.empty()) {
      if (!pod.node_name.empty()) return deny(response, kForbidden, "pod has node assigned");
      if (pod.scheduler_name != options.scheduler_name) {
        patch_spec_text(patch, object, "schedulerName", options.scheduler_name);
      }
    }
  }
  if (!mutation->runtime_class.empty()) {
    patch_spec_text(patch, object, "runtimeClassName", mutation->runtime_class);
  }
  patch_containers(patch, object, pod, *mutation);
  for (std::string& warning : mutation->warnings) response.warnings.push_back(std::move(warning));
}

void review_pod(const k8s::Pod& pod, json::Value object, const vendors::Vendors& vendors,
                const WebhookOptions& options, k8s::AdmissionResponse& response) {
  if (pod.containers.size() == pod.init_count()) {
    return deny(response, kForbidden, "pod has no containers");
  }
  json::PatchBuilder patch;
  // Forged on purpose or copied with a manifest, these would book devices that nobody assigned:
  // they go from every pod, whoever schedules it.
  for (const std::string& key : patch_out_scheduler_keys(patch, object, vendors)) {
    response.warnings.push_back(fmt::format("{} is written by the scheduler only: removed", key));
  }
  if (belongs_to_another(pod, options)) {
    leave_to_another(pod, vendors, response);
  } else {
    admit_devices(pod, object, vendors, options, patch, response);
  }
  if (response.allowed && !patch.empty()) response.patch = patch.text();
}

void review(const k8s::AdmissionRequest& request, const vendors::Vendors& vendors,
            const WebhookOptions& options, k8s::AdmissionResponse& response) {
  // Registered for CREATE; of an existing pod nothing here may be changed any more.
  if (!request.operation.empty() && request.operation != "CREATE") return;
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
  review_pod(*pod, object, vendors, options, response);
}

}  // namespace

std::string answer_admission(json::Parser& parser, std::string body,
                             const vendors::Vendors& vendors, const WebhookOptions& options,
                             std::string_view content_type) {
  k8s::AdmissionResponse response;
  if (body.empty()) {
    deny(response, kBadRequest, "request body is empty");
    return k8s::encode_admission_response(response);
  }
  if (!is_json(content_type)) {
    deny(response, kBadRequest,
         fmt::format("contentType={}, expected application/json", content_type));
    return k8s::encode_admission_response(response);
  }
  body.reserve(body.size() + 64);  // the parser reads past the end; this spares it a copy
  const auto request = k8s::decode_admission_review(parser, body);
  if (!request) {
    deny(response, kBadRequest, request.error().what);
    return k8s::encode_admission_response(response);
  }
  response.api_version = request->api_version;
  response.kind = request->kind;
  response.uid = request->uid;
  review(*request, vendors, options, response);
  if (response.warnings.size() > kMaxWarnings) response.warnings.resize(kMaxWarnings);
  return k8s::encode_admission_response(response);
}

}  // namespace tessera::service
