// The label-priority extender's configuration: the one its users have, and what may be wrong in it.
#include <gtest/gtest.h>

#include "setup/check.h"
#include "setup/setup_test_samples.h"

namespace tessera::setup {
namespace {

/// The file that i-scheduler-extender is shipped with, by its significant content.
const std::string kShipped = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: i-scheduler-extender
leaderElection:
  leaderElect: false
extenders:
- urlPrefix: "http://localhost:8080"
  enableHTTPS: false
  filterVerb: "filter"
  prioritizeVerb: "prioritize"
  bindVerb: "bind"
  weight: 1
  nodeCacheCapable: false
)";

Offer offer_of(Program program) {
  Offer offer;
  offer.program = program;
  offer.kube_minor = 29;
  offer.scheduler_name = "i-scheduler-extender";
  return offer;
}

std::vector<std::string> texts(const std::string& file, const Offer& offer) {
  std::vector<std::string> out;
  for (const Finding& f : check_scheduler_config(file, offer)) out.push_back(f.text());
  return out;
}

const std::string kWhole =
    with(kShipped, "extenders:", "percentageOfNodesToScore: 100\nextenders:");

TEST(CheckLabelPriority, TheShippedFileWorksWithOursAndNotWithTheOriginal) {
  EXPECT_EQ(texts(kWhole, offer_of(Program::kLabelPriority)), std::vector<std::string>{});
  const auto original = texts(kWhole, offer_of(Program::kLabelOriginal));
  ASSERT_EQ(original.size(), 1U);
  EXPECT_EQ(original[0].find("line 12: error: extenders[0].prioritizeVerb: \"prioritize\": "
                             "i-scheduler-extender serves only /priority"),
            0U)
      << original[0];
  EXPECT_NE(original[0].find("Write: prioritizeVerb: priority"), std::string::npos) << original[0];
}

TEST(CheckLabelPriority, OnlyTheSampleOfNodesIsWorthAWordInTheShippedFile) {
  const auto said = texts(kShipped, offer_of(Program::kLabelPriority));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].find("warning: percentageOfNodesToScore"), 0U) << said[0];
}

struct Row {
  const char* from;
  const char* to;
  const char* begins;
};
TEST(CheckLabelPriority, WhatIsWrong) {
  const Row rows[] = {
      {"\"prioritize\"", "\"prioritise\"",
       "line 12: error: extenders[0].prioritizeVerb: \"prioritise\": tessera label-priority serves "
       "only /prioritize and /priority"},
      {"\"filter\"", "\"filter_only\"",
       "line 11: error: extenders[0].filterVerb: \"filter_only\": tessera label-priority serves "
       "only /filter and /filter_onlyone"},
      {"  filterVerb: \"filter\"\n", "", "line 9: error: extenders[0].filterVerb: missing"},
      {"\"filter\"", "\"filter_onlyone\"",
       "line 12: hint: extenders[0].prioritizeVerb: \"prioritize\": never called"},
      {"  prioritizeVerb: \"prioritize\"\n", "",
       "line 9: warning: extenders[0].prioritizeVerb: missing"},
      {"weight: 1", "weight: 0", "line 14: error: extenders[0].weight: \"0\": not above 0"},
      {"weight: 1", "weight: 1\n  ignorable: true",
       "line 15: warning: extenders[0].ignorable: \"true\": while the server does not answer, pods "
       "go to any node"},
      {"weight: 1", "weight: 1\n  preemptVerb: preempt",
       "line 15: error: extenders[0].preemptVerb: \"preempt\": tessera label-priority serves no "
       "such call"},
      {"weight: 1", "weight: 1\n  managedResources: [{name: example.com/x}]",
       "line 15: hint: extenders[0].managedResources: only pods that ask for one of these"},
      {"schedulerName: i-scheduler-extender", "schedulerName: default-scheduler",
       "line 3: error: profiles: no profile with schedulerName i-scheduler-extender"},
  };
  for (const Row& row : rows) {
    const std::string file = with(kWhole, row.from, row.to);
    ASSERT_FALSE(file.empty()) << row.from;
    const auto said = texts(file, offer_of(Program::kLabelPriority));
    ASSERT_EQ(said.size(), 1U) << row.to;
    EXPECT_EQ(said[0].find(row.begins), 0U) << said[0];
  }
}

TEST(CheckLabelPriority, BesideOurDeviceExtenderEachIsFoundByItsResources) {
  const std::string both = kSample + R"(- urlPrefix: http://127.0.0.1:8081
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 1
)";
  Offer devices = sample_offer();
  EXPECT_EQ(texts(both, devices), std::vector<std::string>{});
  Offer labels = offer_of(Program::kLabelPriority);
  labels.kube_minor = 36;
  labels.scheduler_name = "hami-scheduler";
  EXPECT_EQ(texts(both, labels), std::vector<std::string>{});
  const auto said =
      texts(with(both, "prioritizeVerb: prioritize", "prioritizeVerb: scores"), labels);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("extenders[1].prioritizeVerb"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace tessera::setup
