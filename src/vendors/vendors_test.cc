#include "vendors/vendors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "policies/registry.h"
#include "vendors/nvidia.h"

namespace tessera::vendors {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr auto kGpu = "nvidia.com/gpu";
constexpr auto kMem = "nvidia.com/gpumem";
constexpr auto kRegister = "hami.io/node-nvidia-register";
constexpr auto kAllocated = "hami.io/vgpu-devices-allocated";
constexpr auto kToAllocate = "hami.io/vgpu-devices-to-allocate";
constexpr auto kTwoCards =
    R"([{"id":"GPU-0","count":10,"devmem":24576,"devcore":100,"type":"NVIDIA-Tesla T4","mode":"hami-core","health":true},)"
    R"({"id":"GPU-1","index":1,"count":10,"devmem":24576,"devcore":100,"type":"NVIDIA-Tesla T4","mode":"hami-core"}])";

constexpr WallTime kNow{};

class VendorsTest : public testing::Test {
 protected:
  VendorsTest()
      : vendors_(*Vendors::make(parse_device_config(nvidia_default_text()).config)),
        defaults_{policies::find_node_policy("binpack"), {policies::find_device_policy("spread")}} {
  }

  Vendors vendors_;
  PolicyDefaults defaults_;
};

k8s::Container asking(k8s::StringMap limits, bool init = false, bool sidecar = false) {
  k8s::Container c;
  c.name = init ? "i" : "c";
  c.init = init;
  c.sidecar = sidecar;
  c.limits = std::move(limits);
  return c;
}

k8s::Pod pod_with(std::vector<k8s::Container> containers, k8s::StringMap annotations = {}) {
  k8s::Pod pod;
  pod.ns = "team";
  pod.name = "p";
  pod.uid = "uid-p";
  pod.node_name = "n1";
  pod.containers = std::move(containers);
  pod.annotations = std::move(annotations);
  return pod;
}

k8s::Node node_with(k8s::StringMap annotations, k8s::StringMap allocatable) {
  k8s::Node node;
  node.name = "n1";
  node.annotations = std::move(annotations);
  node.allocatable = std::move(allocatable);
  return node;
}

// ---- nodes
// ---------------------------------------------------------------------------------------------------------

TEST_F(VendorsTest, ANodeIsReadFromItsAnnotationsAndAllocatable) {
  const NodeReading got =
      vendors_.read_node(node_with({{kRegister, kTwoCards},
                                    {"hami.io/device-cordon", " GPU-1 ,, GPU-9"},
                                    {"hami.io/mutex.lock", "x"}},
                                   {{kGpu, "20"}}));
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_TRUE(got.has_register);
  EXPECT_EQ(got.spec.name, "n1");
  ASSERT_EQ(got.spec.devices.size(), 2u);
  EXPECT_TRUE(got.spec.devices[0].healthy);
  EXPECT_FALSE(got.spec.devices[1].healthy) << "missing health means unhealthy (D9)";
  EXPECT_THAT(got.spec.offered, ElementsAre(true));
  EXPECT_THAT(got.spec.cordoned, ElementsAre("GPU-1", "GPU-9"));
  EXPECT_TRUE(got.spec.locked);
}

struct OfferedCase {
  std::string_view name;
  k8s::StringMap allocatable;
  bool offered;
};

TEST_F(VendorsTest, DevicesAreOfferedWhileTheCountResourceIsAllocatable) {
  const OfferedCase cases[] = {
      {"some", {{kGpu, "1"}}, true},          {"none (D9)", {{kGpu, "0"}}, false},
      {"no such resource", {}, false},        {"another resource", {{"cpu", "8"}}, false},
      {"a short form", {{kGpu, "1k"}}, true}, {"negative", {{kGpu, "-1"}}, false},
  };
  for (const OfferedCase& c : cases) {
    const NodeReading got = vendors_.read_node(node_with({{kRegister, kTwoCards}}, c.allocatable));
    EXPECT_EQ(got.spec.offered[0], c.offered) << c.name;
    EXPECT_EQ(got.spec.devices.size(), 2u) << c.name << ": known all the same (D9)";
  }
}

TEST_F(VendorsTest, ABadAnnotationIsAProblemNotACrash) {
  for (const auto* text : {"[null]", "", "{}", R"([{"id":"a"},{"id":"a"}])", R"([{"devmem":1}])"}) {
    const NodeReading got = vendors_.read_node(node_with({{kRegister, text}}, {{kGpu, "1"}}));
    EXPECT_TRUE(got.has_register) << text;
    EXPECT_THAT(got.spec.devices, IsEmpty()) << text;
    EXPECT_THAT(got.problems, ElementsAre(HasSubstr("node n1: hami.io/node-nvidia-register: ")))
        << text;
  }
  const NodeReading odd = vendors_.read_node(node_with({{kRegister, "[]"}}, {{kGpu, "many"}}));
  EXPECT_THAT(odd.problems, ElementsAre(HasSubstr("status.allocatable")));
}

TEST_F(VendorsTest, ANodeWithoutRegisterAnnotationHasNone) {
  EXPECT_FALSE(vendors_.read_node(node_with({}, {{kGpu, "1"}})).has_register);
}

TEST_F(VendorsTest, OldTextRegistrationsAreRead) {  // case 228
  const NodeReading got = vendors_.read_node(
      node_with({{kRegister, "GPU-0,10,16376,100,NVIDIA-NVIDIA RTX A4000,0,true,0,hami-core:"}},
                {{kGpu, "10"}}));
  ASSERT_EQ(got.spec.devices.size(), 1u);
  EXPECT_EQ(got.spec.devices[0].memory.v, 16376);
}

// ---- demand
// --------------------------------------------------------------------------------------------------------

TEST_F(VendorsTest, EveryContainerIsAPosition) {
  const auto got =
      vendors_.demand(pod_with({asking({}, true), asking({{kGpu, "1"}, {kMem, "500"}}, true, true),
                                asking({}), asking({{kGpu, "2"}, {kMem, "1000"}})}),
                      defaults_);
  ASSERT_TRUE(got);
  const core::Request& r = got->request;
  EXPECT_EQ(r.uid.v, "uid-p");
  EXPECT_EQ(r.pod_namespace, "team");
  ASSERT_EQ(r.positions.size(), 4u);
  EXPECT_EQ(r.positions[0].kind, core::PositionKind::kInit);
  EXPECT_EQ(r.positions[1].kind, core::PositionKind::kSidecar);
  EXPECT_EQ(r.positions[3].kind, core::PositionKind::kApp);
  EXPECT_THAT(r.positions[0].asks, IsEmpty());
  EXPECT_EQ(r.positions[1].asks[0].memory.v, 500);
  EXPECT_THAT(r.positions[2].asks, IsEmpty());
  EXPECT_EQ(r.positions[3].asks[0].count, 2);
  EXPECT_TRUE(r.asks_devices());
  EXPECT_TRUE(vendors_.needs_lock(r));
  EXPECT_EQ(r.node_policy, defaults_.node);
  EXPECT_EQ(r.device_policies, defaults_.devices);
}

TEST_F(VendorsTest, APodWithoutDevicesAsksNothing) {
  for (const auto& limits : {k8s::StringMap{}, {{"cpu", "1"}}, {{kGpu, "0"}}}) {
    const k8s::Pod pod = pod_with({asking(limits)});
    const auto got = vendors_.demand(pod, defaults_);
    ASSERT_TRUE(got);
    EXPECT_FALSE(got->request.asks_devices());
    EXPECT_FALSE(vendors_.needs_lock(got->request));
    EXPECT_FALSE(vendors_.asks_devices(pod));
  }
}

TEST_F(VendorsTest, AskingIsSeenEvenBeforeTheWebhookHasCompletedThePod) {
  EXPECT_TRUE(vendors_.asks_devices(pod_with({asking({{kMem, "100"}})})));
  EXPECT_TRUE(vendors_.asks_devices(pod_with({asking({{kGpu, "x"}})})));
  EXPECT_TRUE(vendors_.asks_devices(pod_with({asking({{kGpu, "1"}}, true), asking({})})));
}

TEST_F(VendorsTest, ABadQuantityIsAnErrorOfTheWholePod) {
  const auto got = vendors_.demand(
      pod_with({asking({{kGpu, "1"}}), asking({{kGpu, "1"}, {kMem, "-1"}})}), defaults_);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr(R"(nvidia.com/gpumem: "-1" is negative)"));
}

struct ListCase {
  std::string_view name;
  k8s::StringMap annotations;
  std::vector<std::string> use_models, nouse_models, use_ids, nouse_ids;
};

TEST_F(VendorsTest, ListsAreTrimmedAndBlankEntriesDropped) {
  const ListCase cases[] = {
      {"models are compared in upper case",
       {{"nvidia.com/use-gputype", "h100, a100"}},
       {"H100", "A100"},
       {},
       {},
       {}},
      {"trailing comma (case 41)", {{"nvidia.com/nouse-gputype", "A100,"}}, {}, {"A100"}, {}, {}},
      {"blanks only (case 41)", {{"nvidia.com/use-gputype", ", "}}, {}, {}, {}, {}},
      {"empty id lists (case 42)",
       {{"nvidia.com/use-gpuuuid", ""}, {"nvidia.com/nouse-gpuuuid", ""}},
       {},
       {},
       {},
       {}},
      {"both (case 43)",
       {{"nvidia.com/use-gpuuuid", " GPU-0 ,GPU-1"}, {"nvidia.com/nouse-gpuuuid", "GPU-0"}},
       {},
       {},
       {"GPU-0", "GPU-1"},
       {"GPU-0"}},
  };
  for (const ListCase& c : cases) {
    const auto got = vendors_.demand(pod_with({asking({{kGpu, "1"}})}, c.annotations), defaults_);
    ASSERT_TRUE(got) << c.name;
    ASSERT_EQ(got->request.constraints.size(), 1u) << c.name;
    const core::Constraints& k = got->request.constraints[0];
    EXPECT_EQ(k.use_models, c.use_models) << c.name;
    EXPECT_EQ(k.nouse_models, c.nouse_models) << c.name;
    EXPECT_EQ(k.use_ids, c.use_ids) << c.name;
    EXPECT_EQ(k.nouse_ids, c.nouse_ids) << c.name;
    EXPECT_FALSE(k.modes) << c.name;
    EXPECT_FALSE(k.numa_bind) << c.name;
  }
}

TEST_F(VendorsTest, ModeAndNumaBindArePassedOn) {
  const auto constraints = [&](k8s::StringMap annotations) {
    return vendors_.demand(pod_with({asking({{kGpu, "1"}})}, std::move(annotations)), defaults_)
        ->request.constraints[0];
  };
  EXPECT_EQ(constraints({{"nvidia.com/vgpu-mode", "hami-core,mig"}}).modes, "hami-core,mig");
  EXPECT_TRUE(constraints({{"nvidia.com/numa-bind", "True"}}).numa_bind);
  EXPECT_FALSE(constraints({{"nvidia.com/numa-bind", "yes"}}).numa_bind);
}

struct PolicyCase {
  std::string_view name;
  k8s::StringMap annotations;
  std::string_view node;
  std::vector<std::string> devices;
  std::size_t warnings;
};

TEST_F(VendorsTest, APodChoosesItsPoliciesAmongThoseServed) {
  constexpr auto kNode = "hami.io/node-scheduler-policy";
  constexpr auto kDevice = "hami.io/gpu-scheduler-policy";
  const PolicyCase cases[] = {
      {"none named", {}, "binpack", {"spread"}, 0},
      {"only the node's (case 70)", {{kNode, "spread"}}, "spread", {"spread"}, 0},
      {"only the device's", {{kDevice, "binpack"}}, "binpack", {"binpack"}, 0},
      {"blanks around (E8, S-25)",
       {{kDevice, " binpack"}, {kNode, "spread "}},
       "spread",
       {"binpack"},
       0},
      {"unknown words (D7)", {{kNode, "bin-pack"}, {kDevice, "foo"}}, "binpack", {"spread"}, 2},
      {"empty", {{kNode, ""}, {kDevice, ""}}, "binpack", {"spread"}, 0},
      {"of a chain the words that are served",
       {{kDevice, "foo,binpack,binpack"}},
       "binpack",
       {"binpack"},
       1},
  };
  for (const PolicyCase& c : cases) {
    const auto got = vendors_.demand(pod_with({asking({{kGpu, "1"}})}, c.annotations), defaults_);
    ASSERT_TRUE(got) << c.name;
    EXPECT_EQ(got->request.node_policy->name(), c.node) << c.name;
    std::vector<std::string> devices;
    for (const auto* policy : got->request.device_policies) devices.emplace_back(policy->name());
    EXPECT_EQ(devices, c.devices) << c.name;
    EXPECT_EQ(got->warnings.size(), c.warnings) << c.name;
  }
}

// ---- device texts
// --------------------------------------------------------------------------------------------------

core::Allocation allocation_of(std::vector<core::PositionKind> kinds,
                               std::vector<core::Grant> grants) {
  core::Allocation a;
  a.node = "n1";
  a.kinds = std::move(kinds);
  a.grants = std::move(grants);
  return a;
}

constexpr auto kInit = core::PositionKind::kInit;
constexpr auto kApp = core::PositionKind::kApp;

TEST_F(VendorsTest, OneEntryPerPositionUnderBothKeys) {  // S-1, E16
  const auto a = allocation_of({kInit, kApp, kApp, kApp}, {{1, VendorId{0}, "A", {2500}, {25}},
                                                           {3, VendorId{0}, "B", {2500}, {25}}});
  EXPECT_THAT(vendors_.encode(a, kNow),
              ElementsAre(Pair(kToAllocate, ";A,NVIDIA,2500,25:;;B,NVIDIA,2500,25:;"),
                          Pair(kAllocated, ";A,NVIDIA,2500,25:;;B,NVIDIA,2500,25:;")));
  EXPECT_THAT(vendors_.encode(allocation_of({kApp}, {}), kNow), IsEmpty());
}

TEST_F(VendorsTest, WhatIsWrittenReadsBack) {
  const k8s::StringMap one = {{kGpu, "1"}};
  const auto a = allocation_of({kInit, kApp, kApp}, {{0, VendorId{0}, "A", {1}, {2}},
                                                     {2, VendorId{0}, "B", {3}, {4}},
                                                     {2, VendorId{0}, "A", {3}, {4}}});
  const auto got = vendors_.decode(
      pod_with({asking(one, true), asking({}), asking(one)}, vendors_.encode(a, kNow)));
  ASSERT_TRUE(got);
  core::Allocation with_subject = a;
  with_subject.subject = {"team", false, false, ""};
  EXPECT_EQ(*got, with_subject);
}

struct DecodeCase {
  std::string_view name, text;
  std::vector<std::uint32_t> positions;
};

TEST_F(VendorsTest,
       ShortTextsBelongToTheContainersThatAsk) {  // S-1: what HAMi writes on real nodes
  const k8s::StringMap one = {{kGpu, "1"}};
  const DecodeCase cases[] = {
      {"short form", "A,NVIDIA,2500,25:;B,NVIDIA,2500,25:;", {1, 3}},
      {"full form", ";A,NVIDIA,2500,25:;;B,NVIDIA,2500,25:;", {1, 3}},
      {"full form after round trips through an agent",
       ";A,NVIDIA,2500,25:;;B,NVIDIA,2500,25:;;;",
       {1, 3}},
      {"neither: taken as written", "A,NVIDIA,2500,25:;", {0}},
  };
  for (const DecodeCase& c : cases) {
    const auto got =
        vendors_.decode(pod_with({asking({}, true), asking(one), asking({}), asking(one)},
                                 {{kAllocated, std::string(c.text)}}));
    ASSERT_TRUE(got) << c.name;
    std::vector<std::uint32_t> positions;
    for (const core::Grant& g : got->grants) positions.push_back(g.position);
    EXPECT_EQ(positions, c.positions) << c.name;
    EXPECT_EQ(got->kinds.size(), 4u) << c.name;
    EXPECT_EQ(got->node, "n1") << c.name;
  }
}

TEST_F(VendorsTest, Case28OddTextsNeverCrashAndAreNoAllocation) {
  const std::pair<std::string_view, Code> cases[] = {
      {"", Code::kNotFound},
      {";", Code::kNotFound},
      {"GPU-0", Code::kNotFound},
      {":::;;;", Code::kNotFound},
      {"GPU-0,NVIDIA,1000:;", Code::kInvalid},
      {"GPU-0,NVIDIA,99999999999,0:;", Code::kInvalid},
  };
  for (const auto& [text, code] : cases) {
    const auto got =
        vendors_.decode(pod_with({asking({{kGpu, "1"}})}, {{kAllocated, std::string(text)}}));
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code, code) << text;
    if (code == Code::kInvalid) {
      EXPECT_THAT(got.error().what, HasSubstr("pod team/p: hami.io/vgpu-devices-allocated: "));
    }
  }
}

TEST_F(VendorsTest, ANegativeShareGivesNobodyRoom) {  // example 9, but never less than nothing
  const auto got =
      vendors_.decode(pod_with({asking({{kGpu, "1"}})}, {{kAllocated, "GPU-x,NVIDIA,+100,-5:;"}}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->grants[0].memory.v, 100);
  EXPECT_EQ(got->grants[0].cores.v, 0);
}

TEST_F(VendorsTest, TextsOfAPodThatAsksNothingDoNotCount) {  // S-12, case 93
  const auto got = vendors_.decode(
      pod_with({asking({{"cpu", "1"}})}, {{kAllocated, "GPU-0,NVIDIA,24576,100:;"}}));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound);
}

// ---- webhook
// -------------------------------------------------------------------------------------------------------

TEST_F(VendorsTest, MutationCoversInitContainersAndSetsTheRuntimeClassOnce) {  // cases 56, 107
  DeviceConfig config = parse_device_config(nvidia_default_text()).config;
  config.vendors.front().runtime_class = "nvidia";
  const Vendors vendors = *Vendors::make(config);
  const auto got = vendors.mutate(pod_with({asking({{kMem, "1000"}}, true), asking({})}));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->uses_device);
  EXPECT_THAT(got->containers[0].set_limits, ElementsAre(Pair(kGpu, "1")));
  EXPECT_FALSE(got->containers[1].uses_device);
  EXPECT_EQ(got->runtime_class, "nvidia");
  EXPECT_THAT(got->warnings, IsEmpty());

  k8s::Pod kata = pod_with({asking({{kGpu, "1"}})});
  kata.runtime_class = "kata";
  EXPECT_EQ(vendors.mutate(kata)->runtime_class, "");
  EXPECT_EQ(vendors.mutate(pod_with({asking({{"cpu", "1"}})}))->runtime_class, "");
}

TEST_F(VendorsTest, MutationWarnsOfWhatIsTakenAnotherWay) {  // D7, case 40
  const auto got =
      vendors_.mutate(pod_with({asking({{kGpu, "1"}, {"nvidia.com/gpucores", "120"}})},
                               {{kMem, "4000"}, {"hami.io/gpu-scheduler-policy", "foo"}}));
  ASSERT_TRUE(got);
  EXPECT_THAT(got->warnings,
              Contains("annotation nvidia.com/gpumem: \"4000\" is ignored, use resources.limits"));
  EXPECT_THAT(got->warnings, Contains(HasSubstr("\"foo\" is not a policy that is served")));
  EXPECT_THAT(got->warnings, Contains("container c: nvidia.com/gpucores: 120 counts as 100"));
  EXPECT_EQ(got->warnings.size(), 3u);
}

TEST_F(VendorsTest, SchedulerKeysAreOursAndTheAgentsNotTheUsers) {
  for (const auto* key :
       {"hami.io/vgpu-node", "hami.io/vgpu-time", "hami.io/bind-time", "hami.io/bind-phase",
        kToAllocate, kAllocated, "hami.io/dcu-devices-allocated", "hami.io/vgpu-mig-allocations",
        "tessera.io/preemption"}) {
    EXPECT_TRUE(vendors_.is_scheduler_key(key)) << key;
  }
  for (const auto* key :
       {"hami.io/gpu-scheduler-policy", "hami.io/node-scheduler-policy", "hami.io/webhook",
        "nvidia.com/use-gputype", "vgpu-node", "example.com/vgpu-node", "tessera.iox/a"}) {
    EXPECT_FALSE(vendors_.is_scheduler_key(key)) << key;
  }
}

TEST_F(VendorsTest, DecodersKeepWhatTheSchedulerReads) {
  const k8s::Keep keep = vendors_.keep();
  for (const auto* key :
       {kRegister, "hami.io/device-cordon", "hami.io/mutex.lock", kAllocated, "hami.io/vgpu-node",
        "hami.io/gpu-scheduler-policy", "nvidia.com/use-gpuuuid", "nvidia.com/numa-bind"}) {
    EXPECT_TRUE(keep.annotation(key)) << key;
  }
  EXPECT_FALSE(keep.annotation("kubectl.kubernetes.io/last-applied-configuration"));
  EXPECT_TRUE(keep.resource(kGpu));
  EXPECT_TRUE(keep.resource("nvidia.com/priority"));
  EXPECT_FALSE(keep.resource("cpu"));
  EXPECT_FALSE(keep.label("app"));
}

TEST_F(VendorsTest, ResourceNamesInTheOrderOfTheConfiguration) {
  EXPECT_THAT(vendors_.resource_names(),
              ElementsAre("nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores",
                          "nvidia.com/gpumem-percentage", "nvidia.com/priority"));
  EXPECT_EQ(vendors_.rules().size(), vendors_.all().size());
}

TEST(VendorTable, AConfigurationThatNobodyServesIsAnError) {
  EXPECT_FALSE(
      Vendors::make(parse_device_config("biren: {resourceCountName: acme.test/br}").config));
}

}  // namespace
}  // namespace tessera::vendors
