/// More binds at once than the API server takes in the time that a call may last: each costs its
/// two calls all the same, and those that cannot begin in time have cost none.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "harness.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kBound = R"({"Error":""})";

class OverloadTest : public ClusterTest {
 protected:
  struct Bind {
    std::string pod, body;
  };

  /// Each pod fills its node, so that nobody waits for an agent.
  void start(int pods) {
    for (int i = 0; i < pods; ++i) add_node(fmt::format("n{}", i));
    start_server();
    for (int i = 0; i < pods; ++i) {
      const std::string name = fmt::format("p{}", i), node = fmt::format("n{}", i);
      const std::string uid = add_pod(name, {.memory = 20'000});
      ASSERT_EQ(filter(name, {node}).names, std::vector<std::string>{node});
      add(name, uid, node);
    }
  }

  void add(const std::string& pod, const std::string& uid, const std::string& node) {
    binds_.push_back({pod, fmt::format(R"({{"PodName":"{}","PodNamespace":"default","PodUID":"{}",)"
                                       R"("Node":"{}"}})",
                                       pod, uid, node)});
  }

  void slow_down(milliseconds delay) {
    api_->inject({.match = "PATCH /api/v1/nodes/", .times = -1, .delay = delay});
    api_->inject({.match = "/binding", .times = -1, .delay = delay});
  }

  /// All at once; the answers, in the order of the binds.
  std::vector<std::string> send_all(const std::vector<Bind>& binds) {
    client::ApiClientOptions options{.user_agent = "kube-scheduler"};
    options.qps = -1;
    options.max_parallel = binds.size();
    client::ApiClient caller(
        client::Credentials{.server = fmt::format("http://127.0.0.1:{}", server_->port())}, options,
        metrics_);
    std::vector<std::promise<std::string>> answers(binds.size());
    for (std::size_t i = 0; i < binds.size(); ++i) {
      caller.send(
          {.method = "POST", .path = "/bind", .body = binds[i].body, .timeout = seconds(120)},
          [&answer = answers[i]](const client::ApiResponse& response) {
            answer.set_value(response.ok() ? response.body : response.message());
          });
    }
    std::vector<std::string> out;
    for (auto& answer : answers) out.push_back(answer.get_future().get());
    return out;
  }

  std::vector<Bind> binds_;
};

// Without a limit the second half of the calls would wait longer for a connection than a call may
// last: broken off, looked up, backed out and begun anew, ten calls a pod and fewer pods a minute.
TEST_F(OverloadTest, EachBindTakesTwoCallsHoweverManyWait) {
  constexpr int kPods = 300, kPlain = 100;
  options_.kube_timeout = milliseconds(1'500);
  options_.kube_qps = -1;
  start(kPods);
  for (int i = 0; i < kPlain; ++i) {
    const std::string name = fmt::format("plain{}", i);
    add(name, add_pod(name, {.count = 0, .memory = 0}), fmt::format("n{}", i));
  }
  slow_down(milliseconds(400));
  const std::vector<std::string> answers = send_all(binds_);
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], kBound) << binds_[i].pod;
  EXPECT_EQ(calls("PATCH nodes"), std::uint64_t{kPods});
  EXPECT_EQ(calls("POST pods/binding"), std::uint64_t{kPods + kPlain});
  EXPECT_EQ(calls("GET nodes"), 0U);
  EXPECT_EQ(calls("GET pods"), std::uint64_t{kPlain});  // the server keeps no pods without devices
  EXPECT_EQ(metric("tessera_bind_queue_length"), 0);
  EXPECT_EQ(server_->self_check(), "");
}

TEST_F(OverloadTest, WhatHasNotBegunInTimeHasWrittenNothingAndCanBeBoundLater) {
  constexpr int kPods = 150;
  options_.node_lock_retry_timeout = milliseconds(500);
  options_.kube_qps = -1;
  start(kPods);
  slow_down(milliseconds(1'500));
  const std::vector<std::string> answers = send_all(binds_);
  std::vector<Bind> left;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == kBound) continue;
    EXPECT_NE(answers[i].find("the API server takes binds too slowly"), std::string::npos)
        << answers[i];
    EXPECT_EQ(bound_node(binds_[i].pod), "") << binds_[i].pod;
    left.push_back(binds_[i]);
  }
  ASSERT_GT(left.size(), 0U);
  ASSERT_LT(left.size(), binds_.size());
  const std::uint64_t begun = binds_.size() - left.size();
  EXPECT_EQ(calls("PATCH nodes"), begun);
  EXPECT_EQ(calls("POST pods/binding"), begun);
  api_->clear_faults();
  while (!left.empty()) {  // a machine may be so slow that some wait in vain again
    const std::vector<std::string> again = send_all(left);
    std::vector<Bind> still;
    for (std::size_t i = 0; i < again.size(); ++i)
      if (again[i] != kBound) still.push_back(left[i]);
    ASSERT_LT(still.size(), left.size()) << again[0];
    left = std::move(still);
  }
  EXPECT_EQ(calls("PATCH nodes"), std::uint64_t{kPods});
  EXPECT_EQ(server_->self_check(), "");
}

}  // namespace
}  // namespace tessera::test
