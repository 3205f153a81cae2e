// The webhook as kube-apiserver sees it: a review goes in, the patch of the answer is applied to
// the raw pod by an independent JSON library and compared as a whole, so a field that changed
// without need is a failure.
#include "service/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "service/webhook_test_reviews.h"

namespace tessera::service {
namespace {

using namespace webhook_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- what is changed

TEST(Webhook, CompletesADevicePodAndTouchesNothingElse) {
  Json before =
      pod({{"containers",
            {{{"name", "c0"},
              {"futureField", {{"a", nullptr}}},
              {"resources",
               {{"limits", {{"nvidia.com/gpu", "1"}, {"cpu", 2}}}, {"claims", Json::array()}}}},
             {{"name", "c1"}}}},
           {"initContainers", {container("i0", {{"nvidia.com/gpumem", "1k"}})}},
           {"schedulerName", "default-scheduler"},
           {"fieldOfANewerKubernetes", {1, 2}}},
          {{"annotations", Json::object()}, {"labels", {{"app", "x"}}}});
  const Answer got = ask(before);
  EXPECT_TRUE(got.allowed);
  EXPECT_EQ(got.code, 200);
  Json want = before;
  want["spec"]["schedulerName"] = "hami-scheduler";
  want["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpucores"] = "100";
  want["spec"]["initContainers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "1";
  EXPECT_EQ(before.patch(got.patch), want);
  EXPECT_EQ(got.patch.size(), 3u);
}

TEST(Webhook, SetsTheSchedulerNameWhereThereIsNone) {
  for (const Json& name : {Json(), Json(""), Json("default-scheduler")}) {
    Json before = gpu_pod();
    if (!name.is_null()) before["spec"]["schedulerName"] = name;
    Json want = before;
    want["spec"]["schedulerName"] = "hami-scheduler";
    EXPECT_EQ(before.patch(ask(before).patch), want) << name;
  }
}

TEST(Webhook, CreatesParentsOnlyWhereTheyAreAbsent) {
  Json before =
      pod({{"containers",
            {{{"name", "none"}, {"resources", {{"requests", {{"nvidia.com/gpu", "1"}}}}}},
             {{"name", "null"},
              {"resources", {{"limits", nullptr}, {"requests", {{"nvidia.com/gpu", "1"}}}}}},
             {{"name", "env"}, {"env", {{{"name", "A"}, {"value", "b"}}}}},
             {{"name", "no-env"}},
             {{"name", "empty-env"}, {"env", Json::array()}}}}});
  Json want = before;
  Json& containers = want["spec"]["containers"];
  const Json force = {{"name", "GPU_CORE_UTILIZATION_POLICY"}, {"value", "force"}};
  const Json hide = {{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "none"}};
  for (int i : {0, 1}) {
    containers[i]["resources"]["limits"] = {{"nvidia.com/gpucores", "100"}};
    containers[i]["env"] = {force};
  }
  containers[2]["env"].push_back(force);
  containers[2]["env"].push_back(hide);
  containers[3]["env"] = {force, hide};
  containers[4]["env"] = {force, hide};
  want["spec"]["schedulerName"] = "hami-scheduler";
  const Answer got = ask(before, kOptions, "env");
  EXPECT_EQ(before.patch(got.patch), want);
}

TEST(Webhook, CalledAgainForItsOwnResultItChangesNothing) {
  const Json before =
      pod({{"containers",
            {container("c0", {{"nvidia.com/gpu", "1"}, {"nvidia.com/priority", "0"}}),
             container("c1", {{"nvidia.com/gpumem", "1000"}}),
             {{"name", "plain"}, {"env", Json::array()}}}}});
  const Json after = before.patch(ask(before, kOptions, "env").patch);
  EXPECT_NE(after, before);
  EXPECT_THAT(ask(after, kOptions, "env").patch, IsEmpty());
}

TEST(Webhook, AUsersEnvironmentIsOverriddenByALaterEntry) {
  Json before = pod(
      {{"containers", {container("c0", {{"nvidia.com/gpu", "1"}, {"nvidia.com/priority", "1"}})}}});
  before["spec"]["containers"][0]["env"] = {{{"name", "CUDA_TASK_PRIORITY"}, {"value", "0"}}};
  const Json after = before.patch(ask(before).patch);
  EXPECT_EQ(after["spec"]["containers"][0]["env"][1],
            Json({{"name", "CUDA_TASK_PRIORITY"}, {"value", "1"}}));
}

TEST(Webhook, Case107RuntimeClassOnlyWhereAPodOfDevicesHasNone) {
  Json plain = gpu_pod();
  Json want = plain;
  want["spec"]["schedulerName"] = "hami-scheduler";
  want["spec"]["runtimeClassName"] = "accelerated";
  EXPECT_EQ(plain.patch(ask(plain, kOptions, "runtime").patch), want);
  const Json kata = gpu_pod({{"runtimeClassName", "kata"}});
  EXPECT_EQ(kata.patch(ask(kata, kOptions, "runtime").patch)["spec"]["runtimeClassName"], "kata");
  EXPECT_THAT(
      ask(pod({{"containers", {container("c", {{"cpu", "1"}})}}}), kOptions, "runtime").patch,
      IsEmpty());
}

TEST(Webhook, Case39CountZeroIsAPlainPod) {
  const Answer got =
      ask(pod({{"containers", {container("c", {{"nvidia.com/gpu", "0"}, {"cpu", "1"}})}}}),
          kOptions, "runtime");
  EXPECT_TRUE(got.allowed);
  EXPECT_THAT(got.patch, IsEmpty());
}

TEST(Webhook, Case56InitOnlyRequest) {
  Json before = pod({{"initContainers", {container("i", {{"nvidia.com/gpumem", "1000"}})}},
                     {"containers", {{{"name", "c"}}}}});
  Json want = before;
  want["spec"]["schedulerName"] = "hami-scheduler";
  want["spec"]["initContainers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "1";
  EXPECT_EQ(before.patch(ask(before).patch), want);
}

TEST(Webhook, Case93ForgedKeysAreStrippedFromEveryPod) {
  const Json forged = {{"annotations",
                        {{"hami.io/vgpu-node", "n1"},
                         {"hami.io/vgpu-devices-allocated", "GPU-0,NVIDIA,24576,100:;"},
                         {"tessera.io/a~b", "x"},
                         {"hami.io/gpu-scheduler-policy", "binpack"},
                         {"team.example/note", "stays"}}},
                       {"labels", {{"hami.io/vgpu-node", "n1"}, {"hami.io/webhook", "x"}}}};
  for (const Json& spec : {Json{{"containers", {{{"name", "c"}}}}},
                           Json{{"containers", {{{"name", "c"}}}}, {"schedulerName", "other"}},
                           Json{{"containers", {container("c", {{"nvidia.com/gpu", "1"}})}},
                                {"schedulerName", "other"}}}) {
    Json before = pod(spec, forged);
    Json want = before;
    want["metadata"]["annotations"] = {{"hami.io/gpu-scheduler-policy", "binpack"},
                                       {"team.example/note", "stays"}};
    want["metadata"]["labels"] = {{"hami.io/webhook", "x"}};
    const Answer got = ask(before);
    EXPECT_TRUE(got.allowed);
    EXPECT_EQ(before.patch(got.patch), want);
    EXPECT_THAT(got.warnings,
                testing::Contains("hami.io/vgpu-node is written by the scheduler only: removed"));
  }
}

// ---- whose pod it is (E22, case 96)

struct OwnerCase {
  std::string_view name;
  Json scheduler;
  WebhookOptions options;
  bool ours;
  std::size_t warnings;
};

TEST(Webhook, Case96SchedulerNameRules) {
  const WebhookOptions keep{"hami-scheduler", false}, nameless{"", true};
  const OwnerCase cases[] = {
      {"none", nullptr, kOptions, true, 0},
      {"none, force off", nullptr, keep, true, 0},
      {"default", "default-scheduler", kOptions, true, 0},
      {"E22 f: default, force off", "default-scheduler", keep, false, 1},
      {"ours", "hami-scheduler", keep, true, 0},
      {"E22 c: another", "volcano", kOptions, false, 0},
      {"no name of ours: any set name is another's", "hami-scheduler", nameless, false, 0},
  };
  for (const OwnerCase& c : cases) {
    Json before = pod({{"containers", {container("c", {{"nvidia.com/gpu", "1"}})}}});
    if (!c.scheduler.is_null()) before["spec"]["schedulerName"] = c.scheduler;
    const Answer got = ask(before, c.options);
    EXPECT_TRUE(got.allowed) << c.name;
    EXPECT_EQ(got.message, c.ours ? "" : "pod already has different scheduler assigned") << c.name;
    EXPECT_EQ(!got.patch.empty(), c.ours) << c.name;
    EXPECT_EQ(got.warnings.size(), c.warnings) << c.name;
  }
}

TEST(Webhook, WithoutASchedulerNameThePodIsCompletedButNotMoved) {
  Json before = gpu_pod({{"nodeName", "n1"}});
  before["spec"]["containers"][0]["resources"]["limits"].erase("nvidia.com/gpumem");
  const Answer got = ask(before, {"", true});
  EXPECT_TRUE(got.allowed);
  const Json after = before.patch(got.patch);
  EXPECT_FALSE(after["spec"].contains("schedulerName"));
  EXPECT_EQ(after["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpucores"], "100");
}

TEST(Webhook, E22APlainPodStaysAsItIs) {
  const Answer got = ask(pod({{"containers", {{{"name", "c"}}}},
                              {"schedulerName", "default-scheduler"},
                              {"nodeName", "n1"}}));
  EXPECT_TRUE(got.allowed);
  EXPECT_EQ(got.message, "");
  EXPECT_THAT(got.patch, IsEmpty());
}

TEST(Webhook, OnlyCreationIsReviewed) {
  const Answer got = ask_text(review_of(gpu_pod(), "v1", "UPDATE").dump(), vendors_of(), kOptions);
  EXPECT_TRUE(got.allowed);
  EXPECT_THAT(got.patch, IsEmpty());
}

// ---- denials

struct DenyCase {
  std::string_view name;
  Json object;
  int code;
  std::string_view message;
};

const Json kPrivileged = {{"privileged", true}};

Json with_privileged(const std::string& list, bool device) {
  Json p = device ? gpu_pod() : pod({{"containers", {{{"name", "c0"}}}}});
  p["spec"][list].push_back({{"name", "root"}, {"securityContext", kPrivileged}});
  return p;
}

TEST(Webhook, DenialsNameTheReason) {
  Json both = with_privileged("containers", true);
  both["spec"]["nodeName"] = "n1";
  const DenyCase cases[] = {
      {"no containers (case 102)", pod({{"containers", Json::array()}}), 403,
       "pod has no containers"},
      {"only init containers", pod({{"initContainers", {{{"name", "i"}}}}}), 403,
       "pod has no containers"},
      {"null object (case 102)", nullptr, 400, "there is no content to decode"},
      {"another kind (case 102)",
       {{"kind", "Deployment"}, {"spec", Json::object()}},
       400,
       "object kind Deployment: a Pod is expected"},
      {"a text for an object", "pod", 400, "pod: expected an object"},
      {"privileged app (case 92a)", with_privileged("containers", true), 403,
       "container root is privileged"},
      {"privileged init (case 92b)", with_privileged("initContainers", true), 403,
       "container root is privileged"},
      {"assigned (case 97)", gpu_pod({{"nodeName", "n1"}}), 403, "pod has node assigned"},
      {"privileged comes before assigned (15.1)", both, 403, "container root is privileged"},
      {"percentage (case 33)",
       pod({{"containers", {container("w", {{"nvidia.com/gpumem-percentage", "150"}})}}}), 403,
       "invalid nvidia.com/gpumem-percentage value 150 in container w: must be an integer between "
       "0 and 100"},
      {"bytes (D7)",
       pod({{"containers",
             {container("w", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "16Gi"}})}}}),
       403,
       R"(container w: nvidia.com/gpumem: "16Gi" has a unit suffix, but the resource counts MiB: write 16384)"},
      {"fraction (case 38)", pod({{"containers", {container("w", {{"nvidia.com/gpu", "1.5"}})}}}),
       403, R"(container w: nvidia.com/gpu: "1.5" is not a whole number: write 2)"},
      {"a number, not a text", pod({{"containers", {container("w", {{"nvidia.com/gpu", -1}})}}}),
       403, R"(container w: nvidia.com/gpu: "-1" is negative: write a whole number from 0)"},
  };
  for (const DenyCase& c : cases) {
    const Answer got = ask(c.object);
    EXPECT_FALSE(got.allowed) << c.name;
    EXPECT_EQ(got.code, c.code) << c.name;
    EXPECT_THAT(got.message, HasSubstr(std::string(c.message))) << c.name;
    EXPECT_THAT(got.patch, IsEmpty()) << c.name;
    EXPECT_EQ(got.review["response"]["uid"], "u-1") << c.name;
  }
}

TEST(Webhook, Case92cAPrivilegedPodWithoutDevicesIsNoneOfOurBusiness) {
  const Answer got = ask(with_privileged("containers", false));
  EXPECT_TRUE(got.allowed);
  EXPECT_THAT(got.patch, IsEmpty());
}

TEST(Webhook, Case97APlainPodMayHaveANode) {
  EXPECT_TRUE(ask(pod({{"containers", {{{"name", "c"}}}}, {"nodeName", "n1"}})).allowed);
}

// ---- transport

TEST(Webhook, BothVersionsAreAnsweredInKind) {
  for (const std::string version : {"v1", "v1beta1"}) {
    const Answer got = ask_text(review_of(gpu_pod(), version).dump(), vendors_of(), kOptions);
    EXPECT_EQ(got.review["apiVersion"], "admission.k8s.io/" + version);
    EXPECT_EQ(got.review["kind"], "AdmissionReview");
    EXPECT_EQ(got.review["response"]["uid"], "u-1");
    EXPECT_EQ(got.review["response"]["patchType"], "JSONPatch");
  }
}

TEST(Webhook, AnyJsonContentTypeIsRead) {
  const std::string body = review_of(gpu_pod()).dump();
  for (const auto* type : {"application/json", "application/json; charset=utf-8",
                           "Application/JSON ;x=y", "application/vnd.k8s+json"}) {
    EXPECT_TRUE(ask_text(body, vendors_of(), kOptions, type).allowed) << type;
  }
  for (const auto* type : {"", "text/plain", "application/jsonp", "application/yaml", "+json"}) {
    const Answer got = ask_text(body, vendors_of(), kOptions, type);
    EXPECT_FALSE(got.allowed) << type;
    EXPECT_EQ(got.code, 400) << type;
    EXPECT_EQ(got.message, "contentType=" + std::string(type) + ", expected application/json");
  }
}

TEST(Webhook, WhatIsNoReviewIsDeniedWithWords) {
  Json no_uid = review_of(gpu_pod());
  no_uid["request"].erase("uid");
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
        std::string(R"({"apiVersion":"v1","kind":"Pod"})"), no_uid.dump(), std::string(200, '[')}) {
    const Answer got = ask_text(body, vendors_of(), kOptions);
    EXPECT_FALSE(got.allowed) << body;
    EXPECT_EQ(got.code, 400) << body;
    EXPECT_FALSE(got.message.empty()) << body;
  }
}

TEST(Webhook, WarningsAreBounded) {
  Json annotations;
  for (int i = 0; i < 100; ++i)
    annotations["tessera.io/" + std::string(300, 'k') + std::to_string(i)] = "x";
  const Answer got = ask(pod({{"containers", {{{"name", "c"}}}}}, {{"annotations", annotations}}));
  EXPECT_LE(got.warnings.size(), 15u);
  for (const std::string& warning : got.warnings) EXPECT_LE(warning.size(), 256u);
  EXPECT_EQ(got.patch.size(), 100u);
}

}  // namespace
}  // namespace tessera::service
