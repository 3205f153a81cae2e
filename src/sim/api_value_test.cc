#include "sim/api_value.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace tessera::sim::api {
namespace {

struct TextCase {
  std::string_view name, text, want;
};
class ValueTextTest : public testing::TestWithParam<TextCase> {};

TEST_P(ValueTextTest, ComesBackAsSent) {
  const auto value = Value::parse(GetParam().text);
  ASSERT_TRUE(value) << value.error().what;
  EXPECT_EQ(value->dump(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Table, ValueTextTest,
                         testing::ValuesIn(std::vector<TextCase>{
                             {"order_of_members_stays", R"({"b":1,"a":2})", R"({"b":1,"a":2})"},
                             {"the_last_of_equal_keys_wins", R"({"a":1,"a":2})", R"({"a":2})"},
                             {"fractions_keep_their_text", "[1.50,1e3]", "[1.50,1e3]"},
                             {"large_integers_stay_whole", "9007199254740993", "9007199254740993"},
                             {"negative_integers", "-7", "-7"},
                             {"blanks_go", " { \"a\" : [ ] } ", R"({"a":[]})"},
                             {"escapes", R"("a\"\\\n\u0001é")", R"("a\"\\\n\u0001é")"},
                             {"nested", R"({"a":{"b":[{"c":null},true,false]}})",
                              R"({"a":{"b":[{"c":null},true,false]}})"},
                         }),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ValueTest, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", R"({"a":})", "[1,]", "nul", "{} {}", "\"\xff\""})
    EXPECT_FALSE(Value::parse(text)) << text;
  EXPECT_EQ(Value::parse(R"({"a":)").error().what, "unexpected end of JSON input");
}

TEST(ValueTest, RefusesDeepNestingInsteadOfRunningOutOfStack) {
  const std::string deep(100'000, '[');
  const auto value = Value::parse(deep);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().what, "nested deeper than 200");
}

TEST(ValueTest, ReadsChainThroughWhatIsAbsent) {
  const Value value = *Value::parse(R"({"spec":{"nodeName":"n1"}})");
  EXPECT_EQ(value["spec"]["nodeName"].text(), "n1");
  EXPECT_EQ(value["status"]["phase"].text(), "");
  EXPECT_TRUE(value["spec"]["nodeName"]["deeper"].is_null());
  EXPECT_FALSE(value["spec"].integer());
}

TEST(ValueTest, EqualityIgnoresTheOrderOfMembersOnly) {
  EXPECT_EQ(*Value::parse(R"({"a":1,"b":[1,2]})"), *Value::parse(R"({"b":[1,2],"a":1})"));
  EXPECT_FALSE(*Value::parse("[1,2]") == *Value::parse("[2,1]"));
  EXPECT_FALSE(*Value::parse(R"({"a":1})") == *Value::parse(R"({"a":1,"b":2})"));
  EXPECT_FALSE(*Value::parse("1") == *Value::parse("\"1\""));
}

TEST(ValueTest, AnyTextSurvivesWritingAndReading) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& letters) {
    std::string text;
    for (const std::uint8_t letter : letters) text += static_cast<char>(letter & 0x7f);
    const auto back = Value::parse(Value(text).dump());
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->text() == text);
  }));
}

}  // namespace
}  // namespace tessera::sim::api
