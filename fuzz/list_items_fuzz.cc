#include <string>
#include <vector>

#include "client/list_items.h"
#include "fuzz/fuzz.h"
#include "json/reader.h"

using namespace tessera;

namespace {

struct Read {
  std::vector<std::string> items;
  std::string envelope, problem;
};

Read read(std::string_view text, std::size_t piece) {
  Read out;
  client::ListItems list;
  list.begin();
  for (std::size_t at = 0; at < text.size(); at += piece)
    list.feed(text.substr(at, piece), [&](std::string& item) { out.items.push_back(item); });
  out.envelope = list.envelope();
  out.problem = list.problem();
  return out;
}

bool is_json(std::string_view text) {
  json::Parser parser;
  return parser.parse(text).has_value();
}

bool all_json(const Read& read) {
  if (!read.problem.empty() || !is_json(read.envelope)) return false;
  for (const std::string& item : read.items)
    if (!is_json(item)) return false;
  return true;
}

}  // namespace

// The first byte says how long the pieces are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text = fuzz::as_text(data + 1, size - 1);
  const Read whole = read(text, text.size()), pieces = read(text, std::size_t{data[0]} % 80 + 1);
  fuzz::require(whole.problem == pieces.problem, "cuts change no problem");
  fuzz::require(whole.items == pieces.items, "cuts change no item");
  fuzz::require(!whole.problem.empty() || whole.envelope == pieces.envelope,
                "cuts change no envelope");

  json::Parser parser;
  const auto value = parser.parse(text);
  // A mark of byte order is skipped at the beginning of any text.
  if (text.find("\xef\xbb\xbf") != std::string_view::npos) return 0;
  const bool too_deep = !value && value.error().what.find("deeper") != std::string::npos;
  fuzz::require(too_deep || value.has_value() == all_json(whole),
                "the whole is JSON where its parts are");
  if (!value) return 0;
  std::size_t items = 0;
  value->for_each_member([&](std::string_view key, json::Value member) {
    if (key == "items" && member.kind() == json::Kind::kArray) items += member.size();
  });
  const bool plain_keys = text.find("\\u") == std::string_view::npos;
  fuzz::require(plain_keys ? whole.items.size() == items : whole.items.size() <= items,
                "each item is given once");
  return 0;
}
