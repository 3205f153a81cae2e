#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tessera::text {
namespace {

using testing::ElementsAre;

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",a,,", ','), ElementsAre("", "a", "", ""));
}

TEST(Text, TrimTakesBlanksTabsAndLineEnds) {
  EXPECT_EQ(trim(" \t\r\na b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim("\va"), "\va");
}

TEST(Text, CaseIsIgnoredForAsciiOnly) {
  EXPECT_TRUE(equals_ignoring_case("NodeNames", "nodenames"));
  EXPECT_FALSE(equals_ignoring_case("NodeNames", "nodename"));
  EXPECT_FALSE(equals_ignoring_case("\u00c4", "\u00e4"));
  EXPECT_TRUE(contains_ignoring_case("Card-A100", "a10"));
  EXPECT_FALSE(contains_ignoring_case("A10", "A100"));
  EXPECT_TRUE(contains_ignoring_case("", ""));
  EXPECT_EQ(lower("AbC\u00c4"), "abc\u00c4");
}

TEST(Text, JoinPutsSeparatorsBetween) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
}

struct IntCase {
  std::string_view text;
  int bits;
  std::int64_t value;
  std::string_view reason;  // empty = fine
};
class IntReads : public testing::TestWithParam<IntCase> {};
TEST_P(IntReads, AsStrconvDoes) {
  const IntCase& c = GetParam();
  const auto number = parse_int(c.text, c.bits);
  ASSERT_EQ(number.has_value(), c.reason.empty());
  if (number) {
    EXPECT_EQ(*number, c.value);
  } else {
    EXPECT_EQ(number.error().what,
              "strconv.ParseInt: parsing " + quote(c.text) + ": " + std::string(c.reason));
  }
}
constexpr std::string_view kSyntax = "invalid syntax";
constexpr std::string_view kRange = "value out of range";
INSTANTIATE_TEST_SUITE_P(
    Table, IntReads,
    testing::Values(
        IntCase{"0", 64, 0, ""}, IntCase{"-12", 64, -12, ""}, IntCase{"+12", 64, 12, ""},
        IntCase{"007", 64, 7, ""}, IntCase{"9223372036854775807", 64, INT64_MAX, ""},
        IntCase{"-9223372036854775808", 64, INT64_MIN, ""},
        IntCase{"9223372036854775808", 64, 0, kRange},
        IntCase{"-9223372036854775809", 64, 0, kRange},
        IntCase{"99999999999999999999", 64, 0, kRange}, IntCase{"2147483647", 32, 2147483647, ""},
        IntCase{"-2147483648", 32, -2147483648LL, ""}, IntCase{"2147483648", 32, 0, kRange},
        IntCase{"", 64, 0, kSyntax}, IntCase{"-", 64, 0, kSyntax}, IntCase{"x", 64, 0, kSyntax},
        IntCase{"1 ", 64, 0, kSyntax}, IntCase{" 1", 64, 0, kSyntax},
        IntCase{"1_000", 64, 0, kSyntax}, IntCase{"0x10", 64, 0, kSyntax},
        IntCase{"1.0", 64, 0, kSyntax}, IntCase{"--1", 64, 0, kSyntax},
        // The first fault in reading order is the one that is named.
        IntCase{"99999999999999999999x", 64, 0, kRange}, IntCase{"3000000000x", 32, 0, kSyntax}));

TEST(Text, ParseIntNamesTheFunctionAsked) {
  EXPECT_EQ(parse_int("x", 64, "strconv.Atoi").error().what,
            R"(strconv.Atoi: parsing "x": invalid syntax)");
}

TEST(Text, BooleansAreTheTwelveWordsOfGo) {
  for (std::string_view word : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_TRUE(*parse_bool(word)) << word;
  }
  for (std::string_view word : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_FALSE(*parse_bool(word)) << word;
  }
  EXPECT_EQ(parse_bool("yes").error().what, R"(strconv.ParseBool: parsing "yes": invalid syntax)");
  EXPECT_FALSE(parse_bool("tRUE"));
}

TEST(Text, QuoteIsReadableAndOneLine) {
  EXPECT_EQ(quote("plain"), R"("plain")");
  EXPECT_EQ(quote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quote("\n\t\r\a\b\f\v"), R"("\n\t\r\a\b\f\v")");
  EXPECT_EQ(quote(std::string_view("\0\x1f\x7f", 3)), R"("\x00\x1f\x7f")");
  EXPECT_EQ(quote("\u00e4\u65e5"), "\"\u00e4\u65e5\"");
  EXPECT_EQ(quote("\u2028\ufeff"), R"("\u2028\ufeff")");
  EXPECT_EQ(quote("a\xff\xc3"), R"("a\xff\xc3")");
}

TEST(Text, Utf8LengthRefusesWhatIsNotUtf8) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\u00e4b"), 2U);
  EXPECT_EQ(utf8_length("\u65e5"), 3U);
  EXPECT_EQ(utf8_length("\U0001F600"), 4U);
  for (std::string_view bad :
       {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_length(bad), 0U) << quote(bad);
  }
}

TEST(Text, Base64IsTheStandardOneWithPadding) {
  EXPECT_EQ(base64_encode(""), "");
  EXPECT_EQ(base64_encode("f"), "Zg==");
  EXPECT_EQ(base64_encode("fo"), "Zm8=");
  EXPECT_EQ(base64_encode("foo"), "Zm9v");
  EXPECT_EQ(base64_encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(*base64_decode("Zm9v\r\nYg==\n"), "foob");
  for (std::string_view bad :
       {"Z", "Zg", "Zg=", "Zg===", "=", "Zg==Zg==", "Z*==", "Zm9v-", "Z=g="}) {
    EXPECT_FALSE(base64_decode(bad)) << bad;
  }
}

TEST(TextProperty, Base64ReadsBack) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    RC_ASSERT(base64_decode(base64_encode(bytes)).value() == bytes);
  }));
}

TEST(TextProperty, JoinUndoesSplit) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    std::vector<std::string> pieces;
    for (std::string_view piece : split(text, 'a')) pieces.emplace_back(piece);
    RC_ASSERT(join(pieces, "a") == text);
  }));
}

}  // namespace
}  // namespace tessera::text
