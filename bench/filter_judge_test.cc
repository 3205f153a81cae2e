#include "filter_judge.h"

#include <gmock/gmock.h>

#include "filter_run.h"

namespace tessera::bench {
namespace {

using testing::HasSubstr;

TEST(CallNodes, BeginAnywhereAndGoRoundTheEnd) {
  const CallNodes nodes{.begin = 8, .count = 4, .left_out = 9};
  for (const std::int64_t n : {8, 0, 1}) EXPECT_TRUE(nodes.names(n, 10)) << n;
  for (const std::int64_t n : {9, 2, 7, -1, 10}) EXPECT_FALSE(nodes.names(n, 10)) << n;
}

TEST(CallNodes, AreSampledAsKubeSchedulerSamples) {
  struct Case {
    std::int64_t nodes, count;
  };
  // 50 percent less one for every 125 nodes, not below 5 percent, not below a hundred.
  for (const Case& c : {Case{50, 50}, Case{100, 100}, Case{150, 100}, Case{1000, 420},
                        Case{5000, 500}, Case{10'000, 500}}) {
    Sampling sampling(c.nodes);
    EXPECT_EQ(sampling.next().count, c.count) << c.nodes;
    EXPECT_EQ(sampling.next().begin, c.count % c.nodes) << "it goes on where it ended";
  }
}

/// Four nodes of one card; the first is full, and the pod asks for more than half of a card.
class Judged : public testing::Test {
 protected:
  Judged() {
    FilterStageOptions options;
    options.cluster.nodes = 4;
    options.cluster.cards.front().count = 1;
    options.cluster.device_pods = 1;
    options.cluster.shares = {{.memory = 60'000}};
    auto made = FilterStage::make(options);
    if (!made) throw std::runtime_error(made.error().what);
    stage_ = std::move(*made);
    auto judge = FilterJudge::make(*stage_, pod("sample"));
    if (!judge) throw std::runtime_error(judge.error().what);
    judge_.emplace(std::move(*judge));
  }
  sim::ScenarioPod pod(std::string name) const {
    return stage_->cluster().asking_pod(std::move(name), share_);
  }
  /// What is wrong with that answer to a call that names all nodes but the third.
  std::string wrong(const std::string& body) {
    CallNodes nodes = stage_->all_nodes();
    nodes.left_out = 2;
    const auto call = stage_->come(pod(stage_->next_name()), nodes);
    if (!call) return call.error().what;
    const auto verdict = read_verdict(*stage_, {.status = 200, .body = body});
    if (!verdict) return verdict.error().what;
    if (const auto status = judge_->look(*call, *verdict, share_); !status)
      return status.error().what;
    const auto difference = judge_->difference(*call, *verdict);
    return difference ? *difference : difference.error().what;
  }

  const sim::SyntheticShare share_{.memory = 50'000};
  std::unique_ptr<FilterStage> stage_;
  std::optional<FilterJudge> judge_;
};

TEST_F(Judged, AnswersThatAreWrong) {
  struct Case {
    const char* body;
    const char* what;
  };
  const Case cases[] = {
      {R"({"NodeNames":["node-00000"],"Error":""})", "node 0 has no room"},
      {R"({"NodeNames":["node-00002"],"Error":""})", "node 2 was not asked"},
      {R"({"NodeNames":["node-00009"],"Error":""})", "was not asked"},
      {R"({"NodeNames":["node-00001","node-00003"],"Error":""})", "names 2 nodes"},
      {R"({"NodeNames":["node-00001"],"Error":"no"})", "a node and an error"},
      {R"({"NodeNames":[],"FailedNodes":{},"Error":""})", "refused"},
      {R"({"NodeNames":null,"FailedNodes":null,"Error":"unexpected EOF"})",
       "no reasons, but the error unexpected EOF"},
      {R"({"NodeNames":[],"FailedNodes":{"node-00000":"a","node-00001":"a","node-00003":"a"}})",
       "node 1 has room"},
      {R"({"NodeNames":[],"FailedNodes":{"node-00002":"a"}})", "refusal of node 2"},
      {R"({"NodeNames":[],"FailedNodes":{"node-00001":""}})", "refusal of node 1"},
      {R"({"NodeNames":["node-00003"],"Error":""})", "the plain decision takes 1"},
      {"no JSON", "filter: 200 no JSON"}};
  for (const Case& c : cases) EXPECT_THAT(wrong(c.body), HasSubstr(c.what)) << c.body;
}

TEST_F(Judged, AnswersThatAreRight) {
  EXPECT_EQ(wrong(R"({"NodeNames":["node-00001"],"FailedNodes":{},"Error":""})"), "");
  EXPECT_EQ(wrong(R"({"Nodes":{"items":[{"metadata":{"name":"node-00001"}}]},"Error":""})"), "");
}

TEST_F(Judged, TheLoadIsWhatThePodsHold) {
  EXPECT_EQ(judge_->load_of(0), 60'000 * 1000 / 81'920);
  EXPECT_EQ(judge_->load_of(1), 0);
}

}  // namespace
}  // namespace tessera::bench
