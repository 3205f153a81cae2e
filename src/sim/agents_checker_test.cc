#include "sim/agents_checker.h"

#include <gtest/gtest.h>

#include "sim/agents_objects.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kAllocated = "allocated", kToAllocate = "to-allocate";

class CheckerTest : public testing::Test {
 protected:
  CheckerTest() {
    core::Device card{
        .id = "GPU-0", .slots = 2, .memory = {1000}, .cores = {100}, .model = "NVIDIA-T4"};
    checker_.set_node("n1", {card});
  }
  static k8s::Pod pod(const std::string& uid, const std::string& text) {
    k8s::Pod p{.ns = "default", .name = uid, .uid = uid, .node_name = "n1"};
    p.annotations = {{"hami.io/vgpu-node", "n1"},
                     {std::string(kAllocated), text},
                     {std::string(kToAllocate), text}};
    p.containers = {{.name = "c"}};
    return p;
  }
  std::string only_violation() const {
    return checker_.violations().size() == 1
               ? checker_.violations()[0]
               : std::to_string(checker_.violations().size()) + " violations";
  }

  InvariantChecker checker_{{std::string(kToAllocate), std::string(kAllocated)}};
};

TEST_F(CheckerTest, SoundPodsUpToTheLimitsAreFine) {
  checker_.pod_seen(pod("a", "GPU-0,NVIDIA,400,50:;"));
  checker_.pod_seen(pod("b", "GPU-0,NVIDIA,600,50:;"));
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
  EXPECT_EQ(checker_.used("n1", "GPU-0"), (core::Usage{2, {1000}, {100}}));
  checker_.pod_gone("a");
  EXPECT_EQ(checker_.used("n1", "GPU-0"), (core::Usage{1, {600}, {50}}));
}

TEST_F(CheckerTest, FinishedPodsHoldNothing) {
  k8s::Pod a = pod("a", "GPU-0,NVIDIA,400,50:;");
  checker_.pod_seen(a);
  a.phase = k8s::Phase::kSucceeded;
  checker_.pod_seen(a);
  EXPECT_EQ(checker_.used("n1", "GPU-0"), core::Usage{});
}

struct OverCase {
  std::string text, what;
};
class CheckerOver : public CheckerTest, public testing::WithParamInterface<OverCase> {};
TEST_P(CheckerOver, NamesDeviceAndSums) {
  checker_.pod_seen(pod("a", "GPU-0,NVIDIA,400,50:;"));
  checker_.pod_seen(pod("b", GetParam().text));
  EXPECT_EQ(only_violation(),
            "pod default/b on n1: device GPU-0 over its limits: " + GetParam().what);
}
INSTANTIATE_TEST_SUITE_P(
    Table, CheckerOver,
    testing::Values(OverCase{"GPU-0,NVIDIA,601,50:;", "2/2 slots, 1001/1000 MiB, 100/100 cores"},
                    OverCase{"GPU-0,NVIDIA,600,51:;", "2/2 slots, 1000/1000 MiB, 101/100 cores"}));
TEST_F(CheckerTest, SharersAreCounted) {
  for (const char* uid : {"a", "b", "c"}) checker_.pod_seen(pod(uid, "GPU-0,NVIDIA,1,1:;"));
  EXPECT_EQ(
      only_violation(),
      "pod default/c on n1: device GPU-0 over its limits: 3/2 slots, 3/1000 MiB, 3/100 cores");
}

TEST_F(CheckerTest, WrongTextsAreNamed) {
  checker_.pod_seen(pod("a", "GPU-9,NVIDIA,1,1:;"));
  checker_.pod_seen(pod("b", "GPU-0,MLU,1,1:;"));
  checker_.pod_seen(pod("c", "GPU-0,NVIDIA,1,1:;;"));
  ASSERT_EQ(checker_.violations().size(), 3U);
  EXPECT_EQ(checker_.violations()[0],
            R"(pod default/a on n1: device "GPU-9" does not belong to the node)");
  EXPECT_EQ(checker_.violations()[1],
            R"(pod default/b on n1: device GPU-0 is a NVIDIA-T4, not a "MLU")");
  EXPECT_EQ(checker_.violations()[2],
            "pod default/c on n1: allocated has 2 entries for 1 containers: GPU-0,NVIDIA,1,1:;;");
}

TEST_F(CheckerTest, NodeKeysMustNameTheNode) {
  k8s::Pod a = pod("a", "GPU-0,NVIDIA,1,1:;");
  a.annotations[0].second = "n2";
  a.labels = {{"hami.io/vgpu-node", "n3"}};
  checker_.pod_seen(a);
  ASSERT_EQ(checker_.violations().size(), 2U);
  EXPECT_EQ(checker_.violations()[0],
            R"(pod default/a on n1: annotation hami.io/vgpu-node is "n2")");
  EXPECT_EQ(checker_.violations()[1], R"(pod default/a on n1: label hami.io/vgpu-node is "n3")");
}

TEST_F(CheckerTest, AllocatedStaysAndToAllocateOnlyShrinks) {
  k8s::Pod a = pod("a", "GPU-0,NVIDIA,1,1:;");
  checker_.pod_seen(a);
  a.annotations[2].second = ";;";
  checker_.pod_seen(a);
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
  a.annotations[2].second = "GPU-0,NVIDIA,2,1:;";
  checker_.pod_seen(a);
  EXPECT_EQ(
      only_violation(),
      R"(pod default/a on n1: to-allocate grew from "GPU-0,NVIDIA,1,1:;" to "GPU-0,NVIDIA,2,1:;")");
  a.annotations[2].second = ";;";
  a.annotations[1].second = "GPU-0,NVIDIA,3,1:;";
  checker_.pod_seen(a);
  EXPECT_EQ(
      checker_.violations().back(),
      R"(pod default/a on n1: allocated changed after bind from "GPU-0,NVIDIA,1,1:;" to "GPU-0,NVIDIA,3,1:;")");
}

TEST_F(CheckerTest, LockMustBelongToThePodAndBeYoung) {
  const WallTime now = *parse_rfc3339("2026-08-21T08:05:01Z");
  const k8s::Pod a = pod("a", "GPU-0,NVIDIA,1,1:;");
  checker_.allocate(a, "2026-08-21T08:05:00Z,default,a", now, std::chrono::minutes(5));
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
  checker_.allocate(a, "2026-08-21T08:00:00Z,default,a", now, std::chrono::minutes(5));
  EXPECT_EQ(only_violation(),
            "pod default/a on n1: the lock is older than 5m0s: 2026-08-21T08:00:00Z,default,a");
  checker_.allocate(a, "", now, std::chrono::minutes(5));
  EXPECT_EQ(checker_.violations().back(),
            R"(pod default/a on n1: the lock at the moment of Allocate is "")");
}

TEST(Emptied, HasOneMoreEntryThanItHadBecauseAgentsCountThePieceBehindTheLast) {
  EXPECT_EQ(emptied("GPU-0,NVIDIA,1,1:;"), ";;");
  EXPECT_EQ(emptied(";GPU-0,NVIDIA,1,1:;"), ";;;");
}

}  // namespace
}  // namespace tessera::sim
