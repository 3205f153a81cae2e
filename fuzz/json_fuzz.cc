#include <algorithm>

#include "fuzz/fuzz.h"
#include "json/reader.h"
#include "json/value_scanner.h"
#include "json/value_scanner_test_reference.h"
#include "json/writer.h"

using namespace tessera;

namespace {

void visit(const json::Value& value) {
  value.string();
  value.integer();
  value.number();
  value.boolean();
  fuzz::require(value.literal().has_value() == (value.kind() == json::Kind::kNumber),
                "every number has its text");
  std::size_t count = 0;
  value.for_each_element([&](json::Value element) {
    ++count;
    visit(element);
  });
  value.for_each_member([&](std::string_view key, json::Value member) {
    ++count;
    fuzz::require(!value[key].missing(), "a visited key is found");
    fuzz::require(!value.find_ignoring_case(key).missing(), "a visited key is found in any case");
    visit(member);
  });
  fuzz::require(count == value.size(), "size counts what is visited");
}

/// The bytes of the text say where it is cut.
void scan(std::string_view text) {
  if (text.empty() || !json::ValueScanner::begins(text.front())) return;
  const auto end = json::end_byte_by_byte(text);
  std::size_t at = 0;
  fuzz::require(json::end_by_pieces(text, [&] { return text.size(); }) == end,
                "the end of a value in one piece");
  fuzz::require(json::end_by_pieces(text,
                                    [&] {
                                      const auto byte =
                                          static_cast<unsigned char>(text[at++ % text.size()]);
                                      return std::max<std::size_t>(byte, 1);
                                    }) == end,
                "the end of a value in many pieces");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  scan(text);
  const auto found = json::find_array(text, "a", "b");  // safe on anything
  json::Writer writer;
  writer.string(text);
  json::Parser string_parser;
  fuzz::require(string_parser.parse(writer.text()).has_value(),
                "any bytes are written as valid JSON");

  json::Parser parser;
  const auto value = parser.parse(text);
  if (!fuzz::accepted(value)) return 0;
  if (text.size() < 4096) visit(*value);  // looking up every key is quadratic
  const std::string dumped = value->dump();
  json::Parser second;
  const auto again = second.parse(dumped);
  fuzz::require(again.has_value(), "a dump is valid");
  fuzz::require(again->dump() == dumped, "a dump is stable");

  const json::Value elements = value->find_ignoring_case("a").find_ignoring_case("b");
  fuzz::require(found.has_value(), "no brackets are missing where a parser finds none missing");
  fuzz::require(found->has_value() == (elements.kind() == json::Kind::kArray),
                "the array is found");
  if (*found) {
    fuzz::require((*found)->elements.size() == elements.size(), "one text for each element");
  }
  return 0;
}
