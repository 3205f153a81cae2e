#include "vendors/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace tessera::vendors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<ConfigFault>& faults) {
  std::vector<std::string> out;
  for (const ConfigFault& f : faults) out.push_back(f.text());
  return out;
}

/// The row of a file's only vendor.
Vendor row_of(const ConfigResult& got) {
  EXPECT_EQ(got.config.vendors.size(), 1u);
  return got.config.vendors.empty() ? Vendor{} : got.config.vendors.front();
}

TEST(DefaultDeviceConfig, MeansWhatTheChartRenders) {
  const ConfigResult got = parse_device_config(default_device_config());
  EXPECT_THAT(texts(got.faults), IsEmpty());
  EXPECT_THAT(texts(got.notes), IsEmpty());
  ASSERT_FALSE(got.config.vendors.empty());
  const Vendor& v = got.config.vendors.front();
  EXPECT_EQ(v.word, "NVIDIA");
  EXPECT_THAT(got.config.switched_off, ElementsAre("vnpus"));
  EXPECT_EQ(v.section, "nvidia");
  EXPECT_EQ(v.count_resource, "nvidia.com/gpu");
  EXPECT_EQ(v.memory_resource, "nvidia.com/gpumem");
  EXPECT_EQ(v.memory_percent_resource, "nvidia.com/gpumem-percentage");
  EXPECT_EQ(v.core_resource, "nvidia.com/gpucores");
  EXPECT_EQ(v.priority_resource, "nvidia.com/priority");
  EXPECT_EQ(v.default_memory, 0);
  EXPECT_EQ(v.default_cores, 0);
  EXPECT_EQ(v.default_count, 1);
  EXPECT_EQ(v.memory_factor, 1);
  EXPECT_EQ(v.core_policy_env_value, "");
  EXPECT_EQ(v.runtime_class, "");
  EXPECT_FALSE(v.hide_from_others);
}

struct FaultCase {
  std::string_view name, yaml;
  std::vector<std::string> want;
};

const FaultCase kFaults[] = {
    {"example 1: empty file", "", {"all configurations are empty"}},
    {"null document", "~", {"all configurations are empty"}},
    {"sections without content",
     "nvidia:\nbiren: {resourceCountName: ''}\niluvatars: []\n",
     {"all configurations are empty"}},
    {"example 2: hamiVnpuCore alone does not count",
     "vnpus: {hamiVnpuCore: true}",
     {"all configurations are empty"}},
    {"example 4: a quoted boolean is a text",
     "nvidia:\n  resourceCountName: a/b\n  overwriteEnv: \"true\"\n",
     {R"(line 3: nvidia.overwriteEnv: "true": true or false is expected, without quotes)"}},
    {"example 7: allowlist profile",
     "nvidia:\n  migProfileAllowlist:\n  - models: [A30]\n    profiles: [1g.6gb, g.5gb]\n",
     {R"(line 4: nvidia.migProfileAllowlist[0].profiles[1]: "g.5gb": invalid MIG profile allowlist: invalid MIG profile "g.5gb")"}},
    {"more profiles that are none",
     "nvidia: {migProfileAllowlist: [{models: [A30], profiles: [1g, 1c.2g.10gb]}]}",
     {R"(line 1: nvidia.migProfileAllowlist[0].profiles[0]: "1g": invalid MIG profile allowlist: invalid MIG profile "1g")",
      R"(line 1: nvidia.migProfileAllowlist[0].profiles[1]: "1c.2g.10gb": invalid MIG profile allowlist: invalid MIG profile "1c.2g.10gb")"}},
    {"allowlist without models",
     "nvidia:\n  migProfileAllowlist:\n  - profiles: [1g.6gb]\n",
     {R"(line 3: nvidia.migProfileAllowlist[0]: "a mapping": invalid MIG profile allowlist: MIG profile allowlist must define models and profiles)"}},
    {"allowlist without profiles",
     "nvidia:\n  migProfileAllowlist:\n  - models: [A30]\n    profiles: []\n",
     {R"(line 3: nvidia.migProfileAllowlist[0]: "a mapping": invalid MIG profile allowlist: MIG profile allowlist must define models and profiles)"}},
    {"example 12: vnpus is no list",
     "nvidia: {resourceCountName: a/b}\nvnpus:\n- chipName: x\n",
     {R"(line 3: vnpus: "a list": a list is the form of old releases: write it under vnpus.configs)"}},
    {"iluvatars is a list",
     "iluvatars: {chipName: x}",
     {R"(line 1: iluvatars: "a mapping": a list is expected)"}},
    {"a section that is a text",
     "nvidia: nvidia.com/gpu",
     {R"(line 1: nvidia: "nvidia.com/gpu": a mapping is expected)"}},
    {"the document is a list", "- nvidia", {R"(line 1: "a list": a mapping is expected)"}},
    {"every fault is reported, not only the first",
     "nvidia:\n  defaultMemory: 12x\n  defaultCores: -5\n  memoryFactor: 2147483648\n"
     "  defaultGPUNum: [1]\n  deviceMemoryScaling: much\n  resourceCountName: {a: b}\n"
     "  deviceSplitCount: \"10\"\n",
     {R"(line 2: nvidia.defaultMemory: "12x": not an integer)",
      R"(line 3: nvidia.defaultCores: "-5": must not be negative)",
      R"(line 4: nvidia.memoryFactor: "2147483648": out of range, at most 2147483647)",
      R"(line 5: nvidia.defaultGPUNum: "a list": an integer is expected, without quotes)",
      R"(line 6: nvidia.deviceMemoryScaling: "much": a number is expected, without quotes)",
      R"(line 7: nvidia.resourceCountName: "a mapping": a text is expected)",
      R"(line 8: nvidia.deviceSplitCount: "10": an integer is expected, without quotes)"}},
};

TEST(DeviceConfig, EveryFaultHasLineKeyAndValue) {
  for (const FaultCase& c : kFaults) {
    EXPECT_EQ(texts(parse_device_config(c.yaml).faults), c.want) << c.name;
  }
}

TEST(DeviceConfig, BrokenYamlNamesTheLine) {
  for (const std::string_view yaml :
       {"nvidia:\n  resourceCountName: [a\n", "a: b\n\tc: d\n", "nvidia: *nothing\n", "{"}) {
    const ConfigResult got = parse_device_config(yaml);
    ASSERT_EQ(got.faults.size(), 1u) << yaml;
    EXPECT_GT(got.faults[0].line, 0) << yaml;
  }
}

struct AcceptCase {
  std::string_view name, yaml;
  std::int64_t default_memory;
};

const AcceptCase kIntegers[] = {
    {"example 13: a fraction is cut", "10.7", 10},
    {"exponent", "1e3", 1000},
    {"hexadecimal", "0x10", 16},
    {"leading zero is octal", "010", 8},
    {"digit groups", "24_576", 24576},
    {"null", "~", 0},
    {"nothing", "", 0},
};

TEST(DeviceConfig, IntegersAsYaml11ReadsThem) {
  for (const AcceptCase& c : kIntegers) {
    const ConfigResult got = parse_device_config(
        "nvidia:\n  resourceCountName: a/b\n  defaultMemory: " + std::string(c.yaml) + "\n");
    EXPECT_THAT(texts(got.faults), IsEmpty()) << c.name;
    EXPECT_EQ(row_of(got).default_memory, c.default_memory) << c.name;
  }
}

TEST(DeviceConfig, MissingKeysAreZeroNotTheChartsValues) {
  const ConfigResult got = parse_device_config("nvidia: {resourceCountName: a/b}");
  EXPECT_EQ(row_of(got).memory_resource, "");
  EXPECT_EQ(row_of(got).default_count, 0);
  EXPECT_EQ(row_of(got).memory_factor, 1);
  EXPECT_EQ(row_of(got).core_policy_env_value, "");
}

TEST(DeviceConfig, TextsTakeAnyScalarAsWritten) {
  const ConfigResult got =
      parse_device_config("nvidia: {resourceCountName: 1, runtimeClassName: yes}");
  EXPECT_EQ(row_of(got).count_resource, "1");
  EXPECT_EQ(row_of(got).runtime_class, "yes");
}

TEST(DeviceConfig, UnknownKeysAndSectionsAreNotes) {
  const ConfigResult got = parse_device_config(
      "nvidia:\n  resourceCountName: a/b\n  surprise: [1, 2]\n  knownMigGeometries: []\n"
      "nvida: {}\n");
  EXPECT_THAT(texts(got.faults), IsEmpty());
  EXPECT_THAT(texts(got.notes),
              ElementsAre(R"(line 3: nvidia.surprise: "surprise": unknown key, ignored)",
                          HasSubstr("line 4: nvidia.knownMigGeometries"),
                          R"(line 5: nvida: "nvida": unknown section, ignored)"));
}

TEST(DeviceConfig, OfAKeyGivenTwiceTheLastCounts) {
  const ConfigResult got =
      parse_device_config("nvidia:\n  resourceCountName: a/b\n  resourceCountName: c/d\n");
  EXPECT_EQ(row_of(got).count_resource, "c/d");
  EXPECT_THAT(texts(got.notes), ElementsAre(HasSubstr("given twice, the last one counts")));
}

TEST(DeviceConfig, SectionsOfOtherVendorsAreAcceptedAndListed) {
  const ConfigResult got = parse_device_config(
      "biren: {resourceCountName: acme.test/br}\nmetax: {sgpuTopologyAware: yes}\n"
      "vnpus: {configs: [{chipName: 910A}]}\niluvatars: [{chipName: MR-V100}]\namd: {}\n");
  EXPECT_THAT(texts(got.faults), IsEmpty());
  EXPECT_THAT(got.config.vendors, IsEmpty());
  EXPECT_THAT(got.config.other_sections, ElementsAre("metax", "biren", "iluvatars"));
  EXPECT_THAT(got.config.switched_off, ElementsAre("vnpus"));
}

TEST(DeviceConfig, AliasesAreFollowedButBounded) {
  EXPECT_THAT(texts(parse_device_config("nvidia: {migProfileAllowlist: [&a {models: [A30], "
                                        "profiles: [1g.6gb]}, *a]}")
                        .faults),
              IsEmpty());
  std::string bomb = "nvidia:\n  migProfileAllowlist:\n  - &a {profiles: [1g.6gb], models: [";
  for (int i = 0; i < 300; ++i) bomb += "m,";
  bomb += "m]}\n";
  for (int i = 0; i < 300; ++i) bomb += "  - *a\n";
  EXPECT_THAT(texts(parse_device_config(bomb).faults),
              ElementsAre(HasSubstr("more than 20000 values once aliases are followed")));
}

TEST(DeviceConfig, HugeOrDeepFilesEndInAFault) {
  EXPECT_THAT(texts(parse_device_config(std::string((1u << 20) + 1, ' ')).faults),
              ElementsAre("larger than 1048576 bytes"));
  EXPECT_EQ(parse_device_config("nvidia: " + std::string(100'000, '[')).faults.size(), 1u);
}

TEST(DeviceConfigFile, TheErrorCarriesThePathAndEveryFault) {
  const std::string path = testing::TempDir() + "tessera_device_config_test.yaml";
  std::ofstream(path) << "nvidia:\n  defaultMemory: x\n  defaultCores: y\n";
  const auto got = load_device_config(path);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().what, "device config file " + path +
                                  ": line 2: nvidia.defaultMemory: \"x\": not an integer; line 3: "
                                  "nvidia.defaultCores: \"y\": not an integer");
  std::remove(path.c_str());
  const auto gone = load_device_config(path);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace tessera::vendors
