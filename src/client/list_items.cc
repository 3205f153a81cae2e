#include "client/list_items.h"

#include <algorithm>

namespace tessera::client {
namespace {

constexpr std::size_t kKeptItem = std::size_t{256} << 10;  // memory that stays for the next one

/// How many bytes come before the next that belongs to the structure.
std::size_t plain_bytes(std::string_view text) {
  return std::min(text.find_first_of("{}[]\","), text.size());
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
  place_ = Place::kOutside;
  value_ = {};
  after_comma_ = false;
}

void ListItems::feed(std::string_view chunk, const OnItem& on_item) {
  const auto keep_front = [&](std::size_t size) {
    keep(chunk.substr(0, size));
    chunk.remove_prefix(size);
  };
  while (!chunk.empty() && problem_.empty()) {
    if (value_.open()) {  // nearly always
      keep_front(value_.feed(chunk));
    } else if (const std::size_t plain = plain_bytes(chunk); plain != 0) {
      keep_front(plain);
    } else if (around_values(chunk.front(), on_item)) {
      chunk.remove_prefix(1);
    } else {
      value_.begin(chunk.front());
    }
  }
}

/// The brackets and commas between which values stand. False: here begins a value.
bool ListItems::around_values(char c, const OnItem& on_item) {
  const bool opens = c == '{' || c == '[';
  if (c == '}' || c == ']') {
    close(c, on_item);
  } else if (c == ',' && place_ == Place::kInItems) {
    end_item(on_item, false);
  } else if (c == ',') {
    keep(",");
  } else if (opens && place_ == Place::kOutside) {
    keep({&c, 1});
    place_ = Place::kInList;
  } else if (c == '[' && place_ == Place::kInList && at_items_key()) {
    keep("[");
    place_ = Place::kInItems;
  } else {
    return false;
  }
  return true;
}

void ListItems::close(char c, const OnItem& on_item) {
  if (place_ == Place::kOutside) {
    problem_ = "a closing bracket too many";
    return;
  }
  if (place_ == Place::kInItems) {
    if (c == '}') {
      problem_ = "the brackets of the items do not match";
      return;
    }
    end_item(on_item, true);
    place_ = Place::kInList;
  } else {
    place_ = Place::kOutside;
  }
  keep({&c, 1});
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
  if (item_.capacity() > kKeptItem) std::string().swap(item_);  // an assignment would keep it
}

void ListItems::keep(std::string_view text) {
  std::string& target = place_ == Place::kInItems ? item_ : envelope_;
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
