#include "json/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "json/writer.h"

namespace tessera::json {
namespace {

using testing::ElementsAre;

/// Keeps the parser alive beside the value.
struct Parsed {
  Parser parser;
  Result<Value> value;
  explicit Parsed(std::string_view text) : value(parser.parse(text)) {}
  const Value* operator->() const { return &*value; }
  Value operator*() const { return *value; }
};

TEST(Reader, KindsAndValues) {
  const Parsed doc(R"({"s":"x","i":-5,"d":1.5,"t":true,"n":null,"a":[1,2],"o":{}})");
  ASSERT_TRUE(doc.value);
  EXPECT_EQ((*doc)["s"].string(), "x");
  EXPECT_EQ((*doc)["i"].integer(), -5);
  EXPECT_EQ((*doc)["i"].number(), -5.0);
  EXPECT_EQ((*doc)["d"].number(), 1.5);
  EXPECT_EQ((*doc)["t"].boolean(), true);
  EXPECT_EQ((*doc)["n"].kind(), Kind::kNull);
  EXPECT_EQ((*doc)["a"].kind(), Kind::kArray);
  EXPECT_EQ((*doc)["o"].kind(), Kind::kObject);
  EXPECT_EQ((*doc)["x"].kind(), Kind::kMissing);
  EXPECT_EQ((*doc)["a"].size(), 2U);
  EXPECT_EQ(doc->size(), 7U);
}

TEST(Reader, TheWrongKindIsNeverAnAccident) {
  const Parsed doc(R"({"s":"x","n":null,"big":18446744073709551615,"d":8.0,"e":1e3})");
  const Value missing = (*doc)["nothing"]["deeper"]["still"];
  EXPECT_TRUE(missing.missing());
  EXPECT_TRUE((*doc)["s"]["inside"].missing());
  EXPECT_FALSE((*doc)["s"].integer());
  EXPECT_FALSE((*doc)["s"].boolean());
  EXPECT_FALSE((*doc)["n"].string());
  EXPECT_EQ((*doc)["n"].string_or("other"), "other");
  EXPECT_EQ((*doc)["big"].kind(), Kind::kNumber);
  EXPECT_FALSE((*doc)["big"].integer());
  EXPECT_FALSE((*doc)["d"].integer());
  EXPECT_FALSE((*doc)["e"].integer());
  EXPECT_EQ((*doc)["s"].size(), 0U);
  int visited = 0;
  (*doc)["s"].for_each_element([&](Value) { ++visited; });
  (*doc)["s"].for_each_member([&](std::string_view, Value) { ++visited; });
  EXPECT_EQ(visited, 0);
  EXPECT_FALSE(Value().literal());
}

TEST(Reader, TheLastDuplicateWins) {
  const Parsed doc(R"({"a":1,"b":2,"a":3})");
  EXPECT_EQ((*doc)["a"].integer(), 3);
}

TEST(Reader, IgnoringCaseTheExactSpellingWinsThenTheLast) {
  const Parsed doc(R"({"NodeNames":1,"nodenames":2,"pod":3,"POD":4})");
  EXPECT_EQ(doc->find_ignoring_case("NodeNames").integer(), 1);
  EXPECT_EQ(doc->find_ignoring_case("nodenames").integer(), 2);
  EXPECT_EQ(doc->find_ignoring_case("Pod").integer(), 4);
  EXPECT_TRUE(doc->find_ignoring_case("Node").missing());
}

TEST(Reader, MembersAndElementsComeInDocumentOrder) {
  const Parsed doc(R"({"b":[3,1],"a":[],"b":[2]})");
  std::vector<std::string> keys;
  std::vector<std::int64_t> numbers;
  doc->for_each_member([&](std::string_view key, Value value) {
    keys.emplace_back(key);
    value.for_each_element([&](Value element) { numbers.push_back(*element.integer()); });
  });
  EXPECT_THAT(keys, ElementsAre("b", "a", "b"));
  EXPECT_THAT(numbers, ElementsAre(3, 1, 2));
}

TEST(Reader, NumbersKeepTheirReceivedText) {
  const Parsed doc(R"({"1.5":"2.5","a":[1.50,1e3,-2E+1,7],"b":-0.0,"c":"\"9.9"})");
  std::vector<std::string_view> literals;
  (*doc)["a"].for_each_element([&](Value element) { literals.push_back(*element.literal()); });
  EXPECT_THAT(literals, ElementsAre("1.50", "1e3", "-2E+1", "7"));
  EXPECT_EQ((*doc)["b"].literal(), "-0.0");
  EXPECT_FALSE((*doc)["c"].literal());
  EXPECT_EQ(Parsed("2.0")->literal(), "2.0");
}

TEST(Reader, DumpIsCompactAndKeepsNumbers) {
  const Parsed doc("{ \"a\" : [ 1.50 , null , true ] ,\n \"b\" : { } , \"c\":\"<\\u00e4\" }");
  EXPECT_EQ(doc->dump(), "{\"a\":[1.50,null,true],\"b\":{},\"c\":\"\\u003c\u00e4\"}");
  EXPECT_EQ(Value().dump(), "null");
}

struct BadCase {
  std::string_view text, error;
};
class ReaderRefuses : public testing::TestWithParam<BadCase> {};
TEST_P(ReaderRefuses, WithWords) {
  Parser parser;
  const auto value = parser.parse(GetParam().text);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, Code::kInvalid);
  EXPECT_THAT(value.error().what, testing::StartsWith(std::string(GetParam().error)));
}
INSTANTIATE_TEST_SUITE_P(
    Table, ReaderRefuses,
    testing::Values(BadCase{"", "EOF"}, BadCase{" \n", "EOF"}, BadCase{"{", "unexpected EOF"},
                    BadCase{R"({"a":[1)", "unexpected EOF"}, BadCase{R"({"a)", "unexpected EOF"},
                    BadCase{"{}{}", "invalid JSON"}, BadCase{"{} x", "invalid JSON"},
                    BadCase{"{'a':1}", "invalid JSON"}, BadCase{"[1,]", "invalid JSON"},
                    BadCase{"[01]", "invalid JSON"}, BadCase{"[NaN]", "invalid JSON"},
                    BadCase{"[18446744073709551616]", "invalid JSON"},
                    BadCase{"[\"\xff\"]", "invalid JSON"}, BadCase{"[\"\x01\"]", "invalid JSON"}));

TEST(Reader, DepthIsLimited) {
  Parser parser;
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parser.parse(nested(127)));
  const auto deep = parser.parse(nested(129));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().what, "invalid JSON: nested deeper than 128");
  EXPECT_FALSE(parser.parse(nested(100'000)));
  EXPECT_TRUE(parser.parse("[1]")) << "the parser goes on after an error";
}

TEST(Reader, OneParserReadsGrowingTexts) {
  Parser parser;
  for (std::size_t size : {1U, 100U, 10'000U, 6'000'000U, 10U}) {
    const std::string text = "[\"" + std::string(size, 'x') + "\"]";
    const auto value = parser.parse(text);
    ASSERT_TRUE(value);
    value->for_each_element([&](Value e) { EXPECT_EQ(e.string_or("").size(), size); });
  }
  const auto deep = parser.parse(std::string(129, '[') + std::string(129, ']'));
  EXPECT_FALSE(deep) << "growth keeps the depth limit";
}

TEST(Reader, InPlaceTheTextStaysTheCallers) {
  Parser parser;
  std::string body = R"({"a":1.25})";
  const auto value = parser.parse_in_place(body);
  ASSERT_TRUE(value);
  EXPECT_EQ(body, R"({"a":1.25})");
  EXPECT_EQ(parser.source().data(), body.data());
  EXPECT_EQ((*value)["a"].literal()->data(), body.data() + 5);
}

std::optional<ArrayText> found_in(std::string_view text) {
  auto found = find_array(text, "Nodes", "items");
  EXPECT_TRUE(found) << text;
  return found ? std::move(*found) : std::nullopt;
}

TEST(FindArray, GivesTheReceivedBytes) {
  const std::string_view text =
      R"({"pod":{"items":[0]}, "nodes" : {"Items": [ {"a" : "]}\\\"" } ,[ 1, 2 ],"x\\",  3.50,null ] },"z":1})";
  const auto array = found_in(text);
  ASSERT_TRUE(array);
  EXPECT_THAT(array->elements,
              ElementsAre(R"({"a" : "]}\\\"" })", "[ 1, 2 ]", R"("x\\")", "3.50", "null"));
  EXPECT_EQ(array->elements[0].data(), text.data() + text.find("{\"a\""));
  EXPECT_EQ(std::string(text.substr(0, array->begin)) + "[]" + std::string(text.substr(array->end)),
            R"({"pod":{"items":[0]}, "nodes" : {"Items": [] },"z":1})");
}

TEST(FindArray, ChoosesTheSameMemberAsTheReader) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"({"Nodes":{"items":[1]},"nodes":{"items":[2]}})", "1"},
      {R"({"nodes":{"items":[1]},"NODES":{"items":[2]}})", "2"},
      {R"({"\u004eodes":{"items":[1],"items":[3]}})", "3"},
      {R"({"Nodes":{"Items":[1],"items":[4],"ITEMS":[2]},"nodes":null})", "4"},
      {R"({"Nodes":{"items":[1]},"Nodes":{"x":{"items":[2]},"items":[5]}})", "5"},
  };
  for (const auto& [text, element] : rows) {
    const auto array = found_in(text);
    ASSERT_TRUE(array) << text;
    EXPECT_THAT(array->elements, ElementsAre(element)) << text;
  }
}

TEST(FindArray, AnEmptyArrayIsFoundAndAnythingElseIsNot) {
  const auto empty = found_in(R"({"Nodes":{"items":[ ]}})");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->elements.empty());
  for (std::string_view text :
       {"{}", "[]", "null", "", " 7", R"({"Nodes":null})", R"({"Nodes":{}})",
        R"({"Nodes":{"items":null}})", R"({"Nodes":[]})", R"({"Nodes":{"items":5}})",
        R"({"Nodes":{"items":[1]},"Nodes":7})", R"({"Nodes":{"items":[1],"items":null}})",
        R"({"items":[1],"Pod":{"Nodes":{"items":[1]}}})"}) {
    EXPECT_FALSE(found_in(text)) << text;
  }
}

TEST(FindArray, WhatDoesNotMakeAWholeIsAnError) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"({"Nodes":{"items":[{"a":1},)", "unexpected EOF"},
      {R"({"Nodes":{"items":[{"a":"1)", "unexpected EOF"},
      {R"({"Nodes":{"items":[1,]}})", "improper structure"},
      {R"({"Nodes":{"items":[1 2]}})", "improper structure"},
      {R"({"Nodes":{"items":[1}}})", "improper structure"},
      {R"({"Nodes" {"items":[1]}})", "improper structure"},
      {R"({Nodes:{"items":[1]}})", "improper structure"},
  };
  for (const auto& [text, what] : rows) {
    const auto found = find_array(text, "Nodes", "items");
    ASSERT_FALSE(found) << text;
    EXPECT_THAT(found.error().what, testing::HasSubstr(what)) << text;
  }
}

// Whatever stands where a step of 64 bytes ends: quotes, backslashes, brackets.
TEST(FindArray, EndsOfElementsAreFoundAtEveryOffset) {
  for (std::size_t blanks = 0; blanks < 140; ++blanks) {
    for (const std::string_view element :
         {R"({"a\\":"]}\\\"[{","b":[[{}],"\\\\"]})", R"(["\"",{"x":"\\"},[[[]]]])", "{}"}) {
      const std::string text = R"({"Nodes":{"items":[)" + std::string(blanks, ' ') +
                               std::string(element) + "," + std::string(element) + "]}}";
      const auto array = found_in(text);
      ASSERT_TRUE(array);
      EXPECT_THAT(array->elements, ElementsAre(element, element)) << text;
    }
  }
}

TEST(ParsePart, ReadsInPlaceAndCountsTheDepthAround) {
  const std::string text = R"([{"a":1.50},"x",tru])" + std::string(64, ' ');
  Parser parser;
  const auto object = parser.parse_part(std::string_view(text).substr(1, 10), 1);
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)["a"].literal()->data(), text.data() + 6);
  EXPECT_EQ(parser.parse_part(std::string_view(text).substr(12, 3), 1)->string(), "x");
  EXPECT_FALSE(parser.parse_part(std::string_view(text).substr(16, 3), 1));
}

TEST(ParsePart, IsRefusedAtTheDepthAtWhichTheWholeIs) {
  for (std::size_t depth = 118; depth < 132; ++depth) {
    const std::string part = std::string(depth, '[') + std::string(depth, ']');
    const std::string whole = "[[[" + part + "]]]" + std::string(64, ' ');
    Parser parser;
    const auto read_whole = parser.parse(std::string_view(whole));
    const auto expected = read_whole ? "" : read_whole.error().what;
    const auto read_part = parser.parse_part(std::string_view(whole).substr(3, part.size()), 3);
    EXPECT_EQ(read_part ? "" : read_part.error().what, expected) << depth;
  }
}

TEST(ParsePart, LeavesTheDepthOfAWholeAsItWas) {
  const std::string whole = std::string(127, '[') + std::string(127, ']');
  const std::string part = "[]" + std::string(64, ' ');
  Parser parser;
  EXPECT_TRUE(parser.parse(std::string_view(whole)));
  EXPECT_TRUE(parser.parse_part(std::string_view(part).substr(0, 2), 9));
  EXPECT_TRUE(parser.parse(std::string_view(whole)));
}

TEST(ReaderProperty, StringsGoThroughWriterAndReaderUnchanged) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& seeds) {
    // Any sequence of code points, surrogates left out.
    std::string text;
    for (std::uint32_t seed : seeds) {
      const std::uint32_t rune = seed % 3 == 0 ? seed % 0x80 : seed % 0xD800;
      if (rune < 0x80) {
        text.push_back(static_cast<char>(rune));
      } else if (rune < 0x800) {
        text.push_back(static_cast<char>(0xC0 | rune >> 6));
        text.push_back(static_cast<char>(0x80 | (rune & 0x3F)));
      } else {
        text.push_back(static_cast<char>(0xE0 | rune >> 12));
        text.push_back(static_cast<char>(0x80 | (rune >> 6 & 0x3F)));
        text.push_back(static_cast<char>(0x80 | (rune & 0x3F)));
      }
    }
    Writer out;
    out.begin_object().key(text).string(text).end_object();
    const Parsed doc(out.text());
    RC_ASSERT(doc.value.has_value());
    RC_ASSERT((*doc)[text].string() == text);
    RC_ASSERT(doc->dump() == out.text());
  }));
}

TEST(ReaderProperty, AnyBytesGiveReadableJson) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    Writer out;
    out.string(bytes);
    RC_ASSERT(Parsed(out.text()).value.has_value());
  }));
}

TEST(ReaderProperty, NumbersReadBack) {
  EXPECT_TRUE(rc::check([](std::int64_t whole, double fraction) {
    Writer out;
    out.begin_array().integer(whole).number(fraction).end_array();
    const Parsed doc(out.text());
    RC_ASSERT(doc.value.has_value());
    std::vector<Value> elements;
    doc->for_each_element([&](Value v) { elements.push_back(v); });
    RC_ASSERT(elements.at(0).integer() == whole);
    RC_ASSERT(elements.at(1).number() == fraction);
  }));
}

TEST(ReaderProperty, FindArrayIsSafeOnAnyTextAndRightOnJson) {
  EXPECT_TRUE(rc::check([] {
    static constexpr std::string_view kAlphabet = "{}[]\",:\\ aN1";
    const auto picks = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::inRange<std::size_t>(0, kAlphabet.size()));
    std::string text = R"({"N":{"a":[)";
    for (std::size_t pick : picks) text.push_back(kAlphabet[pick]);
    const auto found = find_array(text, "N", "a");
    const Parsed doc(text);
    if (!found || !*found) {
      RC_ASSERT(!doc.value);
      return;
    }
    const ArrayText& array = **found;
    for (std::string_view element : array.elements) {
      RC_ASSERT(element.data() >= text.data());
      RC_ASSERT(element.data() + element.size() <= text.data() + text.size());
    }
    // The whole is valid when its parts are.
    bool valid =
        Parsed(text.substr(0, array.begin) + "[]" + text.substr(array.end)).value.has_value();
    for (std::string_view element : array.elements)
      valid = valid && Parsed(std::string(element)).value.has_value();
    RC_ASSERT(valid == doc.value.has_value());
    if (valid) RC_ASSERT(array.elements.size() == (*doc)["N"]["a"].size());
  }));
}

}  // namespace
}  // namespace tessera::json
