#include "json/value_scanner.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "json/json_test_values.h"
#include "json/value_scanner_test_reference.h"
#include "json/writer.h"

namespace tessera::json {
namespace {

using Registers = ValueScanner::Registers;

/// What this processor can look with.
std::vector<Registers> all_registers() {
  std::vector<Registers> all;
  for (const auto registers : {Registers::kWords, Registers::k16Bytes, Registers::k32Bytes})
    if (registers <= ValueScanner::widest()) all.push_back(registers);
  return all;
}

std::optional<std::size_t> end_of(std::string_view text) {
  const auto whole = [&] { return text.size(); };
  const auto end = end_by_pieces(text, whole);
  for (const Registers registers : all_registers())
    EXPECT_EQ(end_by_pieces(text, whole, registers), end) << text;
  return end;
}

std::optional<std::size_t> end_in_random_pieces(std::string_view text) {
  return end_by_pieces(
      text, [] { return *rc::gen::inRange<std::size_t>(1, 150); },
      *rc::gen::elementOf(all_registers()));
}

TEST(ValueScanner, FindsTheEndOfAValue) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"{}", ",1"},
      {"[]", "]"},
      {R"("")", R"("")"},
      {R"("a")", ":{}"},
      {R"("{[\"]}")", "}"},
      {R"({"a":[1,{"b":"]}"}]})", R"(,{"c":2})"},
      {R"({"q":"\\\"","r":"\\"})", R"("})"},
      {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "]]]]"},
  };
  for (const auto& [value, more] : rows) {
    EXPECT_EQ(end_of(std::string(value) + std::string(more)), value.size()) << value;
    EXPECT_EQ(end_of(value), value.size()) << value;
    EXPECT_EQ(end_of(value.substr(0, value.size() - 1)), std::nullopt) << value;
  }
}

TEST(ValueScanner, BeginsAgainAfterAnyEnd) {
  ValueScanner value;
  for (const std::string_view begun : {R"(["a\)", R"("a\)", "[[", "{}", R"("a")"}) {
    value.begin(begun.front());
    value.feed(begun);
    value.begin('[');
    EXPECT_TRUE(value.open());
    EXPECT_EQ(value.feed(R"(["\"",1]])"), 8U) << begun;
    EXPECT_FALSE(value.open());
  }
}

// Whatever stands where a step or a piece ends: quotes, backslashes, brackets.
TEST(ValueScanner, CutsMayLieAnywhere) {
  const std::string_view values[] = {R"({"a\\":"]}\\\"[{","b":[[{}],"\\\\"]})",
                                     R"(["\"",{"x":"\\"},[[[]]]])", R"("\\\"\\\\\"{")"};
  for (const std::string_view value : values) {
    for (std::size_t before = 0; before < 70; ++before) {
      const std::string text = "[" + std::string(before, ' ') + std::string(value) + "]]";
      for (std::size_t cut = 1; cut < text.size() - 1; ++cut) {
        for (const Registers registers : all_registers()) {
          bool first = true;
          const auto piece = [&] { return std::exchange(first, false) ? cut : text.size(); };
          EXPECT_EQ(end_by_pieces(text, piece, registers), text.size() - 1)
              << text << " cut at " << cut;
        }
      }
    }
  }
}

TEST(ValueScanner, BackslashesEscapeTwoByTwo) {
  for (std::size_t before = 0; before < 70; ++before) {
    for (std::size_t slashes = 0; slashes < 140; ++slashes) {
      const std::string string =
          '"' + std::string(before, 'x') + std::string(slashes, '\\') + "\"]\"";
      const std::size_t end = string.size() - (slashes % 2 == 0 ? 2 : 0);
      EXPECT_EQ(end_of(string), end) << before << " " << slashes;
      if (slashes % 2 == 0) continue;
      EXPECT_EQ(end_of("[" + string + "]"), string.size() + 2) << before << " " << slashes;
    }
  }
}

TEST(ValueScanner, FindsWhatAWalkByteByByteFindsInAnyJson) {
  EXPECT_TRUE(rc::check([] {
    Writer w;
    w.begin_array();
    const int count = *rc::gen::inRange(0, 6);
    for (int i = 0; i < count; ++i) write_any(w, 4);
    w.end_array();
    const std::string value = std::move(w).take();
    const std::string text = value + any_text();
    RC_ASSERT(end_byte_by_byte(text) == value.size());
    RC_ASSERT(end_of(text) == value.size());
    RC_ASSERT(end_in_random_pieces(text) == value.size());
    RC_ASSERT(end_in_random_pieces(value.substr(0, value.size() - 1)) == std::nullopt);
  }));
}

TEST(ValueScanner, FindsWhatAWalkByteByByteFindsInAnyBytes) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = *rc::gen::elementOf(std::vector<std::string>{"{", "[", "\""}) +
                             *rc::gen::scale(4, rc::gen::container<std::string>(rc::gen::elementOf(
                                                    std::string("{[[[]}\"\"\\\\,:\xc3 1a"))));
    const auto expected = end_byte_by_byte(text);
    RC_ASSERT(end_of(text) == expected);
    RC_ASSERT(end_in_random_pieces(text) == expected);
  }));
}

}  // namespace
}  // namespace tessera::json
