#include "k8s/extender_names.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tessera::k8s {
namespace {

constexpr std::string_view kBegin = R"({"Pod":)";
constexpr std::string_view kBetween = R"(,"Nodes":null,"NodeNames":[)";
constexpr std::size_t kLongestPod = std::size_t{1} << 20;  // beyond: no time is lost by searching

bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

/// How many bytes stand as they are before the first that ends a string or needs a second look.
std::size_t plain_run(std::string_view text) {
  std::size_t at = 0;
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  const __m128i space = _mm_set1_epi8(0x20), del = _mm_set1_epi8(0x7f);
  for (; text.size() - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    // Bytes from 0x80 are negative here: less than a blank as well.
    const __m128i odd =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                     _mm_or_si128(_mm_cmplt_epi8(bytes, space), _mm_cmpeq_epi8(bytes, del)));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(odd));
    if (mask != 0) return at + static_cast<std::size_t>(std::countr_zero(mask));
  }
#endif
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

/// `rest` behind the opening bracket; afterwards behind the closing one.
bool take_names(std::string_view& rest, std::vector<std::string_view>& names) {
  if (rest.starts_with(']')) {
    rest.remove_prefix(1);
    return true;
  }
  while (rest.starts_with('"')) {
    rest.remove_prefix(1);
    const std::size_t length = plain_run(rest);
    if (length + 1 >= rest.size() || rest[length] != '"') return false;
    names.push_back(rest.substr(0, length));
    const char next = rest[length + 1];
    rest.remove_prefix(length + 2);
    if (next == ']') return true;
    if (next != ',') return false;
  }
  return false;
}

}  // namespace

std::optional<std::string_view> split_names_body(std::string_view body,
                                                 std::vector<std::string_view>& names) {
  names.clear();
  if (!body.starts_with(kBegin)) return std::nullopt;
  // Quotes inside strings are escaped: outside of a string this stands at the end of the pod, or
  // inside it, and then what is before it is no whole object.
  const std::size_t end = body.substr(0, kLongestPod).find(kBetween);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view rest = body.substr(end + kBetween.size());
  const bool whole = take_names(rest, names) && rest.starts_with('}') &&
                     rest.find_first_not_of(" \t\r\n", 1) == std::string_view::npos;
  if (whole) return body.substr(kBegin.size(), end - kBegin.size());
  names.clear();
  return std::nullopt;
}

}  // namespace tessera::k8s
