#include "json/value_scanner.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

// Everything up to the loop becomes part of it, so that it can be compiled a second time for
// processors with wider registers and an instruction that counts bits.
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

/// A block on any processor: eight words.
struct Words {
  std::array<std::uint64_t, 8> parts;

  TESSERA_PART_OF_THE_LOOP explicit Words(const char* text) {
    std::memcpy(parts.data(), text, kBlock);
    if constexpr (std::endian::native == std::endian::big)
      for (std::uint64_t& part : parts) part = __builtin_bswap64(part);
  }

  static constexpr std::uint64_t all(char c) {
    return 0x0101'0101'0101'0101 * static_cast<unsigned char>(c);
  }
  /// The lowest eight bits, the first byte's lowest.
  TESSERA_PART_OF_THE_LOOP static std::uint64_t places(std::uint64_t part, char c) {
    constexpr std::uint64_t kLow = all(0x7f);
    const std::uint64_t differs = part ^ all(c);
    const std::uint64_t same = ~(((differs & kLow) + kLow) | differs | kLow);  // a byte's top bit
    return (same >> 7) * 0x0102'0408'1020'4080 >> 56;
  }
  std::uint64_t places(char c) const {
    std::uint64_t all_places = 0;
    for (std::size_t i = parts.size(); i-- > 0;) all_places = all_places << 8 | places(parts[i], c);
    return all_places;
  }
  void set(char bits) {
    for (std::uint64_t& part : parts) part |= all(bits);
  }
};

#ifdef __SSE2__
/// A block on every x86-64: four registers. Written out one by one, as what the compiler leaves in
/// a loop goes through memory.
struct Parts {
  __m128i part0, part1, part2, part3;

  TESSERA_PART_OF_THE_LOOP explicit Parts(const char* text)
      : part0(load(text)), part1(load(text + 16)), part2(load(text + 32)), part3(load(text + 48)) {}

  TESSERA_PART_OF_THE_LOOP static __m128i load(const char* text) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  }
  TESSERA_PART_OF_THE_LOOP static std::uint64_t places(__m128i part, __m128i wanted) {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(part, wanted)));
  }
  TESSERA_PART_OF_THE_LOOP std::uint64_t places(char c) const {
    const __m128i wanted = _mm_set1_epi8(c);
    return places(part0, wanted) | places(part1, wanted) << 16 | places(part2, wanted) << 32 |
           places(part3, wanted) << 48;
  }
  TESSERA_PART_OF_THE_LOOP void set(char bits) {
    const __m128i more = _mm_set1_epi8(bits);
    part0 = _mm_or_si128(part0, more);
    part1 = _mm_or_si128(part1, more);
    part2 = _mm_or_si128(part2, more);
    part3 = _mm_or_si128(part3, more);
  }
};
#endif

template <class Block>
TESSERA_PART_OF_THE_LOOP Marks mark(const char* text) {
  Block block(text);
  Marks marks{.quotes = block.places('"'), .slashes = block.places('\\'), .opens = 0, .closes = 0};
  block.set(kSame);
  marks.opens = block.places(kOpen);
  marks.closes = block.places(kClose);
  return marks;
}

#ifdef __x86_64__
#define TESSERA_WIDE gnu::target("avx2,bmi,popcnt")

// A block in two registers, where there are such. Functions for one processor only cannot be made
// part of a loop for all; they become part of scan_wide, which asks for it (flatten).
[[TESSERA_WIDE]] inline std::uint64_t places_wide(__m256i low, __m256i high, char c) {
  const __m256i wanted = _mm256_set1_epi8(c);
  const int first = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
  const int second = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
  return static_cast<std::uint32_t>(first) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(second)) << 32;
}

[[TESSERA_WIDE]] inline Marks mark_wide(const char* text) {
  __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
  __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 32));
  Marks marks{.quotes = places_wide(low, high, '"'),
              .slashes = places_wide(low, high, '\\'),
              .opens = 0,
              .closes = 0};
  low = _mm256_or_si256(low, _mm256_set1_epi8(kSame));
  high = _mm256_or_si256(high, _mm256_set1_epi8(kSame));
  marks.opens = places_wide(low, high, kOpen);
  marks.closes = places_wide(low, high, kClose);
  return marks;
}
#endif

/// Each bit becomes the parity of itself and all below it: ones from an opening quote up to, not
/// including, the closing one. Written out, as the compiler leaves a loop a loop.
TESSERA_PART_OF_THE_LOOP std::uint64_t between(std::uint64_t quotes) {
  quotes ^= quotes << 1;
  quotes ^= quotes << 2;
  quotes ^= quotes << 4;
  quotes ^= quotes << 8;
  quotes ^= quotes << 16;
  return quotes ^ quotes << 32;
}

constexpr std::size_t kNotHere = kBlock + 1;

/// One pass over a piece.
template <Marks (*marks_of)(const char* block)>
class Pass {
 public:
  TESSERA_PART_OF_THE_LOOP explicit Pass(const ValueScanner::State& state)
      : depth_(state.depth),
        in_string_(state.in_string),
        after_slash_(state.after_slash),
        string_(state.string) {}

  TESSERA_PART_OF_THE_LOOP ValueScanner::State state(bool open) const {
    return {open, string_, depth_, in_string_, after_slash_};
  }

  /// The place behind the value's last byte, or kNotHere. Of the block, `size` bytes are text.
  TESSERA_PART_OF_THE_LOOP std::size_t scan(const char* block, std::size_t size) {
    Marks marks = marks_of(block);
    if ((marks.slashes | after_slash_) != 0) marks.quotes &= ~escaped(marks.slashes, size);
    const std::uint64_t strings = between(marks.quotes) ^ in_string_;
    in_string_ = (strings >> (kBlock - 1)) != 0 ? ~std::uint64_t{0} : 0;
    if (string_) return place_behind(marks.quotes & ~strings);
    marks.opens &= ~strings;
    marks.closes &= ~strings;
    const auto closes = static_cast<std::size_t>(std::popcount(marks.closes));
    if (closes >= depth_) return step(marks);
    depth_ += static_cast<std::size_t>(std::popcount(marks.opens)) - closes;
    return kNotHere;
  }

 private:
  static std::size_t place_behind(std::uint64_t hits) {
    return hits == 0 ? kNotHere : static_cast<std::size_t>(std::countr_zero(hits)) + 1;
  }

  /// The bytes behind a run of backslashes of odd length. An addition to the run's first bit
  /// carries to the bit behind the run.
  TESSERA_PART_OF_THE_LOOP std::uint64_t escaped(std::uint64_t slashes, std::size_t size) {
    constexpr std::uint64_t kEven = 0x5555'5555'5555'5555, kOdd = ~kEven;
    const std::uint64_t first = after_slash_;
    slashes &= ~first;
    const std::uint64_t begins = slashes & ~(slashes << 1);
    const std::uint64_t from_even = slashes + (begins & kEven);
    const std::uint64_t from_odd = slashes + (begins & kOdd);
    const std::uint64_t behind = ((from_even & kOdd) | (from_odd & kEven)) & ~slashes;
    // Behind a whole block the place is even, and a run that reaches it carries out of the sum.
    after_slash_ =
        size == kBlock ? static_cast<std::uint64_t>(from_odd < slashes) : behind >> size & 1;
    return behind | first;
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
    return kNotHere;
  }

  std::size_t depth_;
  std::uint64_t in_string_, after_slash_;
  bool string_;
};

template <Marks (*marks_of)(const char* block)>
TESSERA_PART_OF_THE_LOOP std::size_t scan_piece(std::string_view piece,
                                                ValueScanner::State& state) {
  Pass<marks_of> pass(state);
  std::size_t at = 0, end = kNotHere;
  for (; at + kBlock <= piece.size(); at += kBlock) {
    end = pass.scan(piece.data() + at, kBlock);
    if (end != kNotHere) break;
  }
  const std::size_t rest = piece.size() - at;
  if (end == kNotHere && rest != 0) {
    std::array<char, kBlock> block;
    block.fill(' ');
    std::memcpy(block.data(), piece.data() + at, rest);
    end = pass.scan(block.data(), rest);
  }
  state = pass.state(end == kNotHere);
  return end == kNotHere ? piece.size() : at + end;
}

#ifdef __x86_64__
[[TESSERA_WIDE, gnu::flatten]] std::size_t scan_wide(std::string_view piece,
                                                     ValueScanner::State& state) {
  return scan_piece<mark_wide>(piece, state);
}

bool has_wide() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
         __builtin_cpu_supports("popcnt") != 0;
}
#endif

}  // namespace

ValueScanner::Registers ValueScanner::widest() {
#ifdef __x86_64__
  static const bool wide = has_wide();
  if (wide) return Registers::k32Bytes;
#endif
#ifdef __SSE2__
  return Registers::k16Bytes;
#else
  return Registers::kWords;
#endif
}

std::size_t ValueScanner::feed(std::string_view piece, [[maybe_unused]] Registers registers) {
#ifdef __x86_64__
  if (registers == Registers::k32Bytes) return scan_wide(piece, state_);
#endif
#ifdef __SSE2__
  if (registers == Registers::k16Bytes) return scan_piece<mark<Parts>>(piece, state_);
#endif
  return scan_piece<mark<Words>>(piece, state_);
}

}  // namespace tessera::json
