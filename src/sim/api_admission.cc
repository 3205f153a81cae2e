#include "sim/api_admission.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "sim/api_patch.h"

namespace tessera::sim::api {
namespace {

constexpr std::chrono::seconds kWebhookTimeout{10};

Reply refusal(const Value& response) {
  const std::string why = response["status"]["message"].text();
  const auto code = response["status"]["code"].integer();
  const int status = static_cast<int>(code.value_or(400));
  return failure(status < 400 ? 400 : status, response["status"]["reason"].text(),
                 fmt::format("admission webhook denied the request: {}",
                             why.empty() ? "no reason given" : why));
}

}  // namespace

std::string admission_review(const Target& target, const Value& object, std::string_view uid,
                             bool dry_run) {
  const Resource& resource = *target.resource;
  const Value kind = Value::object(
      {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
  const Value plural = Value::object(
      {{"group", resource.group}, {"version", resource.version}, {"resource", resource.name}});
  Value request = Value::object({{"uid", uid},
                                 {"kind", kind},
                                 {"resource", plural},
                                 {"name", object["metadata"]["name"].text()},
                                 {"namespace", target.space},
                                 {"operation", "CREATE"}});
  request.make("dryRun") = dry_run;
  Value shown = object;
  shown.make("metadata").make("namespace") = target.space;
  request.make("object") = std::move(shown);
  Value review =
      Value::object({{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}});
  review.make("request") = std::move(request);
  return review.dump();
}

Admitted apply_admission(Value object, std::string_view answer) {
  Admitted out{.object = std::move(object), .refused = {}};
  const auto review = Value::parse(answer);
  if (!review || !(*review)["response"].is_object()) return out;
  const Value& response = (*review)["response"];
  if (!response["allowed"].is_true()) {
    out.refused = refusal(response);
    return out;
  }
  const auto text = text::base64_decode(response["patch"].text());
  if (!text || text->empty()) return out;
  const auto patch = Value::parse(*text);
  const Status applied =
      patch ? apply_json_patch(out.object, *patch) : Status(tl::unexpected(patch.error()));
  if (!applied)
    out.refused = failure(500, "InternalError", "webhook's patch: " + applied.error().what);
  return out;
}

void Admission::set_url(const std::string& url) {
  std::shared_ptr<client::ApiClient> next, last;
  const std::size_t slash = url.find('/', url.find("://") + 3);
  const std::string path = slash == std::string::npos ? "/" : url.substr(slash);
  if (!url.empty()) {
    next = std::make_shared<client::ApiClient>(
        client::Credentials{.server = url.substr(0, slash), .insecure = true},
        client::ApiClientOptions{.user_agent = "kube-apiserver-admission", .qps = -1}, metrics_);
  }
  const std::lock_guard lock(mutex_);
  last = std::exchange(client_, std::move(next));  // ended after the lock is gone
  path_ = path;
}

bool Admission::applies(const Call& call, const Target& target) const {
  const bool creates = call.method == "POST" && target.name.empty() && target.subresource.empty();
  if (!creates || target.resource->kind != "Pod") return false;
  const std::lock_guard lock(mutex_);
  return client_ != nullptr;
}

void Admission::review(Call call, const Target& target,
                       std::function<void(Call call, std::optional<Reply> refused)> done) {
  std::shared_ptr<client::ApiClient> client;
  std::string path, uid;
  {
    const std::lock_guard lock(mutex_);
    client = client_;
    path = path_;
    uid = fmt::format("review-{}", ++reviews_);
  }
  Result<Value> object = call.decoded_body();
  if (client == nullptr || !object || !object->is_object())
    return done(std::move(call), std::nullopt);  // what is no object is refused where it is created
  client::ApiRequest request{
      .method = "POST",
      .path = path,
      .body = admission_review(target, *object, uid, !call.parameter("dryRun").empty()),
      .timeout = kWebhookTimeout};
  client->send(std::move(request),
               [call = std::move(call), object = std::move(*object),
                done = std::move(done)](const client::ApiResponse& response) mutable {
                 if (!response.ok()) return done(std::move(call), std::nullopt);
                 Admitted admitted = apply_admission(std::move(object), response.body);
                 call.body = admitted.object.dump();
                 call.content_type = "application/json";
                 done(std::move(call), std::move(admitted.refused));
               });
}

}  // namespace tessera::sim::api
