// What a ResourceQuota says of devices (decisions D8, S-11).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "json/reader.h"
#include "k8s/decode.h"
#include "vendors/vendors.h"

namespace tessera::vendors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = core::QuotaKind;
using Scope = core::QuotaScope;

constexpr std::string_view kConfig = R"(
nvidia:
  resourceCountName: nvidia.com/gpu
  resourceMemoryName: nvidia.com/gpumem
  resourceMemoryPercentageName: nvidia.com/gpumem-percentage
  resourceCoreName: nvidia.com/gpucores
  memoryFactor: 4
)";

QuotaReading read(const std::string& spec) {
  static const Vendors vendors = *Vendors::make(parse_device_config(kConfig).config);
  json::Parser parser;
  const auto object =
      parser.parse(R"({"metadata":{"namespace":"team","name":"q"},"spec":)" + spec + "}");
  EXPECT_TRUE(object) << spec;
  const auto quota = k8s::decode_quota(*object, vendors.keep());
  EXPECT_TRUE(quota) << spec << (quota ? "" : quota.error().what);
  return quota ? vendors.read_quota(*quota) : QuotaReading{};
}

QuotaReading hard(const std::string& key, const std::string& value) {
  return read(R"({"hard":{")" + key + R"(":)" + value + "}}");
}

constexpr VendorId kRow{0};

TEST(ReadQuota, LimitsOfMemoryCoresAndCards) {
  const QuotaReading got = read(
      R"({"hard":{"limits.nvidia.com/gpumem":"2000","limits.nvidia.com/gpucores":"150","limits.nvidia.com/gpu":"3",
          "limits.cpu":"8","pods":"10","requests.nvidia.com/gpu":"4"}})");
  EXPECT_EQ(got.spec.ns, "team");
  EXPECT_EQ(got.spec.name, "q");
  EXPECT_THAT(got.spec.limits, ElementsAre(core::QuotaLimit{kRow, Kind::kMemory, 8000},
                                           core::QuotaLimit{kRow, Kind::kCores, 150},
                                           core::QuotaLimit{kRow, Kind::kCount, 3}));
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_THAT(got.warnings, IsEmpty()) << "of the count kube-apiserver counts the same";
}

struct ValueCase {
  std::string_view name, value;
  std::int64_t limit;
  std::string_view problem;  ///< "" = none
};

TEST(ReadQuota, EveryValueIsServedOrReported) {
  constexpr std::int64_t kMax = INT64_MAX;
  const ValueCase cases[] = {
      {"device-model example 12: as the API server writes 10000", R"("10k")", 10000, ""},
      {"a number", "7", 7, ""},
      {"zero blocks (case 113)", R"("0")", 0, ""},
      {"a whole number in another spelling", R"("2000m")", 2, ""},
      {"a fraction is rounded down", R"("2500m")", 2, "is not a whole number and counts as 2"},
      {"less than one", R"("100m")", 0, "is not a whole number and counts as 0"},
      {"negative", R"("-5")", 0, "is negative and counts as 0"},
      {"no quantity", R"("many")", 0, "is not a quantity and counts as 0"},
      {"beyond 64 bits", R"("1e30")", kMax, "is beyond 64 bits and limits nothing"},
      {"far below 64 bits", R"("-1e30")", 0, "is negative and counts as 0"},
  };
  for (const ValueCase& c : cases) {
    const QuotaReading got = hard("limits.nvidia.com/gpucores", std::string(c.value));
    EXPECT_THAT(got.spec.limits, ElementsAre(core::QuotaLimit{kRow, Kind::kCores, c.limit}))
        << c.name;
    if (c.problem.empty()) {
      EXPECT_THAT(got.problems, IsEmpty()) << c.name;
    } else {
      EXPECT_THAT(got.problems, ElementsAre(HasSubstr(std::string(c.problem)))) << c.name;
      EXPECT_THAT(got.problems[0], HasSubstr("limits.nvidia.com/gpucores: ")) << c.name;
    }
  }
}

TEST(ReadQuota, TheFactorMultipliesTheLimitWithoutWrapping) {  // device-model example 13
  EXPECT_EQ(hard("limits.nvidia.com/gpumem", R"("2000")").spec.limits[0].limit, 8000);
  EXPECT_EQ(hard("limits.nvidia.com/gpumem", R"("9223372036854775807")").spec.limits[0].limit,
            INT64_MAX);
  EXPECT_EQ(hard("limits.nvidia.com/gpucores", R"("2000")").spec.limits[0].limit, 2000);
}

TEST(ReadQuota, Case116OnlyTheWholeNameCounts) {
  for (const auto* key : {"limits.nvidia.com/gpumem-percentage", "limits.nvidia.com/gpumemfoo",
                          "limits.nvidia.com/gpume", "nvidia.com/gpumem", "limit.nvidia.com/gpumem",
                          "limits.limits.nvidia.com/gpumem", "Limits.nvidia.com/gpumem"}) {
    const QuotaReading got = hard(key, R"("5")");
    EXPECT_THAT(got.spec.limits, IsEmpty()) << key;
    EXPECT_THAT(got.problems, IsEmpty()) << key;
  }
}

TEST(ReadQuota, WarnsOfWhatWasHardlyMeant) {
  EXPECT_THAT(hard("requests.nvidia.com/gpumem", R"("5")").warnings,
              ElementsAre(HasSubstr("write limits.nvidia.com/gpumem")));
  EXPECT_THAT(hard("requests.nvidia.com/gpucores", R"("5")").warnings,
              ElementsAre(HasSubstr("write limits.nvidia.com/gpucores")));
  EXPECT_THAT(read(R"({"hard":{"requests.nvidia.com/gpumem":"5","limits.nvidia.com/gpumem":"5"}})")
                  .warnings,
              IsEmpty());
  const QuotaReading bytes = hard("limits.nvidia.com/gpumem", R"("10Gi")");
  EXPECT_THAT(bytes.warnings,
              ElementsAre("limits.nvidia.com/gpumem: \"10Gi\" counts as 10737418240 times 4 MiB, "
                          "not as bytes: write the number of MiB divided by 4"));
  EXPECT_EQ(bytes.spec.limits[0].limit, 4 * 10737418240);
}

TEST(ReadQuota, ScopesInBothForms) {
  const QuotaReading got = read(
      R"({"hard":{"limits.nvidia.com/gpu":"1"},"scopes":["NotTerminating","BestEffort"],
          "scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high","low"]},
                                               {"scopeName":"NotBestEffort","operator":"Exists"},
                                               {"scopeName":"PriorityClass","operator":"DoesNotExist"},
                                               {"scopeName":"PriorityClass","operator":"NotIn","values":["x"]},
                                               {"scopeName":"Terminating","operator":"Exists"}]}})");
  using W = Scope::Word;
  using M = Scope::Match;
  EXPECT_THAT(got.spec.scopes, ElementsAre(Scope{W::kNotTerminating, M::kExists, {}},
                                           Scope{W::kBestEffort, M::kExists, {}},
                                           Scope{W::kPriorityClass, M::kIn, {"high", "low"}},
                                           Scope{W::kNotBestEffort, M::kExists, {}},
                                           Scope{W::kPriorityClass, M::kDoesNotExist, {}},
                                           Scope{W::kPriorityClass, M::kNotIn, {"x"}},
                                           Scope{W::kTerminating, M::kExists, {}}));
  EXPECT_THAT(got.problems, IsEmpty());
}

TEST(ReadQuota, AScopeThatOnlyTheApiServerCanJudgeIsReportedAndNotEnforced) {
  const QuotaReading got =
      read(R"({"hard":{"limits.nvidia.com/gpu":"1"},"scopes":["CrossNamespacePodAffinity"]})");
  EXPECT_THAT(got.spec.limits, IsEmpty());
  EXPECT_THAT(got.problems, ElementsAre(HasSubstr("\"CrossNamespacePodAffinity\"")));
  EXPECT_THAT(read(R"({"hard":{"pods":"1"},"scopes":["CrossNamespacePodAffinity"]})").problems,
              IsEmpty())
      << "not about devices";
}

}  // namespace
}  // namespace tessera::vendors
