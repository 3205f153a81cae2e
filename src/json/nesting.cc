#include "json/nesting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Everything up to the loop becomes part of it, so that it can be compiled a second time for
// processors that count bits in one instruction.
#define TESSERA_PART_OF_THE_LOOP [[gnu::always_inline]] inline

namespace tessera::json {
namespace {

constexpr std::size_t kBlock = 64;

/// One bit for each byte of a block.
struct Marks {
  std::uint64_t quotes = 0, slashes = 0, opens = 0, closes = 0;
};

// The pairs of brackets differ from each other in one bit, which is set before they are compared:
// { and [ become one character, } and ] another.
constexpr char kSame = 0x20, kOpen = '{', kClose = '}';
static_assert(('[' | kSame) == kOpen && (']' | kSame) == kClose);

#ifdef __SSE2__
TESSERA_PART_OF_THE_LOOP Marks mark(const char* block) {
  const auto same = [](char c) { return _mm_set1_epi8(c); };
  const auto bits = [](__m128i hits, std::size_t part) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(hits)))
           << (part * 16);
  };
  Marks marks;
  for (std::size_t part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + part * 16));
    const __m128i brackets = _mm_or_si128(bytes, same(kSame));
    marks.quotes |= bits(_mm_cmpeq_epi8(bytes, same('"')), part);
    marks.slashes |= bits(_mm_cmpeq_epi8(bytes, same('\\')), part);
    marks.opens |= bits(_mm_cmpeq_epi8(brackets, same(kOpen)), part);
    marks.closes |= bits(_mm_cmpeq_epi8(brackets, same(kClose)), part);
  }
  return marks;
}
#else
TESSERA_PART_OF_THE_LOOP Marks mark(const char* block) {
  Marks marks;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const auto bracket = static_cast<char>(block[i] | kSame);
    if (block[i] == '"') marks.quotes |= bit;
    if (block[i] == '\\') marks.slashes |= bit;
    if (bracket == kOpen) marks.opens |= bit;
    if (bracket == kClose) marks.closes |= bit;
  }
  return marks;
}
#endif

/// Each bit becomes the parity of itself and all below it: ones from an opening quote up to, not
/// including, the closing one.
TESSERA_PART_OF_THE_LOOP std::uint64_t between(std::uint64_t quotes) {
  for (const int distance : {1, 2, 4, 8, 16, 32}) quotes ^= quotes << distance;
  return quotes;
}

/// What one block leaves to the next.
class Scanner {
 public:
  /// The place behind the bracket that brings the depth to nothing, or kBlock + 1.
  TESSERA_PART_OF_THE_LOOP std::size_t scan(const char* block) {
    Marks marks = mark(block);
    marks.quotes &= ~escaped(marks.slashes);
    const std::uint64_t strings = between(marks.quotes) ^ in_string_;
    in_string_ = (strings >> (kBlock - 1)) != 0 ? ~std::uint64_t{0} : 0;
    marks.opens &= ~strings;
    marks.closes &= ~strings;
    const auto closes = static_cast<std::size_t>(std::popcount(marks.closes));
    if (closes >= depth_) return step(marks);
    depth_ += static_cast<std::size_t>(std::popcount(marks.opens)) - closes;
    return kBlock + 1;
  }

 private:
  /// The bytes behind a backslash that is not itself behind one. Rare enough to go one by one.
  std::uint64_t escaped(std::uint64_t slashes) {
    std::uint64_t escapes = after_slash_;
    slashes &= ~escapes;
    after_slash_ = 0;
    while (slashes != 0) {
      const std::uint64_t lowest = slashes & (~slashes + 1);
      const std::uint64_t next = lowest << 1;
      if (next == 0) after_slash_ = 1;
      escapes |= next;
      slashes &= ~(lowest | next);
    }
    return escapes;
  }

  /// Bracket by bracket: the last one may be here.
  std::size_t step(const Marks& marks) {
    for (std::uint64_t both = marks.opens | marks.closes; both != 0; both &= both - 1) {
      const auto at = static_cast<std::size_t>(std::countr_zero(both));
      if ((marks.opens >> at & 1) != 0) {
        ++depth_;
      } else if (--depth_ == 0) {
        return at + 1;
      }
    }
    return kBlock + 1;
  }

  std::size_t depth_ = 0;
  std::uint64_t in_string_ = 0;    // all ones: the block begins inside a string
  std::uint64_t after_slash_ = 0;  // 1: the block's first byte is escaped
};

TESSERA_PART_OF_THE_LOOP std::size_t find_end(std::string_view text, std::size_t begin) {
  Scanner scanner;
  std::size_t at = begin;
  for (; at + kBlock <= text.size(); at += kBlock) {
    const std::size_t end = scanner.scan(text.data() + at);
    if (end <= kBlock) return at + end;
  }
  std::array<char, kBlock> rest;
  rest.fill(' ');
  std::memcpy(rest.data(), text.data() + at, text.size() - at);
  const std::size_t end = scanner.scan(rest.data());
  return end <= kBlock ? at + end : text.size();
}

#ifdef __x86_64__
__attribute__((target("avx2,bmi,popcnt"))) std::size_t find_end_counting(std::string_view text,
                                                                         std::size_t begin) {
  return find_end(text, begin);
}

bool counts_bits() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
         __builtin_cpu_supports("popcnt") != 0;
}
#endif

}  // namespace

std::size_t nested_end(std::string_view text, std::size_t begin) {
#ifdef __x86_64__
  static const bool counting = counts_bits();
  if (counting) return find_end_counting(text, begin);
#endif
  return find_end(text, begin);
}

}  // namespace tessera::json
