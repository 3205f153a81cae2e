// Configuration, webhook and requests of Ascend pods: the examples A1 to A4, A8, A11 and A12 of the
// page, the public cases on rounding and modes. Placement: ascend_place_test.cc.
#include "vendors/ascend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "vendors/vendors_test_builders.h"

namespace tessera::vendors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const k8s::StringMap kSoft = {{"huawei.com/vnpu-mode", "hami-core"}};

std::string changed(std::string yaml, std::string_view what, std::string_view by) {
  for (std::size_t at = yaml.find(what); at != std::string::npos;
       at = yaml.find(what, at + by.size())) {
    yaml.replace(at, what.size(), by);
  }
  return yaml;
}

// ---- configuration

TEST(AscendConfig, OneRowPerEntryWithNamesOfItsWord) {
  const Vendors vendors = vendors_from(ascend_default_text());
  ASSERT_THAT(vendors.all(), SizeIs(7));
  const Vendor& v = vendors.all()[3];
  EXPECT_EQ(v.word, "Ascend910B4-1");
  EXPECT_EQ(v.section, "vnpus");
  EXPECT_EQ(v.count_resource, "huawei.com/Ascend910B4-1");
  EXPECT_EQ(v.memory_resource, "huawei.com/Ascend910B4-1-memory");
  EXPECT_EQ(v.core_resource, "huawei.com/Ascend910B4-1-core");
  EXPECT_EQ(v.register_key, "hami.io/node-register-Ascend910B4-1");
  EXPECT_EQ(v.handshake_key, "hami.io/node-handshake-Ascend910B4-1");
  EXPECT_EQ(v.to_allocate_key, "hami.io/Ascend910B4-1-devices-to-allocate");
  EXPECT_EQ(v.allocated_key, "hami.io/Ascend910B4-1-devices-allocated");
  EXPECT_EQ(v.id_keys.front().use, "hami.io/use-Ascend910B4-1-uuid");
  EXPECT_EQ(v.id_keys.front().nouse, "hami.io/no-use-Ascend910B4-1-uuid");
  EXPECT_TRUE(v.locks_node);
}

TEST(AscendConfig, WithoutTheSwitchThereIsNoVendor) {
  const auto got = parse_device_config(ascend_default_text());
  EXPECT_THAT(got.faults, IsEmpty());
  EXPECT_THAT(got.config.vendors, IsEmpty());
  EXPECT_THAT(got.config.switched_off, ElementsAre("vnpus"));
}

struct FaultCase {
  std::string_view name, yaml;
  std::vector<std::string> faults, notes;
};

TEST(AscendConfig, WhatIsWrongIsNamed) {
  const FaultCase cases[] = {
      {"a plain list is the form of old releases",
       "vnpus:\n- chipName: 910A\n",
       {"line 2: vnpus: \"a list\": a list is the form of old releases: write it under "
        "vnpus.configs"},
       {}},
      {"a text where a number belongs",
       "vnpus:\n  configs:\n  - commonWord: A\n    memoryFactor: much\n",
       {"line 4: vnpus.configs[0].memoryFactor: \"much\": not an integer"},
       {}},
      {"a bad template",
       "vnpus:\n  configs:\n  - commonWord: A\n    resourceName: a/b\n    templates: [{memory: "
       "x}]\n",
       {"line 5: vnpus.configs[0].templates[0].memory: \"x\": not an integer"},
       {}},
      {"keys of old files are ignored",
       "vnpus:\n  configs:\n  - commonWord: A\n    resourceName: a/b\n    topologyPairs: []\n",
       {},
       {"line 5: vnpus.configs[0].topologyPairs: \"topologyPairs\": unknown key, ignored"}},
      {"an entry without word makes no vendor",
       "vnpus:\n  configs:\n  - chipName: A\n  - {commonWord: B, resourceName: a/b}\n",
       {},
       {"line 3: vnpus.configs[0]: \"a mapping\": no commonWord: the entry makes no vendor"}},
      {"of two entries of one word the later counts",
       "vnpus:\n  configs:\n  - {commonWord: B, resourceName: a/a}\n  - {commonWord: B, "
       "resourceName: "
       "a/b}\n",
       {},
       {"line 4: vnpus.configs[1]: \"a mapping\": B is given twice, the last one counts"}},
  };
  for (const FaultCase& c : cases) {
    const auto got = parse_device_config(c.yaml, {.ascend = true});
    std::vector<std::string> faults, notes;
    for (const ConfigFault& f : got.faults) faults.push_back(f.text());
    for (const ConfigFault& n : got.notes) notes.push_back(n.text());
    EXPECT_EQ(faults, c.faults) << c.name;
    if (c.faults.empty()) {
      EXPECT_EQ(notes, c.notes) << c.name;
    }
  }
}

// ---- rounding

struct SliceCase {
  std::string_view word;
  std::int64_t asked, given;  ///< 0 = refused
  std::string_view name;
};

TEST(AscendWebhook, MemoryIsRoundedToATemplate) {
  const SliceCase cases[] = {
      {"Ascend910A", 2184, 2184, "vir02"},
      {"Ascend910A", 2185, 4369, "vir04"},
      {"Ascend910A", 17477, 32768, ""},
      {"Ascend910A", 32769, 0, ""},
      {"Ascend910B2", 8192, 8192, "vir03_1c_8g"},
      {"Ascend910B2", 8193, 16384, "vir06_1c_16g"},
      {"Ascend910B3", 9000, 16384, "vir05_1c_16g"},
      {"Ascend910B4", 8193, 16384, "vir10_3c_16g"},
      {"Ascend910B4", 16385, 32768, ""},
      {"Ascend310P", 12289, 21527, ""},  // A2: the whole card
      {"Ascend310P", 24577, 0, ""},
      {"Ascend910B4-1", 10000, 16384, "vir05_1c_16g"},  // case 200
      {"Ascend910B4-1", 16384, 16384, "vir05_1c_16g"},
      {"Ascend910B4-1", 32769, 65536, ""},
      {"Ascend910B4-1", 65537, 0, ""},
      {"Ascend910C", 0, 16384, "vir05_1c_16g"},
  };
  const Vendors vendors = vendors_from(ascend_default_text());
  for (const SliceCase& c : cases) {
    const std::string count = "huawei.com/" + std::string(c.word), memory = count + "-memory";
    const auto got = vendors.mutate(pod_asking({{count, "1"}, {memory, std::to_string(c.asked)}}));
    if (c.given == 0) {
      ASSERT_FALSE(got) << c.word << " " << c.asked;
      EXPECT_THAT(got.error().what, HasSubstr(text::join({memory, std::to_string(c.asked)}, " ") +
                                              " is invalid: at most "));
      continue;
    }
    ASSERT_TRUE(got) << c.word << " " << c.asked;
    EXPECT_THAT(got->containers[0].set_limits,
                testing::Contains(Pair(memory, std::to_string(c.given))));
    EXPECT_THAT(got->containers[0].set_requests,
                testing::Contains(Pair(memory, std::to_string(c.given))));
    const std::string said = text::join(got->warnings, "|");
    const bool rounded = c.given != c.asked;
    EXPECT_EQ(said.find(" counts as " + std::to_string(c.given)) != std::string::npos, rounded)
        << c.word << ": " << said;
    if (rounded && !c.name.empty()) {
      EXPECT_THAT(said, HasSubstr(c.name));
    }
  }
}

// ---- admission

struct AdmitCase {
  std::string_view name;
  k8s::StringMap limits, annotations;
  k8s::StringMap set_limits;  ///< expected, in order
  std::string_view error;     ///< or this, in the text of the denial
  std::vector<std::string> warnings;
};

const k8s::StringMap kNothing;

const AdmitCase kAdmit[] = {
    {"A1: a slice",
     {{"huawei.com/Ascend910B3", "1"}, {"huawei.com/Ascend910B3-memory", "9000"}},
     kNothing,
     {{"huawei.com/Ascend910B3-memory", "16384"}},
     "",
     {"container c: huawei.com/Ascend910B3-memory: 9000 counts as 16384 (template vir05_1c_16g)"}},
    {"A2: the whole card by rounding",
     {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "13000"}},
     kNothing,
     {{"huawei.com/Ascend310P-memory", "21527"}},
     "",
     {"container c: huawei.com/Ascend310P-memory: 13000 counts as 21527 (the whole card)"}},
    {"A2: more than a card has",
     {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "25000"}},
     kNothing,
     {},
     "huawei.com/Ascend310P-memory 25000 is invalid: at most 24576",
     {}},
    {"A3: several whole cards",
     {{"huawei.com/Ascend910B4", "2"}},
     kNothing,
     {{"huawei.com/Ascend910B4-memory", "32768"}},
     "",
     {}},
    {"A3: several slices",
     {{"huawei.com/Ascend910B4", "2"}, {"huawei.com/Ascend910B4-memory", "8000"}},
     kNothing,
     {},
     "vNPU not supported for multiple devices",
     {}},
    {"A4: one chip is a whole module",
     {{"huawei.com/Ascend910C", "1"}},
     kNothing,
     {{"huawei.com/Ascend910C", "2"}, {"huawei.com/Ascend910C-memory", "65536"}},
     "",
     {"container c: huawei.com/Ascend910C: 1 counts as 2, a whole module"}},
    {"A4: also with a slice, on each chip",
     {{"huawei.com/Ascend910C", "1"}, {"huawei.com/Ascend910C-memory", "16384"}},
     kNothing,
     {{"huawei.com/Ascend910C", "2"}, {"huawei.com/Ascend910C-memory", "16384"}},
     "",
     {"container c: huawei.com/Ascend910C: 1 counts as 2, a whole module"}},
    {"A4: odd counts",
     {{"huawei.com/Ascend910C", "3"}},
     kNothing,
     {},
     "Ascend910C device request must be 1 or 2*n, got 3: write 4",
     {}},
    {"A8: soft slices are what was asked",
     {{"huawei.com/Ascend910B3", "1"},
      {"huawei.com/Ascend910B3-memory", "15000"},
      {"huawei.com/Ascend910B3-core", "30"}},
     kSoft,
     {{"huawei.com/Ascend910B3-memory", "15000"}},
     "",
     {}},
    {"soft slices of several cards",
     {{"huawei.com/Ascend910B3", "2"}, {"huawei.com/Ascend910B3-memory", "15000"}},
     kSoft,
     {{"huawei.com/Ascend910B3-memory", "15000"}},
     "",
     {}},
    {"case 202: cores without soft slicing",
     {{"huawei.com/Ascend910B2", "1"}, {"huawei.com/Ascend910B2-core", "5"}},
     kNothing,
     {},
     "huawei.com/Ascend910B2-core is only supported in hami-core (soft split) mode",
     {}},
    {"case 202: cores with soft slicing",
     {{"huawei.com/Ascend910B2", "1"}, {"huawei.com/Ascend910B2-core", "5"}},
     kSoft,
     {{"huawei.com/Ascend910B2-memory", "65536"}},
     "",
     {}},
    {"0 cores need no mode",
     {{"huawei.com/Ascend910B2", "1"}, {"huawei.com/Ascend910B2-core", "0"}},
     kNothing,
     {{"huawei.com/Ascend910B2-memory", "65536"}},
     "",
     {}},
    {"another word is no mode",
     {{"huawei.com/Ascend910B2", "1"}, {"huawei.com/Ascend910B2-core", "5"}},
     {{"huawei.com/vnpu-mode", "other"}},
     {},
     "is only supported in hami-core",
     {}},
    {"D7: a share of a card is no count",
     {{"huawei.com/Ascend910B2", "1500m"}},
     kNothing,
     {},
     "huawei.com/Ascend910B2: \"1500m\" is not a whole number: write 2",
     {}},
    {"D7: bytes where MiB are counted",
     {{"huawei.com/Ascend910B2", "1"}, {"huawei.com/Ascend910B2-memory", "16Gi"}},
     kNothing,
     {},
     "write 16384",
     {}},
    {"D7: a negative share",
     {{"huawei.com/Ascend910B2", "1"}, {"huawei.com/Ascend910B2-memory", "-1"}},
     kNothing,
     {},
     "is negative",
     {}},
    {"cores above 100",
     {{"huawei.com/Ascend910B2", "1"}, {"huawei.com/Ascend910B2-core", "120"}},
     kSoft,
     {{"huawei.com/Ascend910B2-memory", "65536"}},
     "",
     {"container c: huawei.com/Ascend910B2-core: 120 counts as 100"}},
    {"case 39: a count of 0 is no device", {{"huawei.com/Ascend910B2", "0"}}, kNothing, {}, "", {}},
};

TEST(AscendWebhook, Admission) {
  const Vendors vendors = vendors_from(ascend_default_text());
  for (const AdmitCase& c : kAdmit) {
    const auto got = vendors.mutate(pod_asking(c.limits, c.annotations));
    ASSERT_EQ(got.has_value(), c.error.empty()) << c.name << (got ? "" : ": " + got.error().what);
    if (!got) {
      EXPECT_THAT(got.error().what, HasSubstr(c.error)) << c.name;
      continue;
    }
    EXPECT_EQ(got->containers[0].set_limits, c.set_limits) << c.name;
    EXPECT_EQ(got->warnings, c.warnings) << c.name;
    EXPECT_EQ(got->uses_device, !c.set_limits.empty()) << c.name;
  }
}

TEST(AscendWebhook, A4WithoutSuperPodCountsStay) {
  const Vendors vendors = vendors_from(
      changed(std::string(ascend_default_text()), "superPod: true", "superPod: false"));
  for (const char* count : {"1", "3"}) {
    const auto got = vendors.mutate(pod_asking({{"huawei.com/Ascend910C", count}}));
    ASSERT_TRUE(got) << count;
    EXPECT_THAT(got->containers[0].set_limits,
                ElementsAre(Pair("huawei.com/Ascend910C-memory", "65536")));
    EXPECT_THAT(got->warnings, IsEmpty());
  }
}

TEST(AscendWebhook, ARequestOfTheCountIsRoundedWithItsLimit) {
  const Vendors vendors = vendors_from(ascend_default_text());
  k8s::Pod pod = pod_asking({{"huawei.com/Ascend910C", "1"}});
  pod.containers[0].requests = {{"huawei.com/Ascend910C", "1"}};
  const auto got = vendors.mutate(pod);
  ASSERT_TRUE(got);
  EXPECT_THAT(got->containers[0].set_requests,
              ElementsAre(Pair("huawei.com/Ascend910C", "2"),
                          Pair("huawei.com/Ascend910C-memory", "65536")));
}

TEST(AscendWebhook, A11CardsAreHiddenOnceFromContainersThatAskNone) {
  const Vendors vendors = vendors_from(changed(
      changed(std::string(ascend_default_text()), "overwriteEnv: false", "overwriteEnv: true"),
      "runtimeClassName: \"\"", "runtimeClassName: ascend-rt"));
  const auto got =
      vendors.mutate(pod_of({container_of({}), container_of({{"huawei.com/Ascend310P", "1"}})}));
  ASSERT_TRUE(got);
  EXPECT_THAT(got->containers[0].append_env, ElementsAre(Pair("ASCEND_VISIBLE_DEVICES", "")));
  EXPECT_THAT(got->containers[1].append_env, IsEmpty()) << "weak point 10: it uses an Ascend card";
  EXPECT_EQ(got->runtime_class, "ascend-rt");
  k8s::Pod with_class = pod_asking({{"huawei.com/Ascend310P", "1"}});
  with_class.runtime_class = "mine";
  EXPECT_EQ(vendors.mutate(with_class)->runtime_class, "");
}

TEST(AscendWebhook, MemoryCountedInLargerUnitsIsRoundedInMiB) {  // weak point 7
  const std::string yaml =
      "vnpus:\n  configs:\n  - commonWord: AscendX\n    resourceName: x/n\n"
      "    resourceMemoryName: x/m\n    memoryAllocatable: 65536\n    memoryCapacity: 65536\n"
      "    memoryFactor: 1024\n    templates: [{name: big, memory: 32768}, {name: small, memory: "
      "16384}]\n";
  SceneOfVendors scene(yaml);
  const auto got = scene.vendors().mutate(pod_asking({{"x/n", "1"}, {"x/m", "9"}}));
  ASSERT_TRUE(got);
  EXPECT_THAT(got->containers[0].set_limits, ElementsAre(Pair("x/m", "16")));
  EXPECT_FALSE(scene.vendors().mutate(pod_asking({{"x/n", "1"}, {"x/m", "65"}})));
  scene.add_node(
      "n",
      {{"hami.io/node-register-AscendX",
        R"([{"id":"a","count":4,"devmem":65536,"devcore":20,"type":"AscendX","health":true}])"}},
      {{"x/n", "4"}});
  const Placed placed = scene.place(pod_asking({{"x/n", "1"}, {"x/m", "16"}}));
  EXPECT_EQ(placed.text("hami.io/AscendX-devices-allocated"), "a,AscendX,16384,0:;");
  EXPECT_EQ(placed.text("huawei.com/AscendX"), R"([{"UUID":"a","temp":"small","memory":16384}])");
}

TEST(AscendWebhook, WithoutMemoryNameNothingIsWritten) {  // weak point 14
  const Vendors vendors = vendors_from("vnpus: {configs: [{commonWord: X, resourceName: x/n}]}");
  const auto got = vendors.mutate(pod_asking({{"x/n", "1"}}));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->uses_device);
  EXPECT_THAT(got->containers[0].set_limits, IsEmpty());
}

TEST(AscendWebhook, KeysThatOnlySchedulersWrite) {
  const Vendors vendors = vendors_from(ascend_default_text());
  for (const char* key :
       {"huawei.com/Ascend310P", "predicate-time", "hami.io/Ascend910B4-1-devices-allocated"}) {
    EXPECT_TRUE(vendors.is_scheduler_key(key)) << key;
  }
  EXPECT_FALSE(vendors.is_scheduler_key("huawei.com/vnpu-mode"));
}

// ---- requests

struct AskCase {
  std::string_view name;
  k8s::StringMap limits, requests;
  std::int64_t count, memory, percent, cores;
};

TEST(AscendRequest, FromLimitsElseRequests) {
  const AskCase cases[] = {
      {"A1",
       {{"huawei.com/Ascend910B3", "1"}, {"huawei.com/Ascend910B3-memory", "16384"}},
       {},
       1,
       16384,
       101,
       0},
      {"A8",
       {{"huawei.com/Ascend910B3", "1"},
        {"huawei.com/Ascend910B3-memory", "15k"},
        {"huawei.com/Ascend910B3-core", "30"}},
       {},
       1,
       15000,
       101,
       30},
      {"A12: requests only", {}, {{"huawei.com/Ascend310P", "1"}}, 1, 0, 100, 0},
  };
  const Vendors vendors = vendors_from(ascend_default_text());
  for (const AskCase& c : cases) {
    k8s::Pod pod = pod_asking(c.limits);
    pod.containers[0].requests = c.requests;
    const auto got = vendors.demand(pod, {});
    ASSERT_TRUE(got) << c.name;
    ASSERT_THAT(got->request.positions[0].asks, SizeIs(1)) << c.name;
    const core::DeviceAsk& ask = got->request.positions[0].asks[0];
    EXPECT_EQ(ask.count, c.count) << c.name;
    EXPECT_EQ(ask.memory.v, c.memory) << c.name;
    EXPECT_EQ(ask.memory_percent, c.percent) << c.name;
    EXPECT_EQ(ask.cores.v, c.cores) << c.name;
  }
}

TEST(AscendRequest, OutOfRangeIsAnErrorAndNotNoRequest) {  // weak point 11
  const Vendors vendors = vendors_from(ascend_default_text());
  for (const char* bad : {"-1", "3000000000", "0.5"}) {
    const auto got = vendors.demand(
        pod_asking({{"huawei.com/Ascend910B3", "1"}, {"huawei.com/Ascend910B3-memory", bad}}), {});
    ASSERT_FALSE(got) << bad;
    EXPECT_THAT(got.error().what, HasSubstr(bad));
  }
}

}  // namespace
}  // namespace tessera::vendors
