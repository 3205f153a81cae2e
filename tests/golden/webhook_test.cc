// Plays the 200 recorded admission reviews: the verdict must agree except where a named rule says
// otherwise; how many pods are equal after the patch is printed.
#include "service/webhook.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/quantity.h"
#include "base/text.h"
#include "recorded.h"
#include "vendors/config.h"

namespace tessera::golden {
namespace {

using Json = nlohmann::json;

/// Empty maps and lists say nothing (D2), and HAMi writes every quantity in its canonical spelling.
Json normal(const Json& value) {
  if (!value.is_object() && !value.is_array()) return value;
  Json out = value.is_object() ? Json::object() : Json::array();
  for (const auto& [key, member] : value.items()) {
    if (key == "schedulerName" && member == "") continue;  // Go's encoder leaves it out
    Json inner = normal(member);
    if (value.is_array()) {
      out.push_back(std::move(inner));
    } else if (!inner.is_null() && !(inner.is_object() && inner.empty())) {
      out[key] = std::move(inner);
    }
  }
  for (const char* map : {"limits", "requests", "overhead"}) {
    if (!value.is_object() || !out.contains(map)) continue;
    for (auto& [resource, quantity] : out[map].items()) {
      if (!quantity.is_string()) continue;
      const auto parsed = Quantity::parse(quantity.get<std::string>());
      if (parsed) quantity = parsed->canonical();
    }
  }
  return out;
}

Json review_of(const Json& pod) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "u"}, {"namespace", "default"}, {"operation", "CREATE"}, {"object", pod}}}};
}

struct Played {
  bool allowed = false;
  std::string message;
  Json after;
};

Played play(const Json& recorded, const vendors::Vendors& table) {
  service::WebhookOptions options{"hami-scheduler", true};
  for (const Json& flag : recorded["flags"]) {
    if (flag == "--force-overwrite-default-scheduler=false") options.force_overwrite = false;
  }
  json::Parser parser;
  const Json answer =
      Json::parse(service::answer_admission(parser, review_of(recorded["pod"]).dump(), table,
                                            options, "application/json")
                      .body);
  const Json& response = answer["response"];
  Played out{response["allowed"], response["status"].value("message", ""), recorded["pod"]};
  if (response.contains("patch")) {
    out.after =
        out.after.patch(Json::parse(*text::base64_decode(response["patch"].get<std::string>())));
  }
  return out;
}

/// Why our answer to this pod may differ: the rules of docs/differences.md, section Webhook.
bool forged(const Json& pod) {
  const Json& annotations = pod["metadata"].value("annotations", Json::object());
  return annotations.contains("hami.io/vgpu-node");
}

bool counts_zero(const Json& pod) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : pod["spec"].value(list, Json::array())) {
      const Json resources = container.value("resources", Json::object());
      for (const char* map : {"limits", "requests"}) {
        if (resources.value(map, Json::object()).value("nvidia.com/gpu", "") == "0") return true;
      }
    }
  }
  return false;
}

TEST(GoldenWebhook, AnswersAgreeUnlessANamedRuleDiffers) {
  const auto table = *vendors::Vendors::make(
      vendors::parse_device_config(vendors::default_device_config()).config);
  int reviews = 0, verdicts = 0, messages = 0, pods = 0, allowed = 0, by_forged = 0, by_zero = 0;
  for (const Json& recorded : read_recorded("webhook.jsonl.gz")) {
    ++reviews;
    const Json& pod = recorded["pod"];
    const Played ours = play(recorded, table);
    // HAMi sends no patch for a pod that it leaves alone; nothing was recorded then.
    const Json& theirs = recorded["after"].is_null() ? pod : recorded["after"];
    const bool same_verdict = ours.allowed == recorded["allowed"].get<bool>();
    const bool same_words = ours.message == recorded["message"].get<std::string>();
    const bool same_pod = !ours.allowed || normal(ours.after) == normal(theirs);
    verdicts += same_verdict;
    messages += same_words;
    if (recorded["allowed"].get<bool>()) {
      ++allowed;
      pods += same_pod;
    }
    if (same_verdict && same_words && same_pod) continue;
    by_zero += counts_zero(pod);
    by_forged += !counts_zero(pod) && forged(pod);
    // Count 0 is no device (case 39): only such a pod may get another verdict.
    EXPECT_TRUE((same_verdict && same_words) || counts_zero(pod))
        << pod["metadata"] << " ours: " << ours.message << " HAMi: " << recorded["message"];
    // S-12: forged annotations are stripped.
    EXPECT_TRUE(same_pod || counts_zero(pod) || forged(pod))
        << pod["metadata"] << Json::diff(normal(theirs), normal(ours.after));
  }
  std::printf(
      "webhook: %d reviews, same verdict %d, same words %d; of %d admitted pods equal after the "
      "patch %d; explained: "
      "count 0 (case 39) %d, forged annotations (S-12) %d\n",
      reviews, verdicts, messages, allowed, pods, by_zero, by_forged);
  EXPECT_GE(verdicts, 197);
  EXPECT_GE(pods, 129);
}

}  // namespace
}  // namespace tessera::golden
