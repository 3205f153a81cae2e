/// Finds where a JSON value ends without reading it, 64 bytes at a step. The text may come in
/// pieces; a whole text is the case of one.
///   ValueScanner value;
///   value.begin(text[at]);
///   at += value.feed(text.substr(at));
/// Thread rule: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera::json {

class ValueScanner {
 public:
  /// Whether a value can begin so that this class finds its end: a string, an object or an array.
  static constexpr bool begins(char c) { return c == '"' || c == '{' || c == '['; }

  /// A value begins; `first` is its first byte, which is fed like all others.
  void begin(char first) { state_ = {.open = true, .string = first == '"'}; }
  /// Begun and not yet at its end.
  bool open() const { return state_.open; }
  /// With what a step looks at its bytes: all find the same, the widest is fastest.
  enum class Registers : std::uint8_t { kWords, k16Bytes, k32Bytes };
  static Registers widest();  ///< that this processor has

  /// How many bytes of the piece belong to the value: all of them while it stays open. Which kind
  /// of bracket closes is not looked at: for text that a parser accepts the answer is right, for
  /// any other it lies inside the text.
  std::size_t feed(std::string_view piece) { return feed(piece, widest()); }
  std::size_t feed(std::string_view piece, Registers registers);  ///< at most the widest

  /// What one step leaves to the next.
  struct State {
    bool open = false;
    bool string = false;            ///< the value is one, so that a quote ends it
    std::size_t depth = 0;          ///< brackets that are open
    std::uint64_t in_string = 0;    ///< all ones: the text goes on inside a string
    std::uint64_t after_slash = 0;  ///< 1: the next byte is escaped
  };

 private:
  State state_;
};

}  // namespace tessera::json
