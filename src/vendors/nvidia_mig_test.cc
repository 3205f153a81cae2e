// Reservations of instances on pods, and what else NVIDIA's nodes say. devices/nvidia.md sections
// 5, 14.4 to 14.6.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "vendors/nvidia.h"
#include "vendors/vendors_test_builders.h"

namespace tessera::vendors {
namespace {

using core::MigSlice;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr auto kGpu = "nvidia.com/gpu";
constexpr auto kMem = "nvidia.com/gpumem";
constexpr auto kRegister = "hami.io/node-nvidia-register";
constexpr auto kScore = "hami.io/node-nvidia-score";
constexpr auto kAllocated = "hami.io/vgpu-devices-allocated";
constexpr auto kToAllocate = "hami.io/vgpu-devices-to-allocate";
constexpr auto kReserved = "hami.io/vgpu-mig-allocations";
constexpr VendorId kRow{0};
constexpr WallTime kNow{};

const Vendors& nvidia() {
  static const Vendors vendors = vendors_from(nvidia_default_text());
  return vendors;
}

/// init without card, then an app container with two.
k8s::Pod example_pod(k8s::StringMap annotations) {
  return pod_of({container_of({}, true), container_of({{kGpu, "2"}, {kMem, "15000"}})},
                std::move(annotations));
}

core::Allocation example_allocation() {
  core::Allocation a;
  a.kinds = {core::PositionKind::kInit, core::PositionKind::kApp};
  a.grants = {{1, kRow, "GPU-m0", {19968}, {25}, MigSlice{"2g.20gb", {0, 2}}},
              {1, kRow, "GPU-m0", {19968}, {25}, MigSlice{"2g.20gb", {2, 2}}}};
  a.subject.ns = "team";
  a.subject.best_effort = true;
  return a;
}

constexpr auto kExample13 = ";GPU-m0,NVIDIA,19968,25:GPU-m0,NVIDIA,19968,25:;";
constexpr auto kExample13Reserved =
    R"([{"containerIndex":1,"deviceIndex":0,"gpuUUID":"GPU-m0","profile":"2g.20gb","placement":{"start":0,"size":2}},)"
    R"({"containerIndex":1,"deviceIndex":1,"gpuUUID":"GPU-m0","profile":"2g.20gb","placement":{"start":2,"size":2}}])";

TEST(NvidiaMig, Example13TwoInstancesBehindAnInitContainer) {
  EXPECT_THAT(nvidia().encode(example_allocation(), kNow),
              ElementsAre(Pair(kToAllocate, kExample13), Pair(kAllocated, kExample13),
                          Pair(kReserved, kExample13Reserved)));
}

TEST(NvidiaMig, WhatIsWrittenReadsBack) {
  k8s::Pod pod = example_pod(nvidia().encode(example_allocation(), kNow));
  pod.best_effort = true;
  std::vector<std::string> problems;
  const auto got = nvidia().decode(pod, &problems);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(*got, example_allocation());
  EXPECT_THAT(problems, IsEmpty());
}

std::string entry(int container, int device, std::string_view card, int start) {
  return R"({"containerIndex":)" + std::to_string(container) + R"(,"deviceIndex":)" +
         std::to_string(device) + R"(,"gpuUUID":")" + std::string(card) +
         R"(","profile":"p","placement":{"start":)" + std::to_string(start) + R"(,"size":1}})";
}

struct RecallCase {
  std::string_view name;
  std::string devices, reserved;
  std::string slices;  ///< start of each grant's instance, "-" = none
  std::string stray;   ///< card@start
  bool problem = false;
};

TEST(NvidiaMig, ReservationsFindTheirCardsAndStrayOnesAreKept) {
  const std::string two = ";A,NVIDIA,1,1:B,NVIDIA,1,1:;";
  const RecallCase cases[] = {
      {"by container and card", two, "[" + entry(1, 1, "B", 3) + "," + entry(1, 0, "A", 2) + "]",
       "2 3", ""},
      {"containers counted in another way: the card decides (S-1)", two,
       "[" + entry(0, 0, "A", 2) + "," + entry(0, 1, "B", 3) + "]", "2 3", ""},
      {"a grant without reservation has no instance", two, "[" + entry(1, 0, "A", 2) + "]", "2 -",
       ""},
      {"no annotation at all", two, "[]", "- -", ""},
      {"a reservation of a card that the pod does not hold", two,
       "[" + entry(1, 0, "A", 2) + "," + entry(1, 1, "Z", 5) + "]", "2 -", "Z@5"},
      {"more reservations than grants on a card", two,
       "[" + entry(1, 0, "A", 2) + "," + entry(2, 0, "A", 4) + "]", "2 -", "A@4"},
      {"a bad list counts as none and is reported", two, "[" + entry(1, 0, "A", 2) + ",null]",
       "- -", "", true},
      {"emptied by a later decision (N-4)", two, "", "- -", ""},
  };
  for (const RecallCase& c : cases) {
    std::vector<std::string> problems;
    const auto got =
        nvidia().decode(example_pod({{kAllocated, c.devices}, {kReserved, c.reserved}}), &problems);
    ASSERT_TRUE(got) << c.name << got.error().what;
    std::string slices, stray;
    for (const core::Grant& g : got->grants) {
      slices += (slices.empty() ? "" : " ") +
                (g.mig ? std::to_string(g.mig->placement.start) : std::string("-"));
    }
    for (const core::MigReservation& r : got->stray_mig) {
      stray += r.device + "@" + std::to_string(r.placement.start);
    }
    EXPECT_EQ(slices, c.slices) << c.name;
    EXPECT_EQ(stray, c.stray) << c.name;
    EXPECT_EQ(problems.size(), c.problem ? 1u : 0u) << c.name;
    if (c.problem) {
      EXPECT_EQ(problems.at(0),
                "pod team/p: hami.io/vgpu-mig-allocations: MIG allocations[1]: null is not an "
                "object");
    }
  }
}

TEST(NvidiaMig, ReservationsOfAPodWithoutCardsDoNotCount) {  // S-12
  const k8s::Pod pod =
      pod_of({container_of({{"cpu", "1"}})}, {{kReserved, "[" + entry(0, 0, "A", 2) + "]"}});
  EXPECT_EQ(nvidia().decode(pod).error().code, Code::kNotFound);
}

TEST(NvidiaMig, WhatAnEarlierDecisionLeftIsEmptied) {  // N-4
  const k8s::Pod pod = example_pod({{kReserved, "[" + entry(1, 0, "A", 2) + "]"},
                                    {kAllocated, "A,NVIDIA,1,1:;"},
                                    {kToAllocate, ""},
                                    {"nvidia.com/use-gputype", "A100"}});
  EXPECT_THAT(nvidia().carried_keys(pod), ElementsAre(kAllocated, kReserved));
  core::Allocation plain = example_allocation();
  for (core::Grant& g : plain.grants) g.mig.reset();
  EXPECT_THAT(nvidia().encode(plain, kNow, nvidia().carried_keys(pod)),
              ElementsAre(Pair(kToAllocate, kExample13), Pair(kAllocated, kExample13),
                          Pair(kReserved, "")));
}

// ---- nodes

constexpr auto kTwo =
    R"([{"id":"A","count":10,"devmem":1000,"devcore":100,"type":"X","mode":"hami-core","health":true},)"
    R"({"id":"B","index":1,"count":10,"devmem":1000,"devcore":100,"type":"X","mode":"hami-core","health":true}])";

NodeReading read(k8s::StringMap annotations) {
  k8s::Node node;
  node.name = "n1";
  node.annotations = std::move(annotations);
  node.allocatable = {{kGpu, "20"}};
  return nvidia().read_node(node);
}

TEST(NvidiaNode, PairScoresBecomeLinks) {
  const NodeReading got =
      read({{kRegister, kTwo},
            {kScore, R"([{"uuid":"A","score":{"B":450}},{"uuid":"B","score":{"A":60}}])"}});
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_THAT(got.spec.links, ElementsAre(0, 450, 60, 0));
  for (const auto* none : {"[]", "null"}) {
    const NodeReading without = read({{kRegister, kTwo}, {kScore, none}});
    EXPECT_EQ(without.spec.devices.size(), 2u) << none;
    EXPECT_THAT(without.spec.links, IsEmpty()) << none;
    EXPECT_THAT(without.problems, IsEmpty()) << none;
  }
}

TEST(NvidiaNode, ScoresThatCannotBeReadCostTheRegistration) {  // section 5, rule 5
  for (const auto* bad : {"", "{}", "[null]", R"([{"uuid":"A","score":7}])"}) {
    const NodeReading got = read({{kRegister, kTwo}, {kScore, bad}});
    EXPECT_THAT(got.spec.devices, IsEmpty()) << bad;
    EXPECT_THAT(got.spec.links, IsEmpty()) << bad;
    EXPECT_THAT(got.problems, ElementsAre(HasSubstr("node n1: hami.io/node-nvidia-score: ")))
        << bad;
  }
}

TEST(NvidiaNode, Case128StaticInstancesAreNotOurs) {
  const k8s::Pod pod = pod_asking({{"nvidia.com/mig-2g.20gb", "1"}});
  EXPECT_FALSE(nvidia().asks_devices(pod));
  EXPECT_FALSE(nvidia().keep().resource("nvidia.com/mig-2g.20gb"));
  EXPECT_FALSE(nvidia().mutate(pod)->uses_device);
}

TEST(NvidiaNode, Case229MemoryAsRegisteredIsWhatIsShared) {
  SceneOfVendors scene(nvidia_default_text());
  ASSERT_THAT(
      scene.add_node(
          "n1",
          {{kRegister,
            R"([{"id":"A","count":10,"devmem":49152,"devcore":100,"type":"X","mode":"hami-core","health":true}])"}},
          {{kGpu, "10"}}),
      IsEmpty());
  k8s::Pod pod = pod_asking({{kGpu, "1"}, {kMem, "20000"}});
  for (const auto* uid : {"a", "b"}) {  // 40000 of a card of 24576, scaled by 2
    const Placed got = scene.place(pod);
    ASSERT_EQ(got.node, "n1") << uid << got.refusal;
    pod.annotations = got.written;
    ASSERT_TRUE(scene.add_running(uid, "n1", pod));
    pod.annotations.clear();
  }
  EXPECT_THAT(scene.place(pod).refusal, HasSubstr("CardInsufficientMemory"));

  SceneOfVendors empty(nvidia_default_text());
  empty.add_node(
      "n1",
      {{kRegister,
        R"([{"id":"A","count":10,"devmem":49152,"devcore":100,"type":"X","mode":"hami-core","health":true}])"}},
      {{kGpu, "10"}});
  EXPECT_EQ(empty.place(pod_asking({{kGpu, "1"}, {"nvidia.com/gpumem-percentage", "50"}}))
                .text(kAllocated),
            "A,NVIDIA,24576,0:;");
}

}  // namespace
}  // namespace tessera::vendors
