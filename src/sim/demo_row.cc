#include "sim/demo_row.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::sim {
namespace {

constexpr std::string_view kEmpty = "48;5;236";
constexpr std::array<std::string_view, 8> kEighths{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The first `columns` characters of s.
std::string_view clip(std::string_view s, int columns) {
  std::size_t i = 0;
  while (i < s.size() && columns > 0) {
    ++i;
    while (i < s.size() && continues(s[i])) ++i;
    --columns;
  }
  return s.substr(0, i);
}

}  // namespace

int columns_of(std::string_view s) {
  return static_cast<int>(std::count_if(s.begin(), s.end(), [](char c) { return !continues(c); }));
}

Row& Row::text(std::string_view s, std::string_view style) {
  if (left() <= 0 || s.empty()) return *this;
  if (columns_of(s) > left()) return text(clip(s, left() - 1), style).text("…", style);
  const std::string_view shown = s;
  used_ += columns_of(shown);
  if (!colour_ || style.empty()) {
    bytes_ += shown;
    return *this;
  }
  bytes_.append("\x1b[").append(style).append("m").append(shown).append("\x1b[0m");
  return *this;
}

Row& Row::column(std::string_view s, int width, std::string_view style) {
  const int end = used_ + width;
  if (columns_of(s) <= width) return text(s, style).pad_to(end);
  return text(clip(s, width - 1), style).text("…", style);
}

Row& Row::pad_to(int column, std::string_view style) {
  const int blanks = std::min(column, width_) - used_;
  return blanks > 0 ? text(std::string(static_cast<std::size_t>(blanks), ' '), style) : *this;
}

Row& Row::right(std::string_view s, std::string_view style) {
  const int column = width_ - columns_of(s);
  return column > used_ ? pad_to(column, style).text(s, style) : *this;
}

Row& Row::bar(double share, int cells, std::string_view fill) {
  const double filled = std::clamp(share, 0.0, 1.0) * cells;
  if (!colour_) {
    const int whole = static_cast<int>(std::lround(filled));
    return text(std::string(static_cast<std::size_t>(whole), '#') +
                std::string(static_cast<std::size_t>(cells - whole), '.'));
  }
  const int eighths = static_cast<int>(std::lround(filled * 8));
  std::string cells_text;
  for (int i = 0; i < cells; ++i) {
    const int here = std::clamp(eighths - i * 8, 0, 8);
    cells_text += here == 8 ? std::string_view("█") : kEighths[static_cast<std::size_t>(here)];
  }
  return text(cells_text, std::string(fill) + ";" + std::string(kEmpty));
}

}  // namespace tessera::sim
