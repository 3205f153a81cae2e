#include <fmt/format.h>

#include "json/writer.h"
#include "sim/scenario_live.h"
#include "sim/scenario_objects.h"

namespace tessera::sim {
namespace {

client::ApiClientOptions unlimited(std::string user_agent) {
  return {.user_agent = std::move(user_agent), .qps = -1};
}

tl::unexpected<Error> refused(std::string_view call, std::string_view path,
                              const client::ApiResponse& response) {
  return fail(Code::kUnavailable, fmt::format("{} {}: {}", call, path, response.message()));
}

void take_reasons(json::Value map, Verdict& verdict) {
  map.for_each_member([&](std::string_view node, json::Value text) {
    verdict.reasons.emplace_back(node, text.string_or(""));
  });
}

}  // namespace

LiveCluster::LiveCluster(const std::string& api_url, const std::string& extender_url)
    : api_(client::Credentials{.server = api_url, .insecure = true}, unlimited("scenario"),
           metrics_) {
  use_extender(extender_url);
}

void LiveCluster::use_extender(const std::string& extender_url) {
  extender_ = std::make_unique<client::ApiClient>(
      client::Credentials{.server = extender_url, .insecure = true}, unlimited("scenario"),
      metrics_);
}

Result<std::string> LiveCluster::create(const std::string& collection, const std::string& object) {
  client::ApiResponse response = api_.call({.method = "POST", .path = collection, .body = object});
  if (!response.ok()) return refused("POST", collection, response);
  return std::move(response.body);
}

Status LiveCluster::merge(const std::string& path, const std::string& patch) {
  const client::ApiResponse response = api_.call({.method = "PATCH",
                                                  .path = path,
                                                  .body = patch,
                                                  .content_type = "application/merge-patch+json"});
  if (!response.ok()) return refused("PATCH", path, response);
  return {};
}

Status LiveCluster::remove(const std::string& path) {
  const client::ApiResponse response =
      api_.call({.method = "DELETE", .path = path, .body = R"({"gracePeriodSeconds":0})"});
  if (!response.ok()) return refused("DELETE", path, response);
  return {};
}

Result<std::string> LiveCluster::get(const std::string& path) {
  client::ApiResponse response = api_.call({.path = path});
  if (!response.ok()) return refused("GET", path, response);
  return std::move(response.body);
}

Result<Verdict> LiveCluster::filter(const std::string& pod_object,
                                    const std::vector<std::string>& nodes) {
  json::Writer w;
  w.begin_object().key("Pod").raw(pod_object).key("Nodes").null().key("NodeNames").begin_array();
  for (const std::string& node : nodes) w.string(node);
  w.end_array().end_object();
  const client::ApiResponse response =
      extender_->call({.method = "POST", .path = "/filter", .body = std::move(w).take()});
  if (!response.ok()) return refused("POST", "/filter", response);
  json::Parser parser;
  const Result<json::Value> body = parser.parse(std::string_view(response.body));
  if (!body) return tl::unexpected(body.error());
  const std::string_view error = (*body)["Error"].string_or("");
  if (!error.empty()) return fail(Code::kUnavailable, fmt::format("/filter: {}", error));
  Verdict verdict;
  (*body)["NodeNames"].for_each_element(
      [&](json::Value name) { verdict.node = name.string_or(""); });
  take_reasons((*body)["FailedNodes"], verdict);
  take_reasons((*body)["FailedAndUnresolvableNodes"], verdict);
  return verdict;
}

Status LiveCluster::bind(const std::string& pod, const std::string& uid, const std::string& node) {
  json::Writer w;
  w.begin_object().key("PodName").string(pod).key("PodNamespace").string(kScenarioNamespace);
  w.key("PodUID").string(uid).key("Node").string(node).end_object();
  const client::ApiResponse response = extender_->call({.method = "POST",
                                                        .path = "/bind",
                                                        .body = std::move(w).take(),
                                                        .timeout = std::chrono::seconds(35)});
  if (!response.ok()) return refused("POST", "/bind", response);
  json::Parser parser;
  const Result<json::Value> body = parser.parse(std::string_view(response.body));
  if (!body) return tl::unexpected(body.error());
  const std::string_view error = (*body)["Error"].string_or("");
  if (!error.empty()) return fail(Code::kConflict, fmt::format("/bind of {}: {}", pod, error));
  return {};
}

}  // namespace tessera::sim
