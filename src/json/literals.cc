#include "json/document.h"

namespace tessera::json {
namespace {

/// Tape indices of all numbers, in document order. A tape word has its type in the upper byte;
/// numbers take two words.
std::vector<std::size_t> number_indices(const simdjson::dom::document& document) {
  constexpr std::uint64_t kValueMask = (std::uint64_t{1} << 56) - 1;
  std::vector<std::size_t> indices;
  const std::uint64_t end = document.tape[0] & kValueMask;
  for (std::size_t at = 1; at < end; ++at) {
    const auto type = static_cast<char>(document.tape[at] >> 56);
    if (type != 'd' && type != 'l' && type != 'u') continue;
    indices.push_back(at);
    ++at;
  }
  return indices;
}

std::size_t after_string(std::string_view text, std::size_t quote) {
  for (std::size_t at = quote + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

std::vector<NumberSpot> locate_numbers(const Document& document) {
  const std::string_view text = document.source;
  std::vector<NumberSpot> spots;
  const std::vector<std::size_t> indices = number_indices(document.parser.doc);
  spots.reserve(indices.size());
  std::size_t at = 0;
  for (std::size_t index : indices) {
    while (at < text.size() && text[at] != '-' && (text[at] < '0' || text[at] > '9')) {
      at = text[at] == '"' ? after_string(text, at) : at + 1;
    }
    const std::size_t end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
    spots.push_back({index, text.substr(at, end - at)});
    at = end;
  }
  return spots;
}

}  // namespace tessera::json
