#include "setup/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "setup/setup_test_samples.h"

namespace tessera::setup {
namespace {

std::string lines_of(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) out += f.text() + "\n";
  return out;
}

/// One change to a file that is in order, and the one finding that it makes.
struct Row {
  const char* from;
  const char* to;
  Severity severity;
  int line;
  const char* path;
  const char* words;    ///< part of what happens
  const char* instead;  ///< part of what to write
};

/// Every row is checked on its own; nothing else may be found.
void expect_one(const std::string& sample, const Offer& offer, const Row& row) {
  const std::string text = with(sample, row.from, row.to);
  ASSERT_FALSE(text.empty()) << "no such text in the sample: " << row.from;
  const std::vector<Finding> findings = check_scheduler_config(text, offer);
  ASSERT_EQ(findings.size(), 1U) << row.to << "\n" << lines_of(findings);
  const Finding& f = findings.front();
  EXPECT_EQ(word(f.severity), word(row.severity)) << f.text();
  EXPECT_EQ(f.line, row.line) << f.text();
  EXPECT_EQ(f.path, row.path) << f.text();
  EXPECT_NE(f.what.find(row.words), std::string::npos) << f.text();
  EXPECT_NE(f.instead.find(row.instead), std::string::npos) << f.text();
}

TEST(CheckSchedulerConfig, WhatIsInOrderHasNoFinding) {
  EXPECT_EQ(lines_of(check_scheduler_config(kSample, sample_offer())), "");
  Offer old = sample_offer();
  old.kube_minor = 20;
  EXPECT_EQ(lines_of(check_scheduler_config(kSamplePolicy, old)), "");
}

constexpr Severity E = Severity::kError, W = Severity::kWarning, H = Severity::kHint;

TEST(CheckSchedulerConfig, Verbs) {
  const Row rows[] = {
      {"filterVerb: filter", "filterVerb: filtr", E, 12, "extenders[0].filterVerb", "code 404",
       "filterVerb: filter"},
      {"filterVerb: filter", "filterVerb: /filter", E, 12, "extenders[0].filterVerb", "code 404",
       "filterVerb: filter"},
      {"filterVerb: filter", "filterVerb: Filter", E, 12, "extenders[0].filterVerb", "Pending",
       "filterVerb: filter"},
      {"filterVerb: filter\n", "filterVerb:\n", E, 12, "extenders[0].filterVerb",
       "without looking at devices", "filterVerb: filter"},
      {"  filterVerb: filter\n", "", E, 11, "extenders[0].filterVerb", "missing",
       "filterVerb: filter"},
      {"bindVerb: bind", "bindVerb: binding", E, 13, "extenders[0].bindVerb", "code 404",
       "bindVerb: bind"},
      {"  bindVerb: bind\n", "", E, 11, "extenders[0].bindVerb", "no device is written",
       "bindVerb: bind"},
      {"bindVerb: bind", "bindVerb: bind\n  preemptVerb: preemption", E, 14,
       "extenders[0].preemptVerb", "only /preempt", "preemptVerb: preempt"},
      {"bindVerb: bind", "bindVerb: bind\n  weight: 5\n  prioritizeVerb: priorities", E, 15,
       "extenders[0].prioritizeVerb", "/prioritize and /priority", "prioritizeVerb: prioritize"},
      {"bindVerb: bind", "bindVerb: bind\n  weight: 5\n  prioritizeVerb: scores", E, 15,
       "extenders[0].prioritizeVerb", "drops the scores", "prioritizeVerb: prioritize"},
      {"bindVerb: bind", "bindVerb: bind\n  weight: 5\n  prioritizeVerb: prioritize", H, 15,
       "extenders[0].prioritizeVerb", "never called", ""},
  };
  for (const Row& row : rows) expect_one(kSample, sample_offer(), row);
  EXPECT_EQ(lines_of(check_scheduler_config(
                with(kSample, "bindVerb: bind", "bindVerb: bind\n  preemptVerb: preempt"),
                sample_offer())),
            "");
}

TEST(CheckSchedulerConfig, TheVerbOfScoresInScoredMode) {
  Offer offer = sample_offer();
  offer.answer = Answer::kScored;
  const Row rows[] = {
      {"bindVerb: bind", "bindVerb: bind", E, 11, "extenders[0].prioritizeVerb", "decides nothing",
       "weight: 5"},
      {"bindVerb: bind", "bindVerb: bind\n  weight: 5\n  prioritizeVerb: prioritise", E, 15,
       "extenders[0].prioritizeVerb", "without an event", "prioritizeVerb: prioritize"},
      {"bindVerb: bind", "bindVerb: bind\n  prioritizeVerb: priority", E, 14, "extenders[0].weight",
       "refuses", "weight: 5"},
      {"bindVerb: bind", "bindVerb: bind\n  weight: 0\n  prioritizeVerb: priority", E, 14,
       "extenders[0].weight", "refuses", "weight: 5"},
  };
  for (const Row& row : rows) expect_one(kSample, offer, row);
  for (const char* served : {"priority", "prioritize"}) {
    const std::string text =
        with(kSample, "bindVerb: bind",
             std::string("bindVerb: bind\n  weight: 5\n  prioritizeVerb: ") + served);
    EXPECT_EQ(lines_of(check_scheduler_config(text, offer)), "") << served;
  }
}

TEST(CheckSchedulerConfig, HamisOwnProgramServesNoScores) {
  Offer offer = sample_offer();
  offer.program = Program::kHami;
  for (const char* verb : {"priority", "prioritize"}) {
    const std::string to = std::string("bindVerb: bind\n  weight: 1\n  prioritizeVerb: ") + verb;
    expect_one(kSample, offer,
               {"bindVerb: bind", to.c_str(), E, 15, "extenders[0].prioritizeVerb", "no such call",
                "leave prioritizeVerb out"});
  }
  EXPECT_EQ(lines_of(check_scheduler_config(kSample, offer)), "");
}

TEST(CheckSchedulerConfig, Resources) {
  const char* const list = "extenders[0].managedResources";
  const Row rows[] = {
      {"  - {name: example.com/memory, ignoredByScheduler: true}\n", "", E, 16, list,
       "missing: example.com/memory. Nodes have no capacity",
       "{name: example.com/memory, ignoredByScheduler: true}"},
      {"  - {name: example.com/card, ignoredByScheduler: true}\n", "", E, 16, list,
       "missing: example.com/card. A pod that asks for nothing else", "example.com/card"},
      {"example.com/card, ignoredByScheduler: true", "example.com/card", W, 17,
       "extenders[0].managedResources[0].ignoredByScheduler", "by its own rules",
       "ignoredByScheduler: true"},
      {"example.com/memory, ignoredByScheduler: true",
       "example.com/memory, ignoredByScheduler: false", E, 18,
       "extenders[0].managedResources[1].ignoredByScheduler", "Insufficient",
       "ignoredByScheduler: true"},
      {"  - {name: other",
       "  - {name: third.example/x, ignoredByScheduler: true}\n  - {name: other", W, 20, list,
       "no vendor of the device configuration has third.example/x", ""},
      {"  - {name: other",
       "  - {name: example.com/mamory, ignoredByScheduler: true}\n  - {name: other", W, 20, list,
       "meant: example.com/memory", ""},
      // Case 170: a name given twice.
      {"  - {name: other",
       "  - {name: example.com/cores, ignoredByScheduler: true}\n  - {name: other", E, 20,
       "extenders[0].managedResources[3].name", "first as extenders[0].managedResources[2]", ""},
      {"  - {name: other", "  - {name: cards}\n  - {name: other", E, 20,
       "extenders[0].managedResources[3].name", "domain/name", ""},
      {"  - {name: other", "  - {name: kubernetes.io/cards}\n  - {name: other", E, 20,
       "extenders[0].managedResources[3].name", "Kubernetes itself", ""},
      {"  - {name: other", "  - {name: requests.example.com/x}\n  - {name: other", E, 20,
       "extenders[0].managedResources[3].name", "requests.", ""},
      {"  - {name: other", "  - {ignoredByScheduler: true}\n  - {name: other", E, 20,
       "extenders[0].managedResources[3].name", "empty", ""},
  };
  for (const Row& row : rows) expect_one(kSample, sample_offer(), row);
  const std::string none = kSample.substr(0, kSample.find("  managedResources:"));
  expect_one(none, sample_offer(),
             {"extenders:", "extenders:", E, 11, list, "every pod of the cluster",
              "`tessera render scheduler-config`"});
}

TEST(CheckSchedulerConfig, SeveralExtenders) {
  const std::string second = R"(- urlPrefix: http://127.0.0.1:9000
  filterVerb: check
)";
  EXPECT_EQ(lines_of(check_scheduler_config(kSample + second, sample_offer())), "")
      << "somebody else's verbs are not ours to know";
  expect_one(kSample + second, sample_offer(),
             {"filterVerb: check", "bindVerb: put", E, 22, "extenders[1].bindVerb",
              "extenders[0] has one as well", "bindVerb"});
  expect_one(kSample + second, sample_offer(),
             {"filterVerb: check",
              "filterVerb: check\n  managedResources: [{name: a.b/c}, {name: "
              "example.com/card}]",
              E, 23, "extenders[1].managedResources[1].name",
              "first as extenders[0].managedResources[0]", ""});
  const std::string fewer =
      with(kSample, "  - {name: other.example/card, ignoredByScheduler: true}\n", "") + second;
  expect_one(fewer, sample_offer(),
             {"filterVerb: check", "managedResources: [{name: other.example/card}]", E, 16,
              "extenders[0].managedResources", "managed by extenders[1] instead", "not there"});
}

TEST(CheckSchedulerConfig, NoExtenderIsOurs) {
  const std::string head = kSample.substr(0, kSample.find("extenders:"));
  expect_one(head, sample_offer(),
             {"profiles:", "profiles:", E, 0, "extenders", "nobody gives them any",
              "`tessera render scheduler-config`"});
  expect_one(head + R"(extenders:
- {urlPrefix: "http://a", managedResources: [{name: a.b/c}]}
- {urlPrefix: "http://b", managedResources: [{name: a.b/d}]}
)",
             sample_offer(),
             {"profiles:", "profiles:", E, 10, "extenders", "no extender with our resources", ""});
}

TEST(CheckSchedulerConfig, CallsAndTheirTransport) {
  const Row rows[] = {
      {"nodeCacheCapable: true", "nodeCacheCapable: false", E, 14, "extenders[0].nodeCacheCapable",
       "nothing is reserved", "--nodes-form=live"},
      {"  nodeCacheCapable: true\n", "", E, 11, "extenders[0].nodeCacheCapable",
       "nothing is reserved", "nodeCacheCapable: true"},
      {"httpTimeout: 30s", "httpTimeout: 28s", W, 15, "extenders[0].httpTimeout", "up to 28s",
       "httpTimeout: 30s"},
      {"  httpTimeout: 30s\n", "", W, 11, "extenders[0].httpTimeout", "missing means 5s",
       "httpTimeout: 30s"},
      {"httpTimeout: 30s", "httpTimeout: 0s", W, 15, "extenders[0].httpTimeout", "missing means 5s",
       "httpTimeout: 30s"},
      {"httpTimeout: 30s", "httpTimeout: 30", E, 15, "extenders[0].httpTimeout", "a text like 30s",
       ""},
      {"httpTimeout: 30s", "httpTimeout: soon", E, 15, "extenders[0].httpTimeout",
       "a text like 30s", ""},
      {"httpTimeout: 30s", "httpTimeout: 30s\n  ignorable: true", E, 16, "extenders[0].ignorable",
       "without devices", "ignorable: false"},
      {"urlPrefix: http://127.0.0.1:8080", "urlPrefix: \"\"", E, 11, "extenders[0].urlPrefix",
       "nowhere to go", "urlPrefix: http://"},
      {"urlPrefix: http://127.0.0.1:8080", "urlPrefix: 127.0.0.1:8080", E, 11,
       "extenders[0].urlPrefix", "neither http:// nor https://", "urlPrefix: http://"},
      {"urlPrefix: http:", "enableHTTPS: true\n  urlPrefix: http:", W, 11,
       "extenders[0].enableHTTPS", "in the clear", "https://"},
      {"urlPrefix: http:", "urlPrefix: https:", W, 11, "extenders[0].enableHTTPS",
       "no certificate authority", "enableHTTPS: true"},
      {"urlPrefix: http:", "enableHTTPS: true\n  urlPrefix: https:", H, 11,
       "extenders[0].tlsConfig", "nobody checks", "caFile"},
      {"urlPrefix: http:",
       "tlsConfig: {insecure: true, caFile: /ca.crt}\n  enableHTTPS: true\n  urlPrefix: https:", E,
       11, "extenders[0].tlsConfig.insecure", "refuses", "insecure: false"},
  };
  for (const Row& row : rows) expect_one(kSample, sample_offer(), row);
  EXPECT_EQ(lines_of(check_scheduler_config(
                with(kSample, "urlPrefix: http:", "tlsConfig: {caFile: /ca}\n  urlPrefix: https:"),
                sample_offer())),
            "");
}

TEST(CheckSchedulerConfig, WhatServesFlagsAllow) {
  Offer offer = sample_offer();
  offer.live_nodes = true;
  expect_one(kSample, offer,
             {"nodeCacheCapable: true", "nodeCacheCapable: false", H, 14,
              "extenders[0].nodeCacheCapable", "full objects", "nodeCacheCapable: true"});
  offer.lock_wait = std::chrono::seconds(0);
  EXPECT_EQ(lines_of(check_scheduler_config(with(kSample, "  httpTimeout: 30s\n", ""), offer)), "");
  offer.lock_wait = std::chrono::seconds(90);
  expect_one(kSample, offer,
             {"30s", "90s", W, 15, "extenders[0].httpTimeout", "up to 1m30s", "httpTimeout: 92s"});
  EXPECT_EQ(lines_of(check_scheduler_config(with(kSample, "30s", "1m32s"), offer)), "");
}

TEST(CheckSchedulerConfig, TheWholeFile) {
  const Row rows[] = {
      {"percentageOfNodesToScore: 100", "percentageOfNodesToScore: 50", W, 5,
       "percentageOfNodesToScore", "packing gets worse", "percentageOfNodesToScore: 100"},
      {"percentageOfNodesToScore: 100", "percentageOfNodesToScore: 0", W, 5,
       "percentageOfNodesToScore", "missing or 0", "100"},
      {"percentageOfNodesToScore: 100\n", "", W, 0, "percentageOfNodesToScore", "missing or 0",
       "100"},
      {"percentageOfNodesToScore: 100", "percentageOfNodesToScore: 101", E, 5,
       "percentageOfNodesToScore", "refuses", "100"},
      {"- schedulerName: hami-scheduler",
       "- schedulerName: hami-scheduler\n  percentageOfNodesToScore: 20", W, 10,
       "profiles[0].percentageOfNodesToScore", "below 100", "100"},
      {"podMaxBackoffSeconds: 2", "podMaxBackoffSeconds: 10", H, 7, "podMaxBackoffSeconds",
       "waits up to 10 s", "podMaxBackoffSeconds: 2"},
      {"podMaxBackoffSeconds: 2\n", "", H, 0, "podMaxBackoffSeconds", "waits up to 10 s",
       "podMaxBackoffSeconds: 2"},
      {"podInitialBackoffSeconds: 1", "podInitialBackoffSeconds: 0", E, 6,
       "podInitialBackoffSeconds", "refuses", "podInitialBackoffSeconds: 1"},
      {"podInitialBackoffSeconds: 1", "podInitialBackoffSeconds: 3", E, 7, "podMaxBackoffSeconds",
       "refuses", "podMaxBackoffSeconds: 2"},
      {"schedulerName: hami-scheduler", "schedulerName: gpu-scheduler", E, 8, "profiles",
       "stay Pending", "- schedulerName: hami-scheduler"},
      {"- schedulerName: hami-scheduler",
       "- {schedulerName: x}\n- schedulerName: hami-scheduler\n"
       "- {schedulerName: x}",
       E, 11, "profiles[2].schedulerName", "two profiles with one name", ""},
      {"profiles:\n- schedulerName: hami-scheduler\n", "", E, 0, "profiles", "no profile",
       "- schedulerName: hami-scheduler"},
      {"profiles:", "preferences: {}\nprofiles:", E, 8, "preferences", "no field of", ""},
      {"leaderElect: false", "leaderElect: maybe", E, 4, "leaderElection.leaderElect", "refuses",
       ""},
      {"leaderElect: false", "leaderElect: \"false\"", E, 4, "leaderElection.leaderElect",
       "refuses", ""},
      {"percentageOfNodesToScore: 100",
       "percentageOfNodesToScore: 50\npercentageOfNodesToScore: "
       "100",
       E, 6, "percentageOfNodesToScore", "given twice", ""},
      {"  bindVerb: bind", "  bindverb: bind\n  bindVerb: bind", E, 13, "extenders[0].bindverb",
       "no field of kubescheduler.config.k8s.io/v1", "bindVerb"},
      {"  bindVerb: bind", "  ignoreable: true\n  bindVerb: bind", E, 13, "extenders[0].ignoreable",
       "refuses", "ignorable"},
      {"  bindVerb: bind", "  enableHttps: false\n  bindVerb: bind", E, 13,
       "extenders[0].enableHttps", "refuses", "enableHTTPS"},
      {"  bindVerb: bind", "  tlsConfig: {caFiel: /x}\n  bindVerb: bind", E, 13,
       "extenders[0].tlsConfig.caFiel", "no field", "caFile"},
  };
  for (const Row& row : rows) expect_one(kSample, sample_offer(), row);
}

TEST(CheckSchedulerConfig, ANameThatNobodyToldIsOnlyWarnedAbout) {
  Offer offer = sample_offer();
  offer.scheduler_name = "";
  expect_one(kSample, offer,
             {"schedulerName: hami-scheduler", "schedulerName: gpu-scheduler", W, 8, "profiles",
              "say it here", "hami-scheduler"});
}

TEST(CheckSchedulerConfig, LeaderElection) {
  const char* const kOff = "leaderElection:\n  leaderElect: false\n";
  const Row without[] = {
      {kOff, "", E, 0, "leaderElection.resourceName", "the cluster's own kube-scheduler",
       "resourceName: hami-scheduler"},
      {kOff, "leaderElection: {leaderElect: true}\n", E, 3, "leaderElection.resourceName",
       "schedules nothing", "resourceName: hami-scheduler"},
      {kOff, "leaderElection: {resourceName: hami-scheduler}\n", W, 3, "leaderElection.leaderElect",
       "with a second replica both decide", "--leader-elect"},
      {kOff, "leaderElection: {leaderElects: false, leaderElect: false}\n", E, 3,
       "leaderElection.leaderElects", "no field", "leaderElect"},
  };
  for (const Row& row : without) expect_one(kSample, sample_offer(), row);
  Offer offer = sample_offer();
  offer.leader_elect = true;
  offer.lease_name = "hami-scheduler";
  offer.lease_namespace = "kube-system";
  const Row with_election[] = {
      {"leaderElect: false", "leaderElect: false", E, 4, "leaderElection.leaderElect",
       "which it never takes", "leaderElect: true"},
      {"leaderElect: false", "resourceName: other", E, 4, "leaderElection.resourceName",
       "never sees this kube-scheduler hold it", "resourceName: hami-scheduler"},
      {"leaderElect: false", "resourceName: hami-scheduler\n  resourceNamespace: gpu", E, 4,
       "leaderElection.resourceName", "kube-system/hami-scheduler", "kube-system"},
      {"leaderElect: false", "resourceName: hami-scheduler\n  resourceLock: endpointsleases", E, 5,
       "leaderElection.resourceLock", "only a Lease", "resourceLock: leases"},
  };
  for (const Row& row : with_election) expect_one(kSample, offer, row);
  EXPECT_EQ(lines_of(check_scheduler_config(
                with(kSample, "leaderElect: false", "resourceName: hami-scheduler"), offer)),
            "");
}

TEST(CheckSchedulerConfig, VersionsThatKubernetesHasNoMore) {
  const std::string old = with(kSample, "k8s.io/v1", "k8s.io/v1beta3");
  const struct {
    std::optional<int> minor;
    const char* severity;
  } rows[] = {{23, ""}, {28, ""}, {22, "error"}, {29, "error"}, {36, "error"}, {{}, "hint"}};
  for (const auto& row : rows) {
    Offer offer = sample_offer();
    offer.kube_minor = row.minor;
    const auto findings = check_scheduler_config(old, offer);
    ASSERT_EQ(findings.size(), *row.severity == '\0' ? 0U : 1U) << lines_of(findings);
    if (findings.empty()) continue;
    EXPECT_EQ(word(findings[0].severity), row.severity);
    EXPECT_EQ(findings[0].line, 1);
    EXPECT_NE(findings[0].what.find("1.23 to 1.28"), std::string::npos) << findings[0].text();
  }
  Offer offer = sample_offer();
  offer.kube_minor = {};
  EXPECT_EQ(lines_of(check_scheduler_config(kSample, offer)), "");
}

TEST(CheckSchedulerConfig, ALegacyPolicy) {
  Offer offer = sample_offer();
  offer.kube_minor = 20;
  const Row rows[] = {
      {"\"bindVerb\"", "\"ignoreable\": false, \"bindVerb\"", W, 7, "extenders[0].ignoreable",
       "drops it without a word", "ignorable"},
      {"\"enableHttps\"", "\"enableHTTPS\"", W, 8, "extenders[0].enableHTTPS",
       "drops it without a word", "enableHttps"},
      {"30000000000", "30", E, 10, "extenders[0].httpTimeout", "nanoseconds",
       "httpTimeout: 30000000000"},
      {"30000000000", "10000000000", W, 10, "extenders[0].httpTimeout", "too short",
       "httpTimeout: 30000000000"},
      {"30000000000", "\"30s\"", E, 10, "extenders[0].httpTimeout", "refuses", ""},
      {"\"enableHttps\": false", "\"enableHttps\": true", W, 8, "extenders[0].enableHttps",
       "in the clear", "enableHttps: false"},
      {"\"apiVersion\": \"v1\"", "\"apiVersion\": \"v1\", \"apiVersion\": \"v1\"", W, 3,
       "apiVersion", "given twice", ""},
  };
  for (const Row& row : rows) expect_one(kSamplePolicy, offer, row);
  offer.kube_minor = 23;
  expect_one(kSamplePolicy, offer,
             {"Policy", "Policy", E, 3, "apiVersion", "1.23 does not start",
              "kubescheduler.config.k8s.io/v1beta3"});
}

TEST(CheckSchedulerConfig, NoConfigurationAtAll) {
  const struct {
    const char* text;
    int line;
    const char* words;
  } rows[] = {
      {"", 0, "empty or no mapping"},
      {"[]", 0, "empty or no mapping"},
      {"a: [", 1, "neither YAML nor JSON"},
      {"kind: Deployment", 1, "no configuration of kube-scheduler"},
      {"apiVersion: v1\nkind: ConfigMap", 2, "under data"},
      {"apiVersion: kubescheduler.config.k8s.io/v1alpha2\nkind: KubeSchedulerConfiguration", 1,
       "not a version"},
      {"apiVersion: v2\nkind: Policy", 1, "not a version"},
      {"kind: KubeSchedulerConfiguration", 0, "not a version"},
  };
  for (const auto& row : rows) {
    const auto findings = check_scheduler_config(row.text, sample_offer());
    ASSERT_EQ(findings.size(), 1U) << row.text << "\n" << lines_of(findings);
    EXPECT_EQ(findings[0].severity, E);
    EXPECT_EQ(findings[0].line, row.line) << row.text;
    EXPECT_NE(findings[0].what.find(row.words), std::string::npos) << findings[0].text();
  }
  const auto twice = check_scheduler_config(kSample + "---\na: b\n", sample_offer());
  ASSERT_EQ(twice.size(), 1U) << lines_of(twice);
  EXPECT_NE(twice[0].what.find("reads the first only"), std::string::npos);
}

}  // namespace
}  // namespace tessera::setup
