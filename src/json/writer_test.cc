#include "json/writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "json/patch.h"

namespace tessera::json {
namespace {

TEST(Writer, PlacesCommas) {
  Writer out;
  out.begin_object().key("a").begin_array().integer(1).begin_object().end_object().null();
  out.end_array().key("b").boolean(false).key("c").raw("[2]").key("d").string("x").end_object();
  EXPECT_EQ(out.text(), R"({"a":[1,{},null],"b":false,"c":[2],"d":"x"})");
}

struct StringCase {
  std::string_view text, json;
};
class WriterEscapes : public testing::TestWithParam<StringCase> {};
TEST_P(WriterEscapes, AsGoDoes) { EXPECT_EQ(quoted(GetParam().text), GetParam().json); }
INSTANTIATE_TEST_SUITE_P(
    Table, WriterEscapes,
    testing::Values(StringCase{"", R"("")"}, StringCase{"a/b", R"("a/b")"},
                    StringCase{"\"\\", R"("\"\\")"}, StringCase{"<a>&", R"("\u003ca\u003e\u0026")"},
                    StringCase{"\n\r\t", R"("\n\r\t")"},
                    StringCase{"\b\f\x01\x1f", R"("\u0008\u000c\u0001\u001f")"},
                    StringCase{std::string_view("\0", 1), R"("\u0000")"},
                    StringCase{"\x7f", "\"\x7f\""}, StringCase{"\u00e4\u65e5", "\"\u00e4\u65e5\""},
                    StringCase{"\u2028\u2029\u2027", "\"\\u2028\\u2029\u2027\""},
                    StringCase{"a\xff\xc3z", R"("a\ufffd\ufffdz")"},
                    StringCase{"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"}));

struct NumberCase {
  double value;
  std::string_view json;
};
class WriterNumbers : public testing::TestWithParam<NumberCase> {};
TEST_P(WriterNumbers, AsGoDoes) {
  Writer out;
  out.number(GetParam().value);
  EXPECT_EQ(out.text(), GetParam().json);
}
INSTANTIATE_TEST_SUITE_P(
    Table, WriterNumbers,
    testing::Values(NumberCase{0, "0"}, NumberCase{3, "3"}, NumberCase{-1.5, "-1.5"},
                    NumberCase{0.1, "0.1"}, NumberCase{1e20, "100000000000000000000"},
                    NumberCase{1e21, "1e+21"}, NumberCase{1e-6, "0.000001"},
                    NumberCase{1e-7, "1e-7"}, NumberCase{1.5e-10, "1.5e-10"},
                    NumberCase{1e300, "1e+300"},
                    NumberCase{std::numeric_limits<double>::infinity(), "null"},
                    NumberCase{std::numeric_limits<double>::quiet_NaN(), "null"}));

TEST(Writer, IntegersHoldTheWholeRange) {
  Writer out;
  out.begin_array().integer(INT64_MIN).integer(INT64_MAX).end_array();
  EXPECT_EQ(out.text(), "[-9223372036854775808,9223372036854775807]");
}

TEST(Patch, PointersEscapeTildeAndSlash) {
  EXPECT_EQ(escape_pointer("a/b~c"), "a~1b~0c");
  EXPECT_EQ(escape_pointer("~1"), "~01");
}

TEST(Patch, BuildsTheArray) {
  PatchBuilder patch;
  EXPECT_TRUE(patch.empty());
  EXPECT_EQ(patch.text(), "[]");
  patch.add("/metadata/annotations/" + escape_pointer("example.com/key"), quoted("v"));
  patch.replace("/spec/schedulerName", quoted("s"));
  patch.remove("/spec/nodeName");
  EXPECT_FALSE(patch.empty());
  EXPECT_EQ(patch.text(),
            R"([{"op":"add","path":"/metadata/annotations/example.com~1key","value":"v"},)"
            R"({"op":"replace","path":"/spec/schedulerName","value":"s"},)"
            R"({"op":"remove","path":"/spec/nodeName"}])");
}

TEST(Writer, EveryPlaceOfATextIsLookedAt) {
  const std::pair<std::string_view, std::string_view> specials[] = {
      {"\"", R"(\")"},          {"\\", R"(\\)"},       {"<", R"(\u003c)"}, {">", R"(\u003e)"},
      {"&", R"(\u0026)"},       {"\x1f", R"(\u001f)"}, {"\n", R"(\n)"},    {"\x7f", "\x7f"},
      {"\xc3\xa4", "\xc3\xa4"}, {"\xff", R"(\ufffd)"}, {" ", " "},         {"~", "~"}};
  for (std::size_t length = 0; length < 70; ++length) {
    const std::string plain(length, 'n');
    for (const auto& [special, written] : specials) {
      for (std::size_t at = 0; at <= length; ++at) {
        std::string text = plain, expected = plain;
        text.insert(at, special);
        expected.insert(at, written);
        std::string out = "x";
        append_string(out, text);
        ASSERT_EQ(out, "x\"" + expected + "\"") << length << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::json
