/// Reviews and answers of the webhook for its tests: a review goes in, the answer comes back taken
/// apart by an independent JSON library.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "service/webhook.h"
#include "vendors/config.h"

namespace tessera::service::webhook_test {

using Json = nlohmann::json;

inline constexpr auto kJson = "application/json";

/// All vendors of the built-in configuration; `more` changes the first.
inline vendors::Vendors vendors_of(const std::string& more = "") {
  auto config = vendors::parse_device_config(vendors::default_device_config(),
                                             {.ascend = true, .iluvatar = true})
                    .config;
  if (more == "runtime") config.vendors.front().runtime_class = "accelerated";
  if (more == "env") {
    config.vendors.front().core_policy_env_value = "force";
    config.vendors.front().hide_from_others = true;
  }
  return *vendors::Vendors::make(config);
}

inline Json container(const std::string& name, Json limits) {
  return {{"name", name}, {"image", "none"}, {"resources", {{"limits", std::move(limits)}}}};
}

inline Json pod(Json spec, Json metadata = Json::object()) {
  metadata["name"] = "p";
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", std::move(spec)}};
}

inline Json gpu_pod(Json more = Json::object()) {
  Json spec = {
      {"containers", {container("c0", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1000"}})}}};
  spec.update(more);
  return pod(spec);
}

struct Answer {
  Json review;
  WebhookResult result = WebhookResult::kError;
  bool allowed = false;
  int code = 0;
  std::string message;
  std::vector<std::string> warnings;
  Json patch = Json::array();
};

inline Answer ask_text(std::string body, const vendors::Vendors& table,
                       const WebhookOptions& options, std::string_view content_type = kJson) {
  json::Parser parser;
  Answer answer;
  const WebhookAnswer raw = answer_admission(parser, std::move(body), table, options, content_type);
  answer.result = raw.result;
  answer.review = Json::parse(raw.body);
  const Json& response = answer.review["response"];
  answer.allowed = response["allowed"];
  answer.code = response["status"]["code"];
  answer.message = response["status"].value("message", "");
  answer.warnings = response.value("warnings", std::vector<std::string>{});
  EXPECT_EQ(response.contains("patch"), response.contains("patchType"));
  if (response.contains("patch")) {
    answer.patch = Json::parse(*text::base64_decode(response["patch"].get<std::string>()));
  }
  return answer;
}

inline Json review_of(const Json& object, const std::string& version = "v1",
                      const std::string& operation = "CREATE") {
  return {{"apiVersion", "admission.k8s.io/" + version},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "u-1"}, {"namespace", "team"}, {"operation", operation}, {"object", object}}}};
}

inline const WebhookOptions kOptions{"hami-scheduler", true};

inline Answer ask(const Json& object, const WebhookOptions& options = kOptions,
                  const std::string& config = "") {
  return ask_text(review_of(object).dump(), vendors_of(config), options);
}

}  // namespace tessera::service::webhook_test
