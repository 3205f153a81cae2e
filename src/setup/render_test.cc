#include "setup/render.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>

#include "json/reader.h"
#include "setup/check.h"
#include "setup/setup_test_samples.h"
#include "vendors/config.h"

namespace tessera::setup {
namespace {

std::string rendered(const RenderOptions& options) {
  const Result<std::string> text = render_scheduler_config(options);
  EXPECT_TRUE(text) << (text ? "" : text.error().what);
  return text.value_or("");
}

std::vector<OfferedResource> every_vendor() {
  auto config = vendors::parse_device_config(vendors::default_device_config(),
                                             {.ascend = true, .iluvatar = true});
  EXPECT_TRUE(config.faults.empty());
  const auto vendors = vendors::Vendors::make(std::move(config.config));
  EXPECT_TRUE(vendors);
  return resources_of(*vendors);
}

TEST(Render, TheWholeFileOfToday) {
  RenderOptions options = sample_options(36, Answer::kScored);
  options.url = "https://127.0.0.1:8443";
  options.ca_file = "/tls/ca.crt";
  options.preempt = true;
  options.offer.leader_elect = true;
  options.offer.lease_name = "hami-scheduler";
  options.offer.lease_namespace = "kube-system";
  options.offer.resources.resize(2);
  EXPECT_EQ(
      rendered(options),
      R"(# kube-scheduler 1.36 beside tessera serve --answer=scored --scheduler-name=hami-scheduler --leader-elect --leader-elect-resource-name=hami-scheduler --leader-elect-resource-namespace=kube-system
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceName: hami-scheduler
  resourceNamespace: kube-system
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 2
profiles:
- schedulerName: hami-scheduler
extenders:
- urlPrefix: "https://127.0.0.1:8443"
  enableHTTPS: true
  tlsConfig:
    caFile: /tls/ca.crt
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 5
  bindVerb: bind
  preemptVerb: preempt
  nodeCacheCapable: true
  httpTimeout: 30s
  ignorable: false
  managedResources:
  - name: example.com/card
    ignoredByScheduler: true
  - name: example.com/memory
    ignoredByScheduler: true
)");
}

// Case 171.
TEST(Render, ALegacyPolicyForOldClusters) {
  RenderOptions options = sample_options(18);
  options.offer.resources.resize(2);
  EXPECT_EQ(rendered(options), R"({
  "kind": "Policy",
  "apiVersion": "v1",
  "extenders": [{
    "urlPrefix": "http://127.0.0.1:8080",
    "enableHttps": false,
    "filterVerb": "filter",
    "bindVerb": "bind",
    "nodeCacheCapable": true,
    "httpTimeout": 30000000000,
    "ignorable": false,
    "managedResources": [
      {"name": "example.com/card", "ignoredByScheduler": true},
      {"name": "example.com/memory", "ignoredByScheduler": true}
    ]
  }]
}
)");
  EXPECT_EQ(flags_beside_policy(options),
            "--policy-config-file=FILE --scheduler-name=hami-scheduler --leader-elect=false");
  options.offer.leader_elect = true;
  options.offer.lease_name = "l";
  options.offer.lease_namespace = "n";
  EXPECT_EQ(flags_beside_policy(options),
            "--policy-config-file=FILE --scheduler-name=hami-scheduler --leader-elect=true "
            "--leader-elect-resource-name=l --leader-elect-resource-namespace=n "
            "--leader-elect-resource-lock=leases");
  EXPECT_EQ(flags_beside_policy(sample_options(19)), "");
}

/// The fields that the published types of each version have, as far as we write any; a test of its
/// own, so that a field added to the writer must be looked up here.
const std::set<std::string> kKnownFile = {"apiVersion",
                                          "kind",
                                          "clientConnection",
                                          "leaderElection",
                                          "percentageOfNodesToScore",
                                          "podInitialBackoffSeconds",
                                          "podMaxBackoffSeconds",
                                          "profiles",
                                          "extenders"};
const std::set<std::string> kKnownPolicy = {"apiVersion", "kind", "extenders"};
std::set<std::string> known_extender(bool policy) {
  return {"urlPrefix",   "filterVerb",  "prioritizeVerb",   "weight",
          "bindVerb",    "preemptVerb", "tlsConfig",        "nodeCacheCapable",
          "httpTimeout", "ignorable",   "managedResources", policy ? "enableHttps" : "enableHTTPS"};
}

std::set<std::string> keys_of(const YAML::Node& map) {
  std::set<std::string> keys;
  for (const auto& member : map) keys.insert(member.first.Scalar());
  return keys;
}

bool within(const std::set<std::string>& some, const std::set<std::string>& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

struct Combination {
  int minor;
  Answer answer;
  bool https, preempt, elects;
};
std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (int minor = kOldestMinor; minor <= kTestedMinor + 1; ++minor) {
    for (const Answer answer : {Answer::kSingle, Answer::kScored}) {
      for (int bits = 0; bits < 8; ++bits)
        all.push_back({minor, answer, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
    }
  }
  return all;
}

RenderOptions options_of(const Combination& c) {
  RenderOptions options = sample_options(c.minor, c.answer);
  options.offer.resources = every_vendor();
  options.kubeconfig = "/etc/kubernetes/scheduler.conf";
  options.preempt = c.preempt;
  if (c.https) options.url = "https://127.0.0.1:8443", options.ca_file = "/tls/ca.crt";
  if (c.elects) {
    options.offer.leader_elect = true;
    options.offer.lease_name = "hami-scheduler";
    options.offer.lease_namespace = "kube-system";
  }
  return options;
}

TEST(Render, WhatIsRenderedHasNoFindingAndOnlyDocumentedFields) {
  for (const Combination& c : combinations()) {
    const RenderOptions options = options_of(c);
    const std::string text = rendered(options);
    for (const Finding& f : check_scheduler_config(text, options.offer))
      ADD_FAILURE() << "1." << c.minor << ": " << f.text() << "\n" << text;
    const YAML::Node file = YAML::Load(text);
    const bool policy = c.minor < 19;
    EXPECT_TRUE(within(keys_of(file), policy ? kKnownPolicy : kKnownFile)) << text;
    ASSERT_EQ(file["extenders"].size(), 1U);
    EXPECT_TRUE(within(keys_of(file["extenders"][0]), known_extender(policy))) << text;
    EXPECT_EQ(file["extenders"][0]["preemptVerb"].IsDefined(), c.preempt);
    EXPECT_EQ(file["extenders"][0]["prioritizeVerb"].IsDefined(), c.answer == Answer::kScored);
    if (policy) {
      json::Parser parser;
      EXPECT_TRUE(parser.parse(text)) << text;
    }
  }
}

// Cases 170 and 171: all names of all vendors, each once, none counted by kube-scheduler.
TEST(Render, EveryResourceOfEveryVendorOnce) {
  RenderOptions options = sample_options();
  options.offer.resources = every_vendor();
  const YAML::Node file = YAML::Load(rendered(options));
  std::map<std::string, int> names;
  for (const YAML::Node& managed : file["extenders"][0]["managedResources"]) {
    ++names[managed["name"].Scalar()];
    EXPECT_EQ(managed["ignoredByScheduler"].Scalar(), "true");
  }
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
  EXPECT_EQ(names.size(), options.offer.resources.size());
  for (const char* name :
       {"nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage",
        "nvidia.com/gpucores", "nvidia.com/priority", "kunlunxin.com/xpu", "kunlunxin.com/vxpu",
        "kunlunxin.com/vxpu-memory", "huawei.com/Ascend910B3", "huawei.com/Ascend910B3-memory"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

// Case 170: two chips of one name in the device configuration.
TEST(Render, TwoChipsThatShareANameAreOneResource) {
  auto config = vendors::parse_device_config(R"(
vnpus:
  configs:
  - {chipName: 910B3, commonWord: Ascend910B3, resourceName: huawei.com/npu, resourceMemoryName: huawei.com/npu-memory, memoryAllocatable: 65536}
  - {chipName: 910B4, commonWord: Ascend910B4, resourceName: huawei.com/npu, resourceMemoryName: huawei.com/npu-memory, memoryAllocatable: 32768}
)",
                                             {.ascend = true});
  for (const auto& fault : config.faults) ADD_FAILURE() << fault.text();
  const auto vendors = vendors::Vendors::make(std::move(config.config));
  ASSERT_TRUE(vendors);
  ASSERT_EQ(vendors->all().size(), 2U);
  RenderOptions options = sample_options();
  options.offer.resources = resources_of(*vendors);
  const std::string text = rendered(options);
  const auto first = text.find("name: huawei.com/npu\n");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("name: huawei.com/npu\n", first + 1), std::string::npos) << text;
  EXPECT_NE(text.find("name: huawei.com/npu-memory\n"), std::string::npos) << text;
}

TEST(Render, TheTimeoutOutlastsTheWaitForALock) {
  const struct {
    int wait_ms, seconds;
  } rows[] = {{0, 30}, {5'000, 30}, {28'000, 30}, {28'001, 31}, {60'000, 62}, {300'000, 302}};
  for (const auto& row : rows) {
    RenderOptions options = sample_options();
    options.offer.lock_wait = std::chrono::milliseconds(row.wait_ms);
    EXPECT_EQ(timeout_for(options.offer.lock_wait).count(), row.seconds) << row.wait_ms;
    EXPECT_NE(rendered(options).find("httpTimeout: " + std::to_string(row.seconds) + "s\n"),
              std::string::npos);
  }
}

TEST(Render, ForTheLabelPriorityExtender) {
  RenderOptions options = sample_options();
  options.offer.program = Program::kLabelPriority;
  const std::string text = rendered(options);
  const YAML::Node extender = YAML::Load(text)["extenders"][0];
  EXPECT_FALSE(extender["managedResources"].IsDefined()) << "every pod of the profile";
  EXPECT_EQ(extender["prioritizeVerb"].Scalar(), "prioritize");
  EXPECT_EQ(extender["weight"].Scalar(), "1");
  for (const Finding& f : check_scheduler_config(text, options.offer))
    ADD_FAILURE() << f.text() << "\n" << text;
}

TEST(Render, TextsThatYamlWouldTakeForSomethingElseAreQuoted) {
  RenderOptions options = sample_options();
  options.offer.scheduler_name = "on";
  options.kubeconfig = "/a b: #c\"d";
  const YAML::Node file = YAML::Load(rendered(options));
  EXPECT_EQ(file["profiles"][0]["schedulerName"].Scalar(), "on");
  EXPECT_EQ(file["profiles"][0]["schedulerName"].Tag(), "!");
  EXPECT_EQ(file["clientConnection"]["kubeconfig"].Scalar(), "/a b: #c\"d");
}

struct WrongRow {
  void (*spoil)(RenderOptions& options);
  const char* words;
};
TEST(Render, OptionsThatDoNotGoTogether) {
  const WrongRow rows[] = {
      {[](RenderOptions& o) { o.kube_minor = 15; }, "--kube-version: 1.15 is older than 1.16"},
      {[](RenderOptions& o) { o.url = "127.0.0.1:80"; }, "--url: \"127.0.0.1:80\""},
      {[](RenderOptions& o) { o.url = "http://"; }, "--url: \"http://\" names no host"},
      {[](RenderOptions& o) { o.url = "https://a"; }, "--tls-ca FILE"},
      {[](RenderOptions& o) { o.ca_file = "/ca"; }, "--tls-ca: --url is plain http"},
      {[](RenderOptions& o) { o.insecure = true; }, "--insecure: --url is plain http"},
      {[](RenderOptions& o) { o.url = "https://a", o.insecure = true, o.ca_file = "/ca"; },
       "--insecure: given with --tls-ca"},
      {[](RenderOptions& o) { o.offer.scheduler_name = ""; }, "--scheduler-name: \"\""},
      {[](RenderOptions& o) { o.offer.scheduler_name = "a\nb: c"; }, "--scheduler-name"},
      {[](RenderOptions& o) { o.offer.leader_elect = true; }, "--leader-elect-resource-name"},
      {[](RenderOptions& o) { o.offer.leader_elect = true, o.offer.lease_name = "l"; },
       "--leader-elect-resource-namespace"},
      {[](RenderOptions& o) { o.offer.program = Program::kLabelPriority, o.preempt = true; },
       "--preempt: tessera label-priority serves no such call"},
      {[](RenderOptions& o) { o.offer.resources.clear(); }, "names no resource"},
  };
  for (const WrongRow& row : rows) {
    RenderOptions options = sample_options();
    row.spoil(options);
    const Result<std::string> text = render_scheduler_config(options);
    ASSERT_FALSE(text) << row.words;
    EXPECT_NE(text.error().what.find(row.words), std::string::npos) << text.error().what;
  }
}

}  // namespace
}  // namespace tessera::setup
