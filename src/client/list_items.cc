#include "client/list_items.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera::client {
namespace {

constexpr std::size_t kKeptItem = std::size_t{256} << 10;  // memory that stays for the next one

/// The first quote or backslash from `at` on, or the size. Most bytes of an object lie in strings.
std::size_t find_in_string(std::string_view text, std::size_t at) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  for (; at + 16 <= text.size(); at += 16) {
    __m128i block;
    std::memcpy(&block, text.data() + at, sizeof block);
    const int found = _mm_movemask_epi8(
        _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
    if (found != 0)
      return at + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(found)));
  }
#endif
  while (at < text.size() && text[at] != '"' && text[at] != '\\') ++at;
  return at;
}

constexpr std::array<bool, 256> kStructural = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("{}[]\",")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

std::size_t find_structural(std::string_view text, std::size_t at) {
  while (at < text.size() && !kStructural[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

std::string_view without_blanks(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace

void ListItems::begin() {
  envelope_.clear();
  item_.clear();
  problem_.clear();
  depth_ = items_depth_ = 0;
  in_string_ = escaped_ = after_comma_ = false;
}

void ListItems::feed(std::string_view chunk, const OnItem& on_item) {
  std::size_t from = 0;  // what lies before is kept already
  std::size_t at = 0;
  while (at < chunk.size() && problem_.empty()) {
    if (escaped_) {
      escaped_ = false;
      ++at;
    } else if (in_string_) {
      at = find_in_string(chunk, at);
      if (at == chunk.size()) break;
      escaped_ = chunk[at] == '\\';
      in_string_ = escaped_;
      ++at;
    } else {
      at = find_structural(chunk, at);
      if (at == chunk.size()) break;
      if (chunk[at] == '"') {
        in_string_ = true;
        ++at;
        continue;
      }
      // Only what begins or ends an item, or the items, parts the text.
      const char c = chunk[at];
      const bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
      const bool parts = (c == ',' && items_depth_ != 0 && depth_ == items_depth_) ||
                         (c == '[' && depth_ == 1 && items_depth_ == 0) ||
                         (closes && items_depth_ != 0 && depth_ == items_depth_);
      if (parts) {
        keep(chunk.substr(from, at - from));
        from = structure(chunk, at, on_item);
        at = from;
        continue;
      }
      if (opens) ++depth_;
      if (closes && depth_-- == 0) problem_ = "a closing bracket too many";
      ++at;
    }
  }
  if (problem_.empty()) keep(chunk.substr(from));
}

/// At a character that may part items; returns where the text goes on.
std::size_t ListItems::structure(std::string_view chunk, std::size_t at, const OnItem& on_item) {
  const char c = chunk[at];
  if (c == '[') {
    const bool items = at_items_key();
    keep(chunk.substr(at, 1));
    ++depth_;
    if (items) items_depth_ = depth_;
    return at + 1;
  }
  if (c == '}') {
    problem_ = "the brackets of the items do not match";
    return at;
  }
  end_item(on_item, c == ']');
  if (c == ']') {
    items_depth_ = 0;
    --depth_;
    keep(chunk.substr(at, 1));
  }
  return at + 1;
}

void ListItems::end_item(const OnItem& on_item, bool last) {
  const bool blank = without_blanks(item_).empty();
  if (blank && (!last || after_comma_)) {
    problem_ = "an item is missing";
    return;
  }
  after_comma_ = !last;
  if (!blank) on_item(item_);
  item_.clear();
  if (item_.capacity() > kKeptItem) item_ = {};
}

void ListItems::keep(std::string_view text) {
  std::string& target = in_items() ? item_ : envelope_;
  if (target.size() + text.size() > kMostBytes) {
    problem_ = "an item is larger than 64 MiB";
    return;
  }
  target.append(text);
}

/// The envelope ends with the key of the items and a colon. A quote that is part of a longer key
/// has a backslash before it.
bool ListItems::at_items_key() const {
  std::string_view text = without_blanks(envelope_);
  if (!text.ends_with(':')) return false;
  text.remove_suffix(1);
  text = without_blanks(text);
  constexpr std::string_view kKey = "\"items\"";
  if (!text.ends_with(kKey)) return false;
  text.remove_suffix(kKey.size());
  text = without_blanks(text);
  return text.ends_with('{') || text.ends_with(',');
}

}  // namespace tessera::client
