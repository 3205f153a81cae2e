// The worked examples 1 and 2 of the NVIDIA vendor page, as decisions D7 corrects them, and the
// cases of public reports about single containers.
#include "vendors/nvidia.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "vendors/ask.h"
#include "vendors/mutate.h"

namespace tessera::vendors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NvidiaConfig chart() {
  NvidiaConfig c;
  c.count_name = "nvidia.com/gpu";
  c.memory_name = "nvidia.com/gpumem";
  c.memory_percent_name = "nvidia.com/gpumem-percentage";
  c.core_name = "nvidia.com/gpucores";
  c.priority_name = "nvidia.com/priority";
  c.default_count = 1;
  c.core_policy = "default";
  return c;
}

k8s::Container container(k8s::StringMap limits, k8s::StringMap requests = {}) {
  k8s::Container c;
  c.name = "w";
  c.limits = std::move(limits);
  c.requests = std::move(requests);
  return c;
}

constexpr auto kGpu = "nvidia.com/gpu";
constexpr auto kMem = "nvidia.com/gpumem";
constexpr auto kPercent = "nvidia.com/gpumem-percentage";
constexpr auto kCores = "nvidia.com/gpucores";
constexpr auto kPriority = "nvidia.com/priority";

// ---- requests
// ------------------------------------------------------------------------------------------------------

struct AskCase {
  std::string_view name;
  k8s::StringMap limits;
  std::string_view want;  ///< count/MiB/percent/cores, "none", or the words of the error
  NvidiaConfig config = chart();
};

NvidiaConfig with(std::int64_t memory, std::int64_t cores, std::int64_t factor) {
  NvidiaConfig c = chart();
  c.default_memory = memory;
  c.default_cores = cores;
  c.memory_factor = factor;
  return c;
}

std::string shown(const AskCase& c) {
  std::vector<std::string> warnings;
  const auto ask = device_ask(container(c.limits), nvidia_vendor(c.config), VendorId{0}, warnings);
  if (!ask) return ask.error().what;
  if (!*ask) return "none";
  const core::DeviceAsk& a = **ask;
  return std::to_string(a.count) + "/" + std::to_string(a.memory.v) + "/" +
         std::to_string(a.memory_percent) + "/" + std::to_string(a.cores.v);
}

TEST(NvidiaAsk, Example1) {
  const AskCase cases[] = {
      {"3k as the API server writes 3000", {{kGpu, "1"}, {kMem, "3k"}}, "1/3000/101/0"},
      {"3Ki", {{kGpu, "1"}, {kMem, "3Ki"}}, "1/3072/101/0"},
      {"4.5k", {{kGpu, "1"}, {kMem, "4.5k"}}, "1/4500/101/0"},
      {"two cards by percentage", {{kGpu, "2"}, {kPercent, "33"}}, "2/0/33/0"},
      {"memory 0 is not given", {{kGpu, "1"}, {kMem, "0"}}, "1/0/100/0"},
      {"memory wins over percentage",
       {{kGpu, "1"}, {kMem, "2000"}, {kPercent, "40"}},
       "1/2000/40/0"},
      {"cores above 100 are kept, place counts them as 100",
       {{kGpu, "1"}, {kCores, "250"}},
       "1/0/100/250"},
      {"memory alone asks no card", {{kMem, "100"}}, "none"},
      {"defaults; the default memory is not multiplied",
       {{kGpu, "1"}},
       "1/4096/101/15",
       with(4096, 15, 4)},
      {"factor 1024", {{kGpu, "1"}, {kMem, "3k"}}, "1/3072000/101/0", with(0, 0, 1024)},
      {"largest with factor",
       {{kGpu, "1"}, {kMem, "2097151"}},
       "1/2147482624/101/0",
       with(0, 0, 1024)},
      {"count 0 asks nothing (case 39)", {{kGpu, "0"}, {kMem, "1000"}}, "none"},
      {"percentage 0 is not given (case 34)", {{kGpu, "1"}, {kPercent, "0"}}, "1/0/100/0"},
      {"percentage 0 leaves the default memory (case 34)",
       {{kGpu, "1"}, {kPercent, "0"}},
       "1/4096/101/0",
       with(4096, 0, 1)},
      {"at most 100 percent (case 33)", {{kGpu, "1"}, {kPercent, "150"}}, "1/0/100/0"},
      {"101 is no sentinel from outside (case 33)", {{kGpu, "1"}, {kPercent, "101"}}, "1/0/100/0"},
      {"no wrap (case 33)", {{kGpu, "1"}, {kPercent, "4294967346"}}, "1/0/100/0"},
      {"a whole number in another spelling", {{kGpu, "1000m"}, {kMem, "2.0"}}, "1/2/101/0"},
      {"memory 16.0k", {{kGpu, "1"}, {kMem, "16.0k"}}, "1/16000/101/0"},
  };
  for (const AskCase& c : cases) EXPECT_EQ(shown(c), c.want) << c.name;
}

TEST(NvidiaAsk, WhatCannotBeUsedIsAnErrorNotNoRequest) {
  const AskCase cases[] = {
      {"bytes",
       {{kGpu, "1"}, {kMem, "16Gi"}},
       R"(container w: nvidia.com/gpumem: "16Gi" has a unit suffix, but the resource counts MiB: write 16384)"},
      {"bytes, rounded up",
       {{kGpu, "1"}, {kMem, "512M"}},
       R"(container w: nvidia.com/gpumem: "512M" has a unit suffix, but the resource counts MiB: write 489)"},
      {"bytes with a factor",
       {{kGpu, "1"}, {kMem, "2Gi"}},
       R"(container w: nvidia.com/gpumem: "2Gi" has a unit suffix, but the resource counts units of 256 MiB: write 8)",
       with(0, 0, 256)},
      {"fraction (case 38)",
       {{kGpu, "1"}, {kMem, "1500m"}},
       R"(container w: nvidia.com/gpumem: "1500m" is not a whole number: write 2)"},
      {"negative (case 38)",
       {{kGpu, "1"}, {kMem, "-1"}},
       R"(container w: nvidia.com/gpumem: "-1" is negative: write a whole number from 0)"},
      {"negative fraction (case 38)",
       {{kGpu, "1"}, {kMem, "-1m"}},
       R"(container w: nvidia.com/gpumem: "-1m" is negative: write a whole number from 0)"},
      {"cores (case 38)",
       {{kGpu, "1"}, {kCores, "33.3"}},
       R"(container w: nvidia.com/gpucores: "33.3" is not a whole number: write 34)"},
      {"count (case 38)",
       {{kGpu, "1.5"}},
       R"(container w: nvidia.com/gpu: "1.5" is not a whole number: write 2)"},
      {"count beyond 32 bits",
       {{kGpu, "4294967297"}},
       R"(container w: nvidia.com/gpu: "4294967297" is too large: at most 2147483647)"},
      {"memory beyond 31 bits",
       {{kGpu, "1"}, {kMem, "2147483648"}},
       R"(container w: nvidia.com/gpumem: "2147483648" is too large: at most 2147483647)"},
      {"memory beyond 31 bits after the factor",
       {{kGpu, "1"}, {kMem, "2097152"}},
       R"(container w: nvidia.com/gpumem: "2097152" is too large: at most 2097151)",
       with(0, 0, 1024)},
      {"no quantity at all",
       {{kGpu, "one"}},
       R"(container w: nvidia.com/gpu: "one" is not a quantity)"},
      {"negative percentage",
       {{kGpu, "1"}, {kPercent, "-5"}},
       R"(container w: nvidia.com/gpumem-percentage: "-5" is negative: write a whole number from 0)"},
  };
  for (const AskCase& c : cases) EXPECT_EQ(shown(c), c.want) << c.name;
}

TEST(NvidiaAsk, LimitsComeBeforeRequests) {
  std::vector<std::string> warnings;
  const auto ask = device_ask(container({{kGpu, "1"}}, {{kGpu, "2"}, {kMem, "500"}}),
                              nvidia_vendor(chart()), VendorId{0}, warnings);
  ASSERT_TRUE(ask && *ask);
  EXPECT_EQ((*ask)->count, 1);
  EXPECT_EQ((*ask)->memory.v, 500);
}

TEST(NvidiaAsk, WarnsOfWhatIsNotServedAsWritten) {
  std::vector<std::string> warnings;
  const Vendor vendor = nvidia_vendor(chart());
  ASSERT_TRUE(device_ask(container({{kGpu, "1"}, {kCores, "120"}}), vendor, VendorId{0}, warnings));
  ASSERT_TRUE(device_ask(container({{kMem, "100"}}), vendor, VendorId{0}, warnings));
  EXPECT_THAT(
      warnings,
      ElementsAre("container w: nvidia.com/gpucores: 120 counts as 100",
                  "container w asks a share of a device but no nvidia.com/gpu: it gets none"));
}

// ---- mutation
// ------------------------------------------------------------------------------------------------------

struct MutateCase {
  std::string_view name;
  k8s::StringMap limits;
  k8s::StringMap requests;
  std::string_view want;  ///< "uses, limits added, env added", or the words of the error
  NvidiaConfig config = chart();
};

std::string shown(const MutateCase& c) {
  const Vendor vendor = nvidia_vendor(c.config);
  auto got = vendor.mutate(vendor, k8s::Pod{}, container(c.limits, c.requests));
  if (!got) return got.error().what;
  hide_devices(vendor, *got);
  std::string out = got->uses_device ? "uses" : "-";
  for (const auto& [resource, value] : got->set_limits) out += " " + resource + "=" + value;
  for (const auto& [name, value] : got->append_env) out += " " + name + "=" + value;
  return out;
}

NvidiaConfig no_default_count() {
  NvidiaConfig c = chart();
  c.default_count = 0;
  return c;
}

NvidiaConfig forced() {
  NvidiaConfig c = chart();
  c.overwrite_env = true;
  c.core_policy = "force";
  return c;
}

TEST(NvidiaMutate, Example2AndCase106) {
  const MutateCase cases[] = {
      {"a bare card is exclusive", {{kGpu, "1"}}, {}, "uses nvidia.com/gpucores=100"},
      {"a share of memory is not", {{kGpu, "1"}, {kMem, "4000"}}, {}, "uses"},
      {"memory alone asks a card", {{kMem, "4000"}}, {}, "uses nvidia.com/gpu=1"},
      {"unless that default is off", {{kMem, "4000"}}, {}, "-", no_default_count()},
      {"all the memory is exclusive",
       {{kGpu, "2"}, {kPercent, "100"}},
       {},
       "uses nvidia.com/gpucores=100"},
      {"percentage 0", {{kGpu, "2"}, {kPercent, "0"}}, {}, "uses"},
      {"percentage 50", {{kGpu, "2"}, {kPercent, "50"}}, {}, "uses"},
      {"percentage 130",
       {{kGpu, "2"}, {kPercent, "130"}},
       {},
       "invalid nvidia.com/gpumem-percentage value 130 in container w: must be an integer between "
       "0 and 100"},
      {"cores alone ask a card", {{kCores, "30"}}, {}, "uses nvidia.com/gpu=1"},
      {"cores 0 are given (case 106)", {{kGpu, "1"}, {kCores, "0"}}, {}, "uses"},
      {"a card in requests only", {}, {{kGpu, "1"}}, "uses nvidia.com/gpucores=100"},
      {"exclusive even with defaults",
       {{kGpu, "1"}},
       {},
       "uses nvidia.com/gpucores=100",
       with(2048, 10, 1)},
      {"no card, environment by configuration",
       {},
       {},
       "- GPU_CORE_UTILIZATION_POLICY=force NVIDIA_VISIBLE_DEVICES=none",
       forced()},
      {"a card is not hidden",
       {{kGpu, "1"}, {kMem, "1"}},
       {},
       "uses GPU_CORE_UTILIZATION_POLICY=force",
       forced()},
      {"priority",
       {{kGpu, "1"}, {kCores, "30"}, {kPriority, "1"}},
       {},
       "uses CUDA_TASK_PRIORITY=1"},
      {"no device, nothing to do", {{"cpu", "1"}}, {}, "-"},
      {"count 0 is no device (case 39)", {{kGpu, "0"}, {"cpu", "1"}}, {}, "-"},
      {"count 0 stays so whatever else is named",
       {{kGpu, "0"}, {kMem, "1"}, {kPriority, "1"}},
       {},
       "-"},
  };
  for (const MutateCase& c : cases) EXPECT_EQ(shown(c), c.want) << c.name;
}

TEST(NvidiaMutate, DeniesQuantitiesThatCannotBeServed) {
  const MutateCase cases[] = {
      {"percentage 150 (case 33)", {{kGpu, "1"}, {kPercent, "150"}}, {}, "between 0 and 100"},
      {"percentage beyond 32 bits (case 33)", {{kPercent, "4294967346"}}, {}, "between 0 and 100"},
      {"negative percentage", {{kPercent, "-1"}}, {}, "between 0 and 100"},
      {"fractional percentage", {{kPercent, "33.5"}}, {}, "value 33.5 in container w"},
      {"16Gi", {{kGpu, "1"}, {kMem, "16Gi"}}, {}, "write 16384"},
      {"gpumem 1500m (case 38)",
       {{kGpu, "1"}, {kMem, "1500m"}},
       {},
       R"(nvidia.com/gpumem: "1500m")"},
      {"gpumem -1 (case 38)", {{kGpu, "1"}, {kMem, "-1"}}, {}, R"(nvidia.com/gpumem: "-1")"},
      {"gpumem -1m (case 38)", {{kGpu, "1"}, {kMem, "-1m"}}, {}, R"(nvidia.com/gpumem: "-1m")"},
      {"gpucores 33.3 (case 38)",
       {{kGpu, "1"}, {kCores, "33.3"}},
       {},
       R"(nvidia.com/gpucores: "33.3")"},
      {"gpu 1.5 (case 38)", {{kGpu, "1.5"}}, {}, R"(nvidia.com/gpu: "1.5")"},
      {"in requests too", {}, {{kGpu, "-1"}}, R"(nvidia.com/gpu: "-1")"},
      {"overflow without a count", {{kMem, "4294967296"}}, {}, R"("4294967296" is too large)"},
      {"priority", {{kGpu, "1"}, {kPriority, "0.5"}}, {}, R"(nvidia.com/priority: "0.5")"},
  };
  for (const MutateCase& c : cases) EXPECT_THAT(shown(c), HasSubstr(std::string(c.want))) << c.name;
}

}  // namespace
}  // namespace tessera::vendors
