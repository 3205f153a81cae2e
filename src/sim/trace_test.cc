#include "sim/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::sim {
namespace {

constexpr std::string_view kHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_"
    "time,scheduled_time\n";

TEST(ParseTrace, ReadsTheBuiltInList) {
  const auto pods = parse_trace(builtin_trace(), "built-in");
  ASSERT_TRUE(pods) << pods.error().what;
  ASSERT_EQ(pods->size(), 500U);
  EXPECT_EQ(pods->front().name, "openb-pod-0000");
  EXPECT_EQ(pods->front().card_milli, 1000);
  EXPECT_EQ(pods->front().deleted_s, 12537496);
  EXPECT_EQ(
      std::count_if(pods->begin(), pods->end(), [](const TracePod& p) { return p.cards == 0; }),
      66);
}

TEST(ParseTrace, FindsColumnsByNameAndDoesWithoutTheRest) {
  const auto pods = parse_trace("gpu_milli,name,num_gpu\r\n470,a,1\r\n\r\n", "f");
  ASSERT_TRUE(pods) << pods.error().what;
  EXPECT_EQ(pods->at(0).name, "a");
  EXPECT_EQ(pods->at(0).card_milli, 470);
}

struct Fault {
  std::string row, error;
};
class ParseTraceFault : public testing::TestWithParam<Fault> {};
TEST_P(ParseTraceFault, NamesLineColumnAndValue) {
  const auto pods = parse_trace(std::string(kHeader) + GetParam().row, "f.csv");
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().what, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, ParseTraceFault,
    testing::ValuesIn(std::vector<Fault>{
        {"", "f.csv:2: no pods"},
        {"a,1,1,1,500,,LS,Running,0,1", "f.csv:2: 10 fields, the header has 11"},
        {",1,1,1,500,,LS,Running,0,1,0", "f.csv:2: column name is empty"},
        {"a,1,1,one,500,,LS,Running,0,1,0",
         R"(f.csv:2: column num_gpu: "one" is not a whole number from 0 to 64)"},
        {"a,1,1,1,1001,,LS,Running,0,1,0",
         R"(f.csv:2: column gpu_milli: "1001" is not a whole number from 0 to 1000)"},
        {"a,1,1,1,0,,LS,Running,0,1,0", "f.csv:2: column gpu_milli: 0 of 1 cards"},
        {"a,1,1,2,500,,LS,Running,0,1,0",
         "f.csv:2: column gpu_milli: 500 of each of 2 cards; parts are of one card only"},
        {"a,1,1,1,500,,LS,Running,5,1,0",
         "f.csv:2: column deletion_time: 1 is before creation_time 5"},
        {"a,-1,1,1,500,,LS,Running,0,1,0",
         R"(f.csv:2: column cpu_milli: "-1" is not a whole number from 0 to 9223372036854775807)"},
        {"a,1,1,1,500,,LS,Running,0,1,0\na,1,1,1,500,,LS,Running,0,1,0",
         R"(f.csv:3: column name: "a" stands twice)"},
    }));
TEST(ParseTrace, MissingColumnIsNamed) {
  EXPECT_EQ(parse_trace("name,num_gpu\n", "f").error().what,
            "f:1: no column gpu_milli in the header");
}

TEST(PlanReplay, KeepsTheOrderAndFillsTheWantedShareOfTheCards) {
  std::vector<TracePod> pods = *parse_trace(builtin_trace(), "built-in");
  const auto plan = plan_replay(pods, {.pods_per_second = 30, .cards = 160, .load = 1});
  ASSERT_EQ(plan.size(), 434U);
  double card_seconds = 0;
  for (const ReplayPod& pod : plan) {
    card_seconds += static_cast<double>(pod.cards * pod.percent) / 100 *
                    static_cast<double>(pod.run_for.count()) / 1000;
    EXPECT_GE(pod.run_for.count(), 300);
    EXPECT_LE(pod.percent, 100);
  }
  EXPECT_NEAR(card_seconds / static_cast<double>(plan.size()) * 30, 160, 4)
      << "arrivals per second times cards times seconds";
}

}  // namespace
}  // namespace tessera::sim
