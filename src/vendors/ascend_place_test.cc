// Placement of Ascend pods: the examples A5 to A10 and A12 of the page, its weak points, the public
// cases on modes and slots, nodes and pods with two vendors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "vendors/ascend.h"
#include "vendors/nvidia.h"
#include "vendors/vendors_test_builders.h"

namespace tessera::vendors {
namespace {

using core::ScoreMode;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const k8s::StringMap kSoft = {{"huawei.com/vnpu-mode", "hami-core"}};

struct Chip {
  std::string id;
  int group = -1;  ///< below 0: none
  int slots = 4;
};

/// Register annotation; indices count from 0.
std::string chips_text(const std::string& word, const std::vector<Chip>& chips, int memory = 65536,
                       int cores = 20) {
  std::string out = "[";
  for (std::size_t i = 0; i < chips.size(); ++i) {
    const Chip& c = chips[i];
    if (i > 0) out += ",";
    out += R"({"id":")" + c.id + R"(","index":)" + std::to_string(i) + R"(,"count":)" +
           std::to_string(c.slots) + R"(,"devmem":)" + std::to_string(memory) + R"(,"devcore":)" +
           std::to_string(cores) + R"(,"type":")" + word + R"(","health":true)";
    if (c.group >= 0) out += R"(,"custominfo":{"NetworkID":)" + std::to_string(c.group) + "}";
    out += "}";
  }
  return out + "]";
}

class AscendPlacement : public testing::Test {
 protected:
  AscendPlacement()
      : scene_(std::string(ascend_default_text()) + std::string(nvidia_default_text())) {}

  void add(const std::string& node, const std::string& word, const std::vector<Chip>& chips,
           k8s::StringMap more = {}, int memory = 65536, int cores = 20) {
    more.emplace_back("hami.io/node-register-" + word, chips_text(word, chips, memory, cores));
    EXPECT_THAT(scene_.add_node(node, std::move(more), {{"huawei.com/" + word, "16"}}), IsEmpty());
  }
  /// A pod that holds a share of a card already.
  void use(const std::string& word, const std::string& chip, int memory, int cores = 0,
           const std::string& node = "n") {
    const std::string text =
        chip + "," + word + "," + std::to_string(memory) + "," + std::to_string(cores) + ":;";
    ASSERT_TRUE(scene_.add_running("u" + std::to_string(++running_), node,
                                   pod_asking({{"huawei.com/" + word, "1"}},
                                              {{"hami.io/" + word + "-devices-allocated", text}})));
  }
  Placed place(const std::string& word, int count, k8s::StringMap annotations = {}) {
    return scene_.place(
        pod_asking({{"huawei.com/" + word, std::to_string(count)}}, std::move(annotations)));
  }
  static std::string key_of(const std::string& word) {
    return "hami.io/" + word + "-devices-allocated";
  }

  SceneOfVendors scene_;
  int running_ = 0;
};

TEST_F(AscendPlacement, A5MissingHealthIsUnhealthy) {
  k8s::Node node;
  node.name = "n";
  node.allocatable = {{"huawei.com/Ascend910B3", "8"}};
  node.annotations = {
      {"hami.io/node-register-Ascend910B3",
       R"([{"ID":"n0","count":4,"Devmem":65536,"devcore":20,"type":"Ascend910B3","health":true,"custominfo":{"NetworkID":0}},)"
       R"({"id":"n1","index":1,"count":4,"devmem":65536,"devcore":20,"type":"Ascend910B3","custominfo":{"NetworkID":0}}])"}};
  const NodeReading got = scene_.vendors().read_node(node);
  ASSERT_THAT(got.spec.devices, SizeIs(2));
  EXPECT_EQ(got.spec.devices[0].index, 0U);
  EXPECT_TRUE(got.spec.devices[0].healthy);
  EXPECT_EQ(got.spec.devices[0].group, 0);
  EXPECT_EQ(got.spec.devices[1].index, 1U);
  EXPECT_FALSE(got.spec.devices[1].healthy);
  EXPECT_EQ(scene_.vendors().at(got.spec.devices[0].vendor).word, "Ascend910B3");
}

TEST_F(AscendPlacement, A6TwoCardsOfOneGroup) {
  scene_.use_mode(ScoreMode::kHami);
  add("n", "Ascend910B3", {{"a", 0}, {"b", 0}, {"c", 1}, {"d", 1}});
  const Placed idle = place("Ascend910B3", 3);
  EXPECT_NEAR(idle.score, 6.6667, 0.001) << "2 + 1 over the groups";
  use("Ascend910B3", "b", 16384);
  const Placed got = place("Ascend910B3", 2);
  EXPECT_EQ(got.text(key_of("Ascend910B3")), "d,Ascend910B3,65536,0:c,Ascend910B3,65536,0:;");
  EXPECT_EQ(got.text("huawei.com/Ascend910B3"),
            R"([{"UUID":"d","memory":65536},{"UUID":"c","memory":65536}])");
  EXPECT_NEAR(got.score, 11.25, 0.001);
}

TEST_F(AscendPlacement, A7WholeModules) {
  scene_.use_mode(ScoreMode::kHami);
  const std::string word = "Ascend910C";
  add("n", word,
      {{"a", -1, 2}, {"b", -1, 2}, {"c", -1, 2}, {"d", -1, 2}, {"e", -1, 2}, {"f", -1, 2}});
  use(word, "d", 16384);
  use(word, "d", 16384);
  const auto whole = [](const char* chip) { return std::string(chip) + ",Ascend910C,65536,0:"; };
  EXPECT_EQ(place(word, 4).text(key_of(word)),
            whole("f") + whole("e") + whole("b") + whole("a") + ";");
  scene_.use_mode(ScoreMode::kCorrected);
  EXPECT_EQ(place(word, 4).text(key_of(word)),
            whole("a") + whole("b") + whole("e") + whole("f") + ";")
      << "ties: the lowest index (D18)";
  for (const ScoreMode mode : {ScoreMode::kHami, ScoreMode::kCorrected}) {
    scene_.use_mode(mode);
    EXPECT_EQ(place(word, 3).node, "") << "odd counts break modules of a super pod";
  }
  use(word, "f", 16384);
  use(word, "f", 16384);
  EXPECT_EQ(place(word, 4).refusal,
            "2/4 AllocatedCardsInsufficientRequest, 2/4 CardTimeSlicingExhausted");
}

TEST_F(AscendPlacement, A8SoftSlices) {
  scene_.use_mode(ScoreMode::kHami);
  const k8s::StringMap limits = {{"huawei.com/Ascend910B3", "1"},
                                 {"huawei.com/Ascend910B3-memory", "15k"},
                                 {"huawei.com/Ascend910B3-core", "30"}};
  add("hard", "Ascend910B3", {{"p"}, {"q"}, {"r"}, {"s"}});
  EXPECT_EQ(scene_.place(pod_asking(limits, kSoft)).refusal, "1/4 ModeNotFit");
  EXPECT_TRUE(scene_.place(pod_asking(limits, kSoft)).reject.unresolvable()) << "D5";
  add("n", "Ascend910B3", {{"a"}, {"b"}}, {{"hami-vnpu-core", "true"}});
  const Placed got = scene_.place(pod_asking(limits, kSoft));
  EXPECT_EQ(got.node, "n");
  EXPECT_EQ(got.text("huawei.com/Ascend910B3"), R"([{"UUID":"b","memory":15000,"core":30}])");
}

TEST_F(AscendPlacement, A8CoresAreCountedOutOfHundred) {
  add("n", "Ascend910B3", {{"a"}, {"b"}}, {{"hami-vnpu-core", "true"}});
  use("Ascend910B3", "a", 1000, 75);
  EXPECT_EQ(scene_
                .place(pod_asking({{"huawei.com/Ascend910B3", "2"},
                                   {"huawei.com/Ascend910B3-memory", "15k"},
                                   {"huawei.com/Ascend910B3-core", "30"}},
                                  kSoft))
                .refusal,
            "1/2 AllocatedCardsInsufficientRequest, 1/2 CardInsufficientCore");
  const Placed fits = scene_.place(pod_asking({{"huawei.com/Ascend910B3", "1"},
                                               {"huawei.com/Ascend910B3-memory", "16384"},
                                               {"huawei.com/Ascend910B3-core", "25"}},
                                              kSoft));
  EXPECT_THAT(fits.text("huawei.com/Ascend910B3"), Not(HasSubstr("temp")))
      << "soft slices have no template, whatever their memory";
}

TEST_F(AscendPlacement, A9OneEntryPerContainer) {
  add("n", "Ascend910A", {{"p"}},
      {{"hami.io/node-register-Ascend310P", chips_text("Ascend310P", {{"x"}}, 21527, 8)}}, 32768,
      30);
  const Placed got = scene_.place(pod_of(
      {container_of({}),
       container_of({{"huawei.com/Ascend910A", "1"}, {"huawei.com/Ascend910A-memory", "2184"}})}));
  EXPECT_EQ(got.text("hami.io/Ascend910A-devices-allocated"), ";p,Ascend910A,2184,0:;");
  EXPECT_EQ(got.text("hami.io/Ascend910A-devices-to-allocate"), ";p,Ascend910A,2184,0:;");
  EXPECT_EQ(got.text("huawei.com/Ascend910A"), R"([{"UUID":"p","temp":"vir02","memory":2184}])");
  EXPECT_EQ(got.text("predicate-time"), "0") << "the clock of this test";
  EXPECT_EQ(got.text("hami.io/Ascend310P-devices-allocated"), "")
      << "corrected: a vendor that the pod does not use gets no text";
}

TEST_F(AscendPlacement, A10AnInitContainerCountsWithItsPeak) {
  add("n", "Ascend310P", {{"h"}}, {}, 21527, 8);
  const k8s::Pod pod = pod_of(
      {container_of({{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "12288"}},
                    true),
       container_of({{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "3072"}})});
  const Placed got = scene_.place(pod);
  EXPECT_EQ(got.text("hami.io/Ascend310P-devices-allocated"),
            "h,Ascend310P,12288,0:;h,Ascend310P,3072,0:;");
  EXPECT_EQ(
      got.text("huawei.com/Ascend310P"),
      R"([{"UUID":"h","temp":"vir04","memory":12288},{"UUID":"h","temp":"vir01","memory":3072}])");
  k8s::Pod running = pod;
  running.annotations = got.written;
  ASSERT_TRUE(scene_.add_running("u", "n", running));
  const core::Usage used = scene_.cluster().node(NodeId{0}).used[0];
  EXPECT_EQ(used.memory.v, 12288);
  EXPECT_EQ(used.slots, 1);
}

TEST_F(AscendPlacement, A12ListsOfIdsAndRequestsOnly) {
  add("n", "Ascend910B4-1", {{"q0"}, {"q1"}, {"q2"}});
  EXPECT_THAT(place("Ascend910B4-1", 1, {{"hami.io/use-Ascend910B4-1-uuid", " q1 , zz"}})
                  .text(key_of("Ascend910B4-1")),
              HasSubstr("q1,"));
  EXPECT_EQ(place("Ascend910B4-1", 1, {{"hami.io/no-use-Ascend910B4-1-uuid", "q0,q1,q2"}}).refusal,
            "3/3 CardUuidMismatch");
  add("m", "Ascend310P", {{"h"}}, {}, 21527, 8);
  k8s::Pod pod = pod_asking({});
  pod.containers[0].requests = {{"huawei.com/Ascend310P", "1"}};
  EXPECT_EQ(scene_.place(pod).text("hami.io/Ascend310P-devices-allocated"),
            "h,Ascend310P,21527,0:;");
}

TEST_F(AscendPlacement, Case203APodWithoutModeMayUseEither) {
  add("hard", "Ascend910B3", {{"p"}});
  EXPECT_EQ(place("Ascend910B3", 1, kSoft).refusal, "1/1 ModeNotFit");
  EXPECT_EQ(place("Ascend910B3", 1).node, "hard");
  add("soft", "Ascend910A", {{"q"}}, {{"hami-vnpu-core", "true"}}, 32768, 30);
  EXPECT_EQ(place("Ascend910A", 1).node, "soft");
}

TEST(AscendNodeMode, TheAnnotationBeatsTheClustersDefault) {
  std::string yaml(ascend_default_text());
  yaml.replace(yaml.find("hamiVnpuCore: false"), 19, "hamiVnpuCore: true");
  SceneOfVendors scene(yaml);
  const std::string chips = chips_text("Ascend910B3", {{"a"}});
  scene.add_node("off", {{"hami.io/node-register-Ascend910B3", chips}, {"hami-vnpu-core", "false"}},
                 {{"huawei.com/Ascend910B3", "4"}});
  const k8s::Pod pod = pod_asking({{"huawei.com/Ascend910B3", "1"}}, kSoft);
  EXPECT_EQ(scene.place(pod).refusal, "1/1 ModeNotFit");
  scene.add_node("by-default", {{"hami.io/node-register-Ascend910B3", chips}},
                 {{"huawei.com/Ascend910B3", "4"}});
  EXPECT_EQ(scene.place(pod).node, "by-default");
}

TEST_F(AscendPlacement, Case205MoreMemoryThanTheCardIsNoWholeCard) {
  add("n", "Ascend910A", {{"a"}}, {}, 32768, 30);
  k8s::Pod pod = pod_asking({});
  pod.containers[0].requests = {{"huawei.com/Ascend910A", "1"},
                                {"huawei.com/Ascend910A-memory", "65536"}};
  EXPECT_EQ(scene_.place(pod).refusal, "1/1 CardInsufficientMemory");
}

TEST_F(AscendPlacement, Case206SlotsLimitSoftSlicesToo) {
  add("n", "Ascend910B3", {{"a", -1, 4}}, {{"hami-vnpu-core", "true"}});
  for (int i = 0; i < 4; ++i) use("Ascend910B3", "a", 5120, 9);
  EXPECT_EQ(scene_
                .place(pod_asking({{"huawei.com/Ascend910B3", "1"},
                                   {"huawei.com/Ascend910B3-memory", "5120"},
                                   {"huawei.com/Ascend910B3-core", "9"}},
                                  kSoft))
                .refusal,
            "1/1 CardTimeSlicingExhausted");
}

TEST_F(AscendPlacement, AChipBelongsToItsOwnWordOnly) {  // S-20, weak point 2
  add("n", "Ascend910B4-1", {{"a"}, {"b"}});
  for (const ScoreMode mode : {ScoreMode::kHami, ScoreMode::kCorrected}) {
    scene_.use_mode(mode);
    EXPECT_EQ(place("Ascend910B4", 1).node, "");
    EXPECT_EQ(place("Ascend910B4-1", 1).node, "n");
  }
}

TEST_F(AscendPlacement, GroupsThatAreNoNumbersNeverShortenAGrant) {  // weak point 1
  std::string text = chips_text("Ascend910B3", {{"a", 0}, {"b", 0}, {"c", 0}});
  for (std::size_t at = text.find(":0}"); at != std::string::npos; at = text.find(":0}")) {
    text.replace(at, 3, ":\"x\"}");
  }
  ASSERT_THAT(scene_.add_node("n", {{"hami.io/node-register-Ascend910B3", text}},
                              {{"huawei.com/Ascend910B3", "12"}}),
              IsEmpty());
  for (const ScoreMode mode : {ScoreMode::kHami, ScoreMode::kCorrected}) {
    scene_.use_mode(mode);
    const std::string got = place("Ascend910B3", 2).text(key_of("Ascend910B3"));
    EXPECT_EQ(std::count(got.begin(), got.end(), ':'), 2) << got;
  }
}

TEST_F(AscendPlacement, WellLinkedNodesWinUnderEveryPolicy) {  // weak point 5, D3
  const std::string word = "Ascend910B3";
  add("apart", word, {{"a", 0}, {"b", 1}, {"c", 2}});
  add("together", word, {{"d", 0}, {"e", 3}, {"f", 3}});
  use(word, "d", 16384, 0, "together");
  const k8s::StringMap spread = {{"hami.io/node-scheduler-policy", "spread"}};
  const k8s::StringMap binpack = {{"hami.io/node-scheduler-policy", "binpack"}};
  EXPECT_EQ(place(word, 2, spread).node, "together");
  EXPECT_EQ(place(word, 2, binpack).node, "together");
  EXPECT_EQ(place(word, 2, spread).text(key_of(word)),
            "e,Ascend910B3,65536,0:f,Ascend910B3,65536,0:;");
  scene_.use_mode(ScoreMode::kHami);
  EXPECT_EQ(place(word, 2, spread).node, "apart") << "spread takes the lowest sum";
}

TEST_F(AscendPlacement, TwoVendorsOnANodeAndInAPod) {
  ASSERT_THAT(
      scene_.add_node(
          "n",
          {{"hami.io/node-register-Ascend310P", chips_text("Ascend310P", {{"npu"}}, 21527, 8)},
           {"hami.io/node-nvidia-register",
            R"([{"id":"gpu","count":10,"devmem":24576,"devcore":100,"type":"T4","health":true}])"}},
          {{"huawei.com/Ascend310P", "4"}, {"nvidia.com/gpu", "10"}}),
      IsEmpty());
  const k8s::StringMap npu = {{"huawei.com/Ascend310P", "1"}};
  const k8s::StringMap gpu = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "1000"}};
  for (const ScoreMode mode : {ScoreMode::kHami, ScoreMode::kCorrected}) {
    scene_.use_mode(mode);
    const Placed got = scene_.place(pod_of({container_of(npu), container_of(gpu)}));
    EXPECT_EQ(got.text("hami.io/Ascend310P-devices-allocated"), "npu,Ascend310P,21527,0:;;");
    EXPECT_EQ(got.text("hami.io/vgpu-devices-allocated"), ";gpu,NVIDIA,1000,0:;");
    k8s::StringMap both = npu;
    both.insert(both.end(), gpu.begin(), gpu.end());
    const Placed one = scene_.place(pod_asking(both));
    EXPECT_EQ(one.text("hami.io/Ascend310P-devices-allocated"), "npu,Ascend310P,21527,0:;");
    EXPECT_EQ(one.text("hami.io/vgpu-devices-allocated"), "gpu,NVIDIA,1000,0:;");
  }
  k8s::StringMap two_npus = {{"huawei.com/Ascend310P", "2"}};
  EXPECT_EQ(scene_.place(pod_of({container_of(gpu), container_of(two_npus)})).refusal,
            "NodeInsufficientDevice");
}

TEST_F(AscendPlacement, WhatIsWrittenReadsBack) {
  add("n", "Ascend910B3", {{"a"}, {"b"}}, {{"hami-vnpu-core", "true"}});
  for (const k8s::StringMap& mode : {k8s::StringMap{}, kSoft}) {
    k8s::Pod pod = pod_asking(
        {{"huawei.com/Ascend910B3", "1"}, {"huawei.com/Ascend910B3-memory", "16384"}}, mode);
    const Placed got = scene_.place(pod);
    for (const auto& entry : got.written) pod.annotations.push_back(entry);
    pod.node_name = "n";
    const auto read = scene_.vendors().decode(pod);
    ASSERT_TRUE(read);
    EXPECT_EQ(scene_.vendors().encode(*read, WallTime{}), got.written);
  }
}

}  // namespace
}  // namespace tessera::vendors
