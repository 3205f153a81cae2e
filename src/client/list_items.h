/// Cuts the text of a list, as it comes in, into its items, so that no list is ever in memory as a
/// whole: {"metadata":{…},"items":[A,B,…]} gives A, B, …, and in the end
/// {"metadata":{…},"items":[]}. Knows strings and brackets only: whoever parses the pieces finds
/// out whether they are JSON. Thread rule: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "json/value_scanner.h"

namespace tessera::client {

class ListItems {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  ///< of one piece

  /// For the text of one item, which may be changed. Valid during the call.
  using OnItem = std::function<void(std::string& item)>;

  /// Forgets what came before: a new list begins.
  void begin();
  void feed(std::string_view chunk, const OnItem& on_item);
  /// The list without its items. The owner may change it.
  std::string& envelope() { return envelope_; }
  /// Why this is no list, "" while nothing speaks against it.
  const std::string& problem() const { return problem_; }

 private:
  enum class Place : std::uint8_t { kOutside, kInList, kInItems };

  bool around_values(char c, const OnItem& on_item);
  void close(char c, const OnItem& on_item);
  void end_item(const OnItem& on_item, bool last);
  void keep(std::string_view text);
  bool at_items_key() const;

  std::string envelope_, item_;
  std::string problem_;
  Place place_ = Place::kOutside;  ///< between which brackets, whatever value is open there
  json::ValueScanner value_;       ///< the string, object or array that is open there
  bool after_comma_ = false;       ///< an item must follow
};

}  // namespace tessera::client
