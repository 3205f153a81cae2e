#include "sim/agents_checker.h"

#include <gtest/gtest.h>

#include "sim/agents_objects.h"

namespace tessera::sim {
namespace {

constexpr std::string_view kAllocated = "allocated", kToAllocate = "to-allocate";

class CheckerTest : public testing::Test {
 protected:
  CheckerTest() { checker_.set_node("n1", {card()}, now_); }
  static core::Device card() {
    core::Device device;
    device.id = "GPU-0";
    device.slots = 2;
    device.memory = {1000};
    device.cores = {100};
    device.model = "NVIDIA-T4";
    device.vendor = {0};
    return device;
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

  static AgentVendor vendor() {
    AgentVendor v = nvidia_agent();
    v.allocated_key = kAllocated;
    v.to_allocate_key = kToAllocate;
    return v;
  }

  WallTime now_ = *parse_rfc3339("2026-08-21T08:05:01Z");
  InvariantChecker checker_{{vendor()}};
};

TEST_F(CheckerTest, SoundPodsUpToTheLimitsAreFine) {
  checker_.pod_seen(pod("a", "GPU-0,NVIDIA,400,50:;"), now_);
  checker_.pod_seen(pod("b", "GPU-0,NVIDIA,600,50:;"), now_);
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
  EXPECT_EQ(checker_.used("n1", "GPU-0"), (core::Usage{2, {1000}, {100}}));
  checker_.pod_gone("a");
  EXPECT_EQ(checker_.used("n1", "GPU-0"), (core::Usage{1, {600}, {50}}));
}

TEST_F(CheckerTest, FinishedPodsHoldNothing) {
  k8s::Pod a = pod("a", "GPU-0,NVIDIA,400,50:;");
  checker_.pod_seen(a, now_);
  a.phase = k8s::Phase::kSucceeded;
  checker_.pod_seen(a, now_);
  EXPECT_EQ(checker_.used("n1", "GPU-0"), core::Usage{});
}

struct OverCase {
  std::string text, what;
};
class CheckerOver : public CheckerTest, public testing::WithParamInterface<OverCase> {};
TEST_P(CheckerOver, NamesDeviceAndSums) {
  checker_.pod_seen(pod("a", "GPU-0,NVIDIA,400,50:;"), now_);
  checker_.pod_seen(pod("b", GetParam().text), now_);
  EXPECT_EQ(only_violation(),
            "pod default/b on n1: device GPU-0 over its limits: " + GetParam().what);
}
INSTANTIATE_TEST_SUITE_P(
    Table, CheckerOver,
    testing::Values(OverCase{"GPU-0,NVIDIA,601,50:;", "2/2 slots, 1001/1000 MiB, 100/100 cores"},
                    OverCase{"GPU-0,NVIDIA,600,51:;", "2/2 slots, 1000/1000 MiB, 101/100 cores"}));
TEST_F(CheckerTest, SharersAreCounted) {
  for (const char* uid : {"a", "b", "c"}) checker_.pod_seen(pod(uid, "GPU-0,NVIDIA,1,1:;"), now_);
  EXPECT_EQ(
      only_violation(),
      "pod default/c on n1: device GPU-0 over its limits: 3/2 slots, 3/1000 MiB, 3/100 cores");
}

TEST_F(CheckerTest, WrongTextsAreNamed) {
  checker_.pod_seen(pod("a", "GPU-9,NVIDIA,1,1:;"), now_);
  checker_.pod_seen(pod("b", "GPU-0,MLU,1,1:;"), now_);
  checker_.pod_seen(pod("c", "GPU-0,NVIDIA,1,1:;;"), now_);
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
  checker_.pod_seen(a, now_);
  ASSERT_EQ(checker_.violations().size(), 2U);
  EXPECT_EQ(checker_.violations()[0],
            R"(pod default/a on n1: annotation hami.io/vgpu-node is "n2")");
  EXPECT_EQ(checker_.violations()[1], R"(pod default/a on n1: label hami.io/vgpu-node is "n3")");
}

TEST_F(CheckerTest, AllocatedStaysAndToAllocateOnlyShrinks) {
  k8s::Pod a = pod("a", "GPU-0,NVIDIA,1,1:;");
  checker_.pod_seen(a, now_);
  a.annotations[2].second = ";;";
  checker_.pod_seen(a, now_);
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
  a.annotations[2].second = "GPU-0,NVIDIA,2,1:;";
  checker_.pod_seen(a, now_);
  EXPECT_EQ(
      only_violation(),
      R"(pod default/a on n1: to-allocate grew from "GPU-0,NVIDIA,1,1:;" to "GPU-0,NVIDIA,2,1:;")");
  a.annotations[2].second = ";;";
  a.annotations[1].second = "GPU-0,NVIDIA,3,1:;";
  checker_.pod_seen(a, now_);
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

TEST_F(CheckerTest, ALockIsGoneAfterAllocateAndNeverOld) {
  const k8s::Pod a = pod("a", "GPU-0,NVIDIA,1,1:;");
  checker_.served(a, "2026-08-21T08:05:00Z,default,b", std::chrono::seconds(20));
  checker_.lock_seen("n1", "2026-08-21T08:05:00Z,default,a", now_, std::chrono::seconds(2));
  checker_.lock_seen("n1", "", now_, std::chrono::seconds(0));
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
  checker_.served(a, "2026-08-21T08:05:00Z,default,a", std::chrono::seconds(20));
  EXPECT_EQ(only_violation(),
            "pod default/a on n1: its lock is still there 20s after Allocate has ended: "
            "2026-08-21T08:05:00Z,default,a");
  checker_.lock_seen("n1", "2026-08-21T08:00:00Z,default,a", now_, std::chrono::minutes(5));
  EXPECT_EQ(checker_.violations().back(),
            "node n1: the lock is older than 5m0s: 2026-08-21T08:00:00Z,default,a");
}

TEST_F(CheckerTest, ASmallerRegistrationCountsOnceItsGraceIsOver) {
  core::Device half = card();
  half.memory = {500};
  checker_.set_node("n1", {half}, now_);
  checker_.pod_seen(pod("a", "GPU-0,NVIDIA,600,1:;"), now_ + std::chrono::seconds(59));
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{})
      << "placed by the registration before";
  checker_.pod_seen(pod("b", "GPU-0,NVIDIA,1,1:;"), now_ + std::chrono::seconds(61));
  EXPECT_EQ(only_violation(),
            "pod default/b on n1: device GPU-0 over its limits: 2/2 slots, 601/500 MiB, 2/100 "
            "cores");
}

TEST_F(CheckerTest, DevicesOfEveryVendorHaveTheirOwnTextsAndLimits) {
  AgentVendor xpu = xpu_agent();
  InvariantChecker checker({vendor(), xpu});
  core::Device second = card();
  second.id = "XPU-0";
  second.model = "XPU";
  second.vendor = {1};
  checker.set_node("n1", {card(), second}, now_);
  for (const char* uid : {"a", "b", "c"}) {
    k8s::Pod p = pod(uid, ";");
    p.annotations.emplace_back(xpu.allocated_key, "XPU-0,XPU,300,50:;");
    checker.pod_seen(p, now_);
  }
  EXPECT_EQ(checker.violations(), std::vector<std::string>{})
      << "neither slots nor cores divide it";
  EXPECT_EQ(checker.used("n1", "XPU-0"), (core::Usage{3, {900}, {150}}));
}

// --- instances ---

class CheckerMigTest : public CheckerTest {
 protected:
  CheckerMigTest() {
    core::Device mig = card();
    mig.slots = 7;
    mig.memory = {80000};
    mig.mig =
        std::make_shared<core::MigProfiles>(core::MigProfiles{{.name = "1g.10gb",
                                                               .memory = {9728},
                                                               .cores = {14},
                                                               .slices = 1,
                                                               .placements = {{0, 1}, {1, 1}}},
                                                              {.name = "3g.40gb",
                                                               .memory = {40000},
                                                               .cores = {43},
                                                               .slices = 3,
                                                               .placements = {{0, 4}, {4, 4}}}});
    checker_.set_node("n1", {mig}, now_);
  }
  static k8s::Pod instance(const std::string& uid, const std::string& text,
                           const std::string& records) {
    k8s::Pod p = pod(uid, text);
    p.annotations.emplace_back("hami.io/vgpu-mig-allocations", records);
    return p;
  }
  static std::string record(const std::string& profile, int start, int size,
                            const std::string& more = "", const std::string& card = "GPU-0") {
    return R"({"containerIndex":0,"deviceIndex":0,"gpuUUID":")" + card + R"(","profile":")" +
           profile + R"(","placement":{"start":)" + std::to_string(start) + R"(,"size":)" +
           std::to_string(size) + "}" + more + "}";
  }
};

TEST_F(CheckerMigTest, InstancesBesideEachOtherAreFineAndRuntimeIdsMayCome) {
  const std::string text = "GPU-0,NVIDIA,9728,14:;";
  checker_.pod_seen(instance("a", text, "[" + record("1g.10gb", 0, 1) + "]"), now_);
  checker_.pod_seen(instance("b", text, "[" + record("1g.10gb", 1, 1) + "]"), now_);
  checker_.pod_seen(instance("c", "GPU-0,NVIDIA,40000,43:;", "[" + record("3g.40gb", 4, 4) + "]"),
                    now_);
  checker_.pod_seen(instance("a", text, realise_mig("[" + record("1g.10gb", 0, 1) + "]")), now_);
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
}

TEST_F(CheckerMigTest, AnEndedPodLeavesItsPlace) {
  k8s::Pod a = instance("a", "GPU-0,NVIDIA,40000,43:;", "[" + record("3g.40gb", 0, 4) + "]");
  checker_.pod_seen(a, now_);
  a.phase = k8s::Phase::kSucceeded;
  checker_.pod_seen(a, now_);
  checker_.pod_seen(instance("b", "GPU-0,NVIDIA,9728,14:;", "[" + record("1g.10gb", 0, 1) + "]"),
                    now_);
  EXPECT_EQ(checker_.violations(), std::vector<std::string>{});
}

struct MigFault {
  std::string text, records, what;
};
class CheckerMigFault : public CheckerMigTest, public testing::WithParamInterface<MigFault> {};
TEST_P(CheckerMigFault, IsNamed) {
  checker_.pod_seen(instance("a", "GPU-0,NVIDIA,9728,14:;", "[" + record("1g.10gb", 0, 1) + "]"),
                    now_);
  checker_.pod_seen(instance("b", GetParam().text, GetParam().records), now_);
  EXPECT_EQ(only_violation(), "pod default/b on n1: " + GetParam().what);
}
constexpr const char* kSmall = "GPU-0,NVIDIA,9728,14:;";
INSTANTIATE_TEST_SUITE_P(
    Table, CheckerMigFault,
    testing::Values(
        MigFault{
            kSmall,
            R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"1g.10gb","placement":{"start":0,"size":1}}])",
            "instance 1g.10gb at 0 of GPU-0 overlaps 1g.10gb at 0"},
        MigFault{kSmall, "", "no instance is reserved on GPU-0 for container 0"},
        MigFault{
            kSmall,
            R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"1g.10gb","placement":{"start":5,"size":1}}])",
            "GPU-0 has no place for 1g.10gb at 5"},
        MigFault{
            kSmall,
            R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"2g.20gb","placement":{"start":2,"size":2}}])",
            "GPU-0 offers no profile 2g.20gb"},
        MigFault{
            "GPU-0,NVIDIA,9000,14:;",
            R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"1g.10gb","placement":{"start":1,"size":1}}])",
            "device text says 9000 MiB and 14 cores for 1g.10gb, the profile has 9728 and 14"},
        MigFault{kSmall,
                 R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"1g.10gb"}])",
                 "hami.io/vgpu-mig-allocations: MIG allocation 0 is incomplete"},
        MigFault{
            kSmall,
            R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"1g.10gb","placement":{"start":1,"size":1},"migUUID":"MIG-1"}])",
            "hami.io/vgpu-mig-allocations: MIG allocation 0 has partial runtime identity"}));

TEST_F(CheckerMigTest, AReservationDoesNotMove) {
  checker_.pod_seen(instance("a", kSmall, "[" + record("1g.10gb", 0, 1) + "]"), now_);
  checker_.pod_seen(instance("a", kSmall, "[" + record("1g.10gb", 1, 1) + "]"), now_);
  EXPECT_EQ(only_violation(),
            "pod default/a on n1: hami.io/vgpu-mig-allocations changed after bind");
}

TEST(Emptied, HasOneMoreEntryThanItHadBecauseAgentsCountThePieceBehindTheLast) {
  EXPECT_EQ(emptied("GPU-0,NVIDIA,1,1:;"), ";;");
  EXPECT_EQ(emptied(";GPU-0,NVIDIA,1,1:;"), ";;;");
}

}  // namespace
}  // namespace tessera::sim
