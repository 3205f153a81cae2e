#include "base/quantity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <limits>
#include <optional>
#include <ostream>

namespace tessera {
namespace {

using Plain = std::optional<std::int64_t>;
constexpr std::nullopt_t kNone = std::nullopt;

struct ReadCase {
  std::string_view text;
  Plain plain;           // what the fast 64-bit test accepts
  Plain integer;         // the whole value, whatever the spelling
  std::int64_t rounded;  // away from zero
  std::string_view canonical;
};
void PrintTo(const ReadCase& c, std::ostream* out) { *out << c.text; }

class QuantityReads : public testing::TestWithParam<ReadCase> {};

TEST_P(QuantityReads, AsKubernetesDoes) {
  const ReadCase& c = GetParam();
  const auto quantity = Quantity::parse(c.text);
  ASSERT_TRUE(quantity) << quantity.error().what;
  EXPECT_EQ(quantity->plain_integer(), c.plain);
  EXPECT_EQ(quantity->integer(), c.integer);
  EXPECT_EQ(quantity->rounded(), c.rounded);
  EXPECT_EQ(quantity->canonical(), c.canonical);
}

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

INSTANTIATE_TEST_SUITE_P(
    Table, QuantityReads,
    testing::Values(
        ReadCase{"0", 0, 0, 0, "0"}, ReadCase{"1", 1, 1, 1, "1"}, ReadCase{"+7", 7, 7, 7, "7"},
        ReadCase{"-7", -7, -7, -7, "-7"}, ReadCase{"007", 7, 7, 7, "7"},
        ReadCase{"3k", 3000, 3000, 3000, "3k"}, ReadCase{"3000", 3000, 3000, 3000, "3k"},
        ReadCase{"3Ki", 3072, 3072, 3072, "3Ki"}, ReadCase{"4.5k", 4500, 4500, 4500, "4500"},
        ReadCase{"2e3", 2000, 2000, 2000, "2e3"}, ReadCase{"2E3", 2000, 2000, 2000, "2e3"},
        ReadCase{"2e+3", 2000, 2000, 2000, "2e3"}, ReadCase{"1e4", 10000, 10000, 10000, "10e3"},
        ReadCase{"1E", 1'000'000'000'000'000'000, 1'000'000'000'000'000'000,
                 1'000'000'000'000'000'000, "1E"},
        ReadCase{"1Gi", kGi, kGi, kGi, "1Gi"}, ReadCase{"1024Ki", 1 << 20, 1 << 20, 1 << 20, "1Mi"},
        ReadCase{"1500Mi", 1500 << 20, 1500 << 20, 1500 << 20, "1500Mi"},
        // Whole numbers that the fast form does not hold.
        ReadCase{"2.0", kNone, 2, 2, "2"}, ReadCase{"1000m", kNone, 1, 1, "1"},
        ReadCase{"16.0Gi", kNone, 16 * kGi, 16 * kGi, "16Gi"},
        ReadCase{"0.5Ki", kNone, 512, 512, "512"}, ReadCase{"20e-1", kNone, 2, 2, "2"},
        // Fractions round away from zero.
        ReadCase{"0.5", kNone, kNone, 1, "500m"}, ReadCase{"500m", kNone, kNone, 1, "500m"},
        ReadCase{"1500m", kNone, kNone, 2, "1500m"}, ReadCase{"-1m", kNone, kNone, -1, "-1m"},
        ReadCase{".5", kNone, kNone, 1, "500m"}, ReadCase{"5.", 5, 5, 5, "5"},
        ReadCase{"1n", kNone, kNone, 1, "1n"}, ReadCase{"0.1n", kNone, kNone, 1, "1n"},
        ReadCase{"1e-12", kNone, kNone, 1, "1e-9"}, ReadCase{"0.1Ki", kNone, kNone, 103, "102400m"},
        // Length limits of the fast form: 18 decimal digits; 11, 8, 5, 2 and 0 with the binary
        // suffixes.
        ReadCase{"999999999999999999", 999999999999999999, 999999999999999999, 999999999999999999,
                 "999999999999999999"},
        ReadCase{"1000000000000000001", kNone, 1000000000000000001, 1000000000000000001,
                 "1000000000000000001"},
        ReadCase{"9223372036854775807", kNone, kMax, kMax, "9223372036854775807"},
        ReadCase{"99999999Mi", 99999999LL << 20, 99999999LL << 20, 99999999LL << 20, "99999999Mi"},
        ReadCase{"100000001Mi", kNone, 100000001LL << 20, 100000001LL << 20, "100000001Mi"},
        ReadCase{"99999Gi", 99999 * kGi, 99999 * kGi, 99999 * kGi, "99999Gi"},
        ReadCase{"100001Gi", kNone, 100001 * kGi, 100001 * kGi, "100001Gi"},
        ReadCase{"99Ti", 99 * kGi * 1024, 99 * kGi * 1024, 99 * kGi * 1024, "99Ti"},
        ReadCase{"101Ti", kNone, 101 * kGi * 1024, 101 * kGi * 1024, "101Ti"},
        ReadCase{"1Pi", kNone, kGi << 20, kGi << 20, "1Pi"}));

struct BadCase {
  std::string_view text, error;
};
void PrintTo(const BadCase& c, std::ostream* out) { *out << c.text; }

class QuantityRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(QuantityRefuses, NamingTheText) {
  const auto quantity = Quantity::parse(GetParam().text);
  ASSERT_FALSE(quantity);
  EXPECT_EQ(quantity.error().code, Code::kInvalid);
  EXPECT_EQ(quantity.error().what, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Table, QuantityRefuses,
    testing::Values(
        BadCase{"", R"(invalid quantity "": empty)"},
        BadCase{"16Gx", R"(invalid quantity "16Gx": unknown suffix)"},
        BadCase{"abc", R"(invalid quantity "abc": not a number)"},
        BadCase{"-", R"(invalid quantity "-": not a number)"},
        BadCase{".", R"(invalid quantity ".": not a number)"},
        BadCase{"--1", R"(invalid quantity "--1": not a number)"},
        BadCase{"1 ", R"(invalid quantity "1 ": unknown suffix)"},
        BadCase{" 1", R"(invalid quantity " 1": not a number)"},
        BadCase{"1.2.3", R"(invalid quantity "1.2.3": unknown suffix)"},
        BadCase{"1e", R"(invalid quantity "1e": unknown suffix)"},
        BadCase{"1e+-3", R"(invalid quantity "1e+-3": unknown suffix)"},
        BadCase{"1ki", R"(invalid quantity "1ki": unknown suffix)"},
        BadCase{"1K", R"(invalid quantity "1K": unknown suffix)"},
        BadCase{"9223372036854775808", R"(invalid quantity "9223372036854775808": beyond 64 bits)"},
        BadCase{"-9223372036854775808",
                R"(invalid quantity "-9223372036854775808": beyond 64 bits)"},
        BadCase{"8Ei", R"(invalid quantity "8Ei": beyond 64 bits)"},
        BadCase{"10E", R"(invalid quantity "10E": beyond 64 bits)"},
        BadCase{"1e999", R"(invalid quantity "1e999": beyond 64 bits)"},
        BadCase{"1e99999999999", R"(invalid quantity "1e99999999999": unknown suffix)"}));

TEST(Quantity, SuffixesThatMeanBytes) {
  for (std::string_view text : {"1k", "1M", "1G", "1Ki", "1Mi", "1Gi"}) {
    EXPECT_TRUE(Quantity::parse(text)->has_suffix()) << text;
  }
  for (std::string_view text : {"1", "1m", "1n", "1e3"}) {
    EXPECT_FALSE(Quantity::parse(text)->has_suffix()) << text;
  }
  EXPECT_TRUE(Quantity::parse("1Gi")->has_binary_suffix());
  EXPECT_FALSE(Quantity::parse("1G")->has_binary_suffix());
}

TEST(Quantity, NegativeMeansBelowZero) {
  EXPECT_TRUE(Quantity::parse("-1n")->negative());
  EXPECT_FALSE(Quantity::parse("-0")->negative());
  EXPECT_FALSE(Quantity::parse("1")->negative());
}

TEST(Quantity, FromIntegerHoldsTheWholeRange) {
  for (std::int64_t value : {kMax, std::numeric_limits<std::int64_t>::min(), std::int64_t{0}}) {
    EXPECT_EQ(Quantity::from_integer(value).integer(), value);
    EXPECT_EQ(Quantity::from_integer(value).plain_integer(), value);
  }
}

TEST(QuantityProperty, CanonicalTextHasTheSameValueAndIsStable) {
  const bool holds = rc::check([] {
    static constexpr std::array<std::string_view, 17> kSuffixes{"",   "n",  "u",  "m",   "k",  "M",
                                                                "G",  "T",  "P",  "Ki",  "Mi", "Gi",
                                                                "Ti", "Pi", "e3", "e-2", "E1"};
    const auto mantissa = *rc::gen::inRange<std::int64_t>(-10'000'000, 10'000'000);
    const auto fraction = *rc::gen::inRange(0, 1000);
    const auto& suffix = kSuffixes[*rc::gen::inRange<std::size_t>(0, kSuffixes.size())];
    const bool with_fraction = *rc::gen::arbitrary<bool>();
    const std::string text = with_fraction ? fmt::format("{}.{:03}{}", mantissa, fraction, suffix)
                                           : fmt::format("{}{}", mantissa, suffix);
    const auto first = Quantity::parse(text);
    RC_PRE(first.has_value());
    const auto second = Quantity::parse(first->canonical());
    RC_ASSERT(second.has_value());
    RC_ASSERT(*first == *second);
    RC_ASSERT(second->canonical() == first->canonical());
    // What the API server stores is plain whenever it is whole and short.
    if (first->integer() && std::abs(*first->integer()) < 100'000'000) {
      RC_ASSERT(second->plain_integer() == first->integer());
    }
  });
  EXPECT_TRUE(holds);
}

TEST(QuantityProperty, IntegersReadBackExactly) {
  const bool holds = rc::check([](std::int64_t value) {
    RC_PRE(value != std::numeric_limits<std::int64_t>::min());
    const auto read = Quantity::parse(std::to_string(value));
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->integer() == value);
    RC_ASSERT(read->rounded() == value);
    RC_ASSERT(*read == Quantity::from_integer(value));
  });
  EXPECT_TRUE(holds);
}

TEST(QuantityProperty, AnyTextIsReadOrRefused) {
  const bool holds = rc::check([](const std::string& text) {
    const auto read = Quantity::parse(text);
    if (!read) RC_ASSERT(read.error().what.starts_with("invalid quantity \""));
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace tessera
