// What is read from a file, whatever its form and spelling.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "setup/nearest.h"
#include "setup/scheduler_config.h"
#include "setup/setup_test_samples.h"

namespace tessera::setup {
namespace {

TEST(ReadConfig, AllValuesWithTheirLines) {
  const ReadConfig read = read_scheduler_config(R"(kind: KubeSchedulerConfiguration
apiVersion: kubescheduler.config.k8s.io/v1
leaderElection: {leaderElect: yes, resourceName: l, resourceNamespace: n, leaseDuration: 15s}
percentageOfNodesToScore: 40
profiles:
  - schedulerName: a
    percentageOfNodesToScore: 7
    plugins: {score: {enabled: [{name: X, weight: 2}]}}
    pluginConfig: [{name: X, args: {any: thing}}]
extenders:
  -
    urlPrefix: http://x
    filterVerb: f
    prioritizeVerb: p
    bindVerb: b
    preemptVerb: e
    weight: 3
    enableHTTPS: off
    tlsConfig:
      insecure: True
      caFile: /ca
    nodeCacheCapable: true
    ignorable: on
    httpTimeout: 1m30s
    managedResources:
    - ignoredByScheduler: true
      name: a.b/c
)");
  ASSERT_TRUE(read.readable);
  for (const Finding& f : read.findings) ADD_FAILURE() << f.text();
  const SchedulerConfig& c = read.config;
  EXPECT_EQ(c.form->api_version, "kubescheduler.config.k8s.io/v1");
  EXPECT_EQ(c.api_version.line, 2);
  EXPECT_TRUE(c.leader_election.value.leader_elect.value);
  EXPECT_EQ(c.leader_election.value.resource_name.value, "l");
  EXPECT_EQ(c.leader_election.value.resource_namespace.value, "n");
  EXPECT_EQ(c.percentage_of_nodes_to_score.value, 40);
  ASSERT_EQ(c.profiles.value.size(), 1U);
  EXPECT_EQ(c.profiles.value[0].scheduler_name.line, 6);
  EXPECT_EQ(c.profiles.value[0].percentage_of_nodes_to_score.value, 7);
  EXPECT_EQ(c.extenders.line, 10);
  ASSERT_EQ(c.extenders.value.size(), 1U);
  const ExtenderConfig& e = c.extenders.value[0];
  EXPECT_EQ(e.path, "extenders[0]");
  EXPECT_EQ(e.url_prefix.value, "http://x");
  EXPECT_EQ(e.url_prefix.line, 12);
  EXPECT_EQ(e.filter_verb.value, "f");
  EXPECT_EQ(e.prioritize_verb.value, "p");
  EXPECT_EQ(e.bind_verb.value, "b");
  EXPECT_EQ(e.preempt_verb.value, "e");
  EXPECT_EQ(e.weight.value, 3);
  EXPECT_TRUE(e.enable_https.given());
  EXPECT_FALSE(e.enable_https.value);
  EXPECT_TRUE(e.tls.value.insecure.value);
  EXPECT_TRUE(e.tls.value.has_ca());
  EXPECT_TRUE(e.node_cache_capable.value);
  EXPECT_TRUE(e.ignorable.value);
  EXPECT_EQ(e.http_timeout.value, std::chrono::seconds(90));
  EXPECT_EQ(e.managed_resources.line, 25);
  ASSERT_EQ(e.managed_resources.value.size(), 1U);
  EXPECT_EQ(e.managed_resources.value[0].name.value, "a.b/c");
  EXPECT_EQ(e.managed_resources.value[0].name.line, 27);
  EXPECT_TRUE(e.managed_resources.value[0].ignored_by_scheduler.value);
}

TEST(ReadConfig, APolicyCountsNanosecondsAndMayBeYaml) {
  for (const char* text :
       {"{\"kind\":\"Policy\",\"apiVersion\":\"v1\",\"extenders\":[{\"httpTimeout\":5000000000,"
        "\"enableHttps\":true}],\"predicates\":[{\"name\":\"PodFitsResources\"}]}",
        "kind: Policy\napiVersion: v1\nextenders:\n- httpTimeout: 5000000000\n  enableHttps: "
        "true\n"}) {
    const ReadConfig read = read_scheduler_config(text);
    ASSERT_TRUE(read.readable) << text;
    for (const Finding& f : read.findings) ADD_FAILURE() << f.text();
    ASSERT_EQ(read.config.extenders.value.size(), 1U);
    EXPECT_EQ(read.config.extenders.value[0].http_timeout.value, std::chrono::seconds(5));
    EXPECT_TRUE(read.config.extenders.value[0].enable_https.value);
  }
}

TEST(ReadConfig, TheFieldsOfAnExtender) {
  const auto fields = [](const char* kind, const char* version) {
    const auto names = extender_fields(*find_form(kind, version));
    return std::set<std::string_view>(names.begin(), names.end());
  };
  std::set<std::string_view> documented = {
      "urlPrefix", "filterVerb",  "preemptVerb",      "prioritizeVerb",   "weight",   "bindVerb",
      "tlsConfig", "httpTimeout", "nodeCacheCapable", "managedResources", "ignorable"};
  auto with_https = documented;
  with_https.insert("enableHTTPS");
  for (const char* version : {"v1beta1", "v1beta2", "v1beta3", "v1"}) {
    const std::string api = std::string("kubescheduler.config.k8s.io/") + version;
    EXPECT_EQ(fields("KubeSchedulerConfiguration", api.c_str()), with_https) << version;
  }
  documented.insert("enableHttps");
  EXPECT_EQ(fields("Policy", "v1"), documented);
}

TEST(ReadConfig, AliasesThatGrowAndDeepNestingEndInWords) {
  std::string bomb =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  bomb += "extenders: *a7\n";
  const ReadConfig read = read_scheduler_config(bomb);
  EXPECT_TRUE(has_errors(read.findings));
  EXPECT_FALSE(read_scheduler_config(std::string(2u << 20, ' ')).readable);
}

TEST(ReadConfig, ASecondDocumentIsSeen) {
  const struct {
    const char* before;
    const char* after;
    bool second;
  } rows[] = {{"", "", false},
              {"---\n", "", false},
              {"# words\n\n---\n", "---\n# nothing\n", false},
              {"", "---\na: b\n", true},
              {"---\n", "\n---\n\na: b\n", true},
              {"", "--- {a: b}\n", true},
              {"", "---\r\na: b\r\n", true},
              {"", "# ---\n", false}};
  for (const auto& row : rows) {
    const ReadConfig read = read_scheduler_config(row.before + kSample + row.after);
    EXPECT_TRUE(read.readable);
    EXPECT_EQ(read.findings.size(), row.second ? 1U : 0U) << row.before << row.after;
  }
}

TEST(ReadConfig, AColonTooMuchComesToAnEnd) {
  const ReadConfig read = read_scheduler_config(
      "{\"kind\": \"Policy\", \"apiVersion\": \"v1\", \"extenders\": [{\"enableHttps\":: false, "
      "\"filterVerb\": \"filter\"}]}]}]}");
  EXPECT_TRUE(read.readable || has_errors(read.findings));
}

TEST(Nearest, TheWordThatWasMeant) {
  const std::string_view known[] = {"filter", "prioritize",  "priority",
                                    "bind",   "enableHTTPS", "ignorable"};
  const struct {
    const char* word;
    const char* meant;
  } rows[] = {{"prioritise", "prioritize"},
              {"prioritze", "prioritize"},
              {"PRIORITY", "priority"},
              {"enableHttps", "enableHTTPS"},
              {"ignoreable", "ignorable"},
              {"bnd", "bind"},
              {"binding", ""},
              {"xx", ""},
              {"", ""},
              {"filters", "filter"},
              {"score", ""}};
  for (const auto& row : rows) EXPECT_EQ(nearest(row.word, known), row.meant) << row.word;
  EXPECT_EQ(nearest(std::string(100'000, 'a'), known), "");
}

}  // namespace
}  // namespace tessera::setup
