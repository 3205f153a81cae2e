// Plays the 200 recorded admission reviews: verdict, words and the pod after the patch must agree
// but for those that docs/differences-golden.txt names, and those must differ.
#include "service/webhook.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

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

/// HAMi's words, then ours: the field's path and the fix (issue of the webhook, differences.md).
bool same_words_first(const std::string& ours, const std::string& theirs) {
  return ours == theirs || (!theirs.empty() && ours.starts_with(theirs + ": "));
}

/// Whether a rule of docs/differences.md, section Webhook, can be what makes a pod differ.
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

bool opted_out(const Json& pod) {
  const Json& labels = pod["metadata"].value("labels", Json::object());
  return labels.value("hami.io/webhook", "") == "ignore";
}

std::string rule_for(const Json& pod) {
  if (opted_out(pod)) return "case-103";
  if (counts_zero(pod)) return "case-39";
  return forged(pod) ? "S-12" : "none";
}

/// Review (by its line in the file: many pods have no name yet) -> what differs ("verdict",
/// "words", "pod") and the rule, from the list.
using Listed = std::map<std::string, std::map<std::string, std::string>>;

Listed read_listed() {
  Listed listed;
  std::ifstream in(TESSERA_SOURCE_DIR "/docs/differences-golden.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string id, what, rule;
    if (line.starts_with("webhook-") && words >> id >> what >> rule) listed[id][what] = rule;
  }
  return listed;
}

struct Difference {
  bool verdict = false, words = false, pod = false;
  std::string detail;
};

Difference compare(const Json& recorded, const Played& ours) {
  // HAMi sends no patch for a pod that it leaves alone; nothing was recorded then.
  const Json& theirs = recorded["after"].is_null() ? recorded["pod"] : recorded["after"];
  const bool allowed = recorded["allowed"].get<bool>();
  const auto message = recorded["message"].get<std::string>();
  Difference d;
  d.verdict = ours.allowed != allowed;
  d.words = !d.verdict && !same_words_first(ours.message, message);
  d.pod = !d.verdict && allowed && normal(ours.after) != normal(theirs);
  d.detail = "ours: " + ours.message + " HAMi: " + message;
  if (d.pod) d.detail += " " + Json::diff(normal(theirs), normal(ours.after)).dump();
  return d;
}

TEST(GoldenWebhook, AnswersAgreeButForTheListedOnes) {
  const auto table = *vendors::Vendors::make(
      vendors::parse_device_config(vendors::default_device_config()).config);
  Listed listed = read_listed();
  int reviews = 0, explained = 0;
  for (const Json& recorded : read_recorded("webhook.jsonl.gz")) {
    ++reviews;
    const Json& pod = recorded["pod"];
    const std::string id = fmt::format("webhook-line-{:03}", reviews);
    const Difference d = compare(recorded, play(recorded, table));
    auto& rules = listed[id];
    explained += !rules.empty();
    const std::pair<const char*, bool> parts[] = {
        {"verdict", d.verdict}, {"words", d.words}, {"pod", d.pod}};
    for (const auto& [what, differs] : parts) {
      EXPECT_EQ(differs, rules.contains(what))
          << id << " " << what << " " << rule_for(pod) << ": " << d.detail;
      const auto rule = rules.find(what);
      EXPECT_EQ(rule == rules.end() ? rule_for(pod) : rule->second, rule_for(pod)) << id;
      rules.erase(what);
    }
    EXPECT_TRUE(rules.empty()) << id << ": unknown word " << rules.begin()->first;
    listed.erase(id);
  }
  for (const auto& [id, rules] : listed) ADD_FAILURE() << id << " is listed but not recorded";
  std::printf("webhook: %d reviews, %d of them explained by a rule, all others equal\n", reviews,
              explained);
  EXPECT_EQ(reviews, 200);
}

}  // namespace
}  // namespace tessera::golden
