/// One row of the screen, clipped to a width that counts characters, not bytes or colour codes.
/// Thread rule: owned by its maker.
#pragma once

#include <string>
#include <string_view>

namespace tessera::sim {

class Row {
 public:
  Row(int width, bool colour) : width_(width), colour_(colour) {}

  /// `style`: an SGR list such as "1" or "38;5;39;48;5;236"; empty = plain.
  Row& text(std::string_view s, std::string_view style = {});
  /// s clipped or filled up to `width` characters; a clipped text ends in "…".
  Row& column(std::string_view s, int width, std::string_view style = {});
  Row& pad_to(int column, std::string_view style = {});  ///< blanks up to the column
  /// Puts s at the right end, if it fits behind what is there.
  Row& right(std::string_view s, std::string_view style = {});
  /// A bar of `cells` characters filled to `share` (0 to 1), in eighths of a character with
  /// colours, else as ##..
  Row& bar(double share, int cells, std::string_view fill);
  int used() const { return used_; }
  int left() const { return width_ - used_; }
  const std::string& bytes() const { return bytes_; }

 private:
  int width_, used_ = 0;
  bool colour_;
  std::string bytes_;
};

/// Characters of UTF-8 text.
int columns_of(std::string_view s);

}  // namespace tessera::sim
