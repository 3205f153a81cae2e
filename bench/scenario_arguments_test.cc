#include "scenario_arguments.h"

#include <gmock/gmock.h>

namespace tessera::bench {
namespace {

using testing::HasSubstr;

TEST(ScenarioArguments, WordsBecomeOptions) {
  const auto a = parse_arguments({"F1", "--quick", "--json=out.json", "--compare=http://h:1",
                                  "--program=t", "--nodes=5", "--policy=spread"});
  ASSERT_TRUE(a) << a.error().what;
  EXPECT_EQ(a->scenario, "F1");
  EXPECT_EQ(a->json_file, "out.json");
  EXPECT_TRUE(a->options.quick);
  EXPECT_EQ(a->options.compare, "http://h:1");
  EXPECT_EQ(a->options.program, "t");
  std::int64_t nodes = 1;
  std::string policy;
  ASSERT_TRUE(read_more(a->options, {{"nodes", &nodes}}, {{"policy", &policy}}));
  EXPECT_EQ(nodes, 5);
  EXPECT_EQ(policy, "spread");
}

TEST(ScenarioArguments, ErrorsNameTheWord) {
  EXPECT_THAT(parse_arguments({"F1", "--fast"}).error().what, HasSubstr("--fast"));
  EXPECT_THAT(parse_arguments({"F1", "F2"}).error().what, HasSubstr("F2"));
}

TEST(ScenarioArguments, AnUnknownOptionIsAnErrorThatNamesIt) {
  std::int64_t nodes = 1;
  const auto problem = [&](std::string name, std::string value) {
    ScenarioOptions options;
    options.more = {{std::move(name), std::move(value)}};
    const auto status = read_more(options, {{"nodes", &nodes, 1}});
    return status ? "" : status.error().what;
  };
  EXPECT_THAT(problem("node", "1"), HasSubstr("unknown option --node; known: "));
  EXPECT_THAT(problem("nodes", "x"), HasSubstr("--nodes: "));
  EXPECT_EQ(problem("nodes", "0"), "--nodes: 0 is less than 1");
  EXPECT_EQ(problem("nodes", "7"), "");
}

TEST(ScenarioArguments, AScenarioIsFoundInAnyCase) {
  const BenchScenario all[] = {{"F1", "names", nullptr}, {"E1", "end to end", nullptr}};
  EXPECT_EQ(find_scenario(all, "f1"), &all[0]);
  EXPECT_EQ(find_scenario(all, "F9"), nullptr);
  EXPECT_EQ(list_of(all), "F1  names\nE1  end to end\n");
}

}  // namespace
}  // namespace tessera::bench
