#include "service/role_labels.h"

#include <fmt/format.h>

#include <utility>

#include "json/writer.h"
#include "obs/log.h"
#include "service/names.h"

namespace tessera::service {
namespace {

constexpr std::string_view kRoleLabel = "hami.io/scheduler-role";
constexpr std::string_view kComponent =
    "labelSelector=app.kubernetes.io%2Fcomponent%3Dhami-scheduler";

std::string role_patch(std::string_view role) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("labels").begin_object();
  w.key(kRoleLabel).string(role).end_object().end_object().end_object();
  return std::move(w).take();
}

}  // namespace

RoleLabels::RoleLabels(client::ApiClient& api, const Leadership& leader, Options options)
    : api_(api), leader_(leader), options_(std::move(options)) {}

void RoleLabels::announce() {
  const std::uint64_t term = leader_.term();
  if (options_.pod_name.empty() || term == 0) return;
  const std::string where = options_.pod_namespace.empty()
                                ? std::string("/api/v1/pods")
                                : "/api/v1/namespaces/" + options_.pod_namespace + "/pods";
  // The answer is read on the client's thread; everything it needs is immutable.
  api_.send({.path = fmt::format("{}?{}", where, kComponent)}, [this, term](
                                                                   client::ApiResponse response) {
    json::Parser parser;
    const Result<json::Value> list = response.ok() ? parser.parse(std::move(response.body))
                                                   : fail(Code::kUnavailable, response.message());
    if (!list) {
      log::warn("scheduler pods cannot be listed for their role label",
                {{"problem", list.error().what}});
      return;
    }
    (*list)["items"].for_each_element([this, term](json::Value pod) { label(pod, term); });
  });
}

void RoleLabels::label(json::Value pod, std::uint64_t term) {
  const json::Value meta = pod["metadata"];
  const std::string ns(meta["namespace"].string_or("")), name(meta["name"].string_or(""));
  if (!is_object_name(ns) || !is_object_name(name)) return;
  const std::string_view role = name == options_.pod_name ? "leader" : "follower";
  if (meta["labels"][kRoleLabel].string_or("") == role) return;
  client::ApiRequest request{.method = "PATCH",
                             .path = fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name),
                             .body = role_patch(role),
                             .content_type = "application/merge-patch+json",
                             .still_wanted = [this, term] { return leader_.holds(term); }};
  api_.send(std::move(request), [ns, name](const client::ApiResponse& response) {
    if (!response.ok())
      log::warn("role label could not be written",
                {{"pod", ns + "/" + name}, {"problem", response.message()}});
  });
}

}  // namespace tessera::service
