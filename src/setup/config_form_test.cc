#include "setup/config_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tessera::setup {
namespace {

// Case 171: every Kubernetes gets the newest form that it reads.
TEST(ConfigForm, EveryVersionGetsTheNewestFormThatItReads) {
  const struct {
    int minor;
    const char* kind;
    const char* api_version;
  } rows[] = {
      {16, "Policy", "v1"},
      {18, "Policy", "v1"},
      {19, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1beta1"},
      {21, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1beta1"},
      {22, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1beta2"},
      {23, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1beta3"},
      {24, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1beta3"},
      {25, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1"},
      {29, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1"},
      {36, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1"},
      {99, "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1"},
  };
  for (const auto& row : rows) {
    const ConfigForm& form = newest_form(row.minor);
    EXPECT_EQ(form.kind, row.kind) << row.minor;
    EXPECT_EQ(form.api_version, row.api_version) << row.minor;
    EXPECT_TRUE(reads(form, row.minor)) << row.minor;
  }
}

TEST(ConfigForm, FormsComeAndGo) {
  const struct {
    const char* api_version;
    int first, last;  // 0: still read
  } rows[] = {{"v1beta1", 19, 22}, {"v1beta2", 22, 27}, {"v1beta3", 23, 28}, {"v1", 25, 0}};
  for (const auto& row : rows) {
    const ConfigForm* form =
        find_form("KubeSchedulerConfiguration",
                  std::string("kubescheduler.config.k8s.io/") + row.api_version);
    ASSERT_NE(form, nullptr) << row.api_version;
    EXPECT_FALSE(reads(*form, row.first - 1)) << row.api_version;
    EXPECT_TRUE(reads(*form, row.first)) << row.api_version;
    if (row.last == 0) {
      EXPECT_TRUE(reads(*form, 99)) << row.api_version;
    } else {
      EXPECT_TRUE(reads(*form, row.last)) << row.api_version;
      EXPECT_FALSE(reads(*form, row.last + 1)) << row.api_version;
    }
  }
  EXPECT_TRUE(reads(*find_form("Policy", "v1"), 22));
  EXPECT_FALSE(reads(*find_form("Policy", "v1"), 23));
  EXPECT_EQ(find_form("Policy", "kubescheduler.config.k8s.io/v1"), nullptr);
  EXPECT_EQ(find_form("KubeSchedulerConfiguration", "v1"), nullptr);
}

TEST(ConfigForm, FieldsThatOnlySomeFormsHave) {
  const auto has = [](const char* version, const char* field) {
    const auto& fields = find_form("KubeSchedulerConfiguration",
                                   std::string("kubescheduler.config.k8s.io/") + version)
                             ->fields;
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  };
  const struct {
    const char* field;
    bool beta1, beta2, beta3, v1;
  } rows[] = {
      {"percentageOfNodesToScore", true, true, true, true},
      {"parallelism", true, true, true, true},
      {"enableProfiling", true, true, true, true},
      {"healthzBindAddress", true, true, false, false},
      {"metricsBindAddress", true, true, false, false},
      {"delayCacheUntilActive", false, false, false, true},
      {"disablePreemption", false, false, false, false},
      {"predicates", false, false, false, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(has("v1beta1", row.field), row.beta1) << row.field;
    EXPECT_EQ(has("v1beta2", row.field), row.beta2) << row.field;
    EXPECT_EQ(has("v1beta3", row.field), row.beta3) << row.field;
    EXPECT_EQ(has("v1", row.field), row.v1) << row.field;
  }
}

// Case 172: vendors' texts behind the number do not matter.
TEST(ConfigForm, VersionsAsClustersSayThem) {
  const struct {
    const char* text;
    int minor;
  } rows[] = {{"1.36", 36},    {"v1.29.11-eks-56e63d8", 29}, {"v1.27.3+k3s1", 27}, {"1.27+", 27},
              {"v1.18.3", 18}, {"1.30.0-gke.1200", 30},      {"1.25-alpha.1", 25}};
  for (const auto& row : rows) {
    const Result<int> minor = parse_kube_version(row.text);
    ASSERT_TRUE(minor) << row.text;
    EXPECT_EQ(*minor, row.minor) << row.text;
  }
  for (const char* text : {"", "v", "1", "1.", "2.0", "latest", "1.x", "1.-3", "1.27k", "36",
                           "1.99999999999", " 1.30"}) {
    const Result<int> minor = parse_kube_version(text);
    ASSERT_FALSE(minor) << text;
    EXPECT_NE(minor.error().what.find("no version of Kubernetes"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::setup
