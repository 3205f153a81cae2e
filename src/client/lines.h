/// Cuts a stream of chunks into lines. A line that lies whole in one chunk is passed on without a
/// copy; blank lines are skipped. Thread rule: one owner.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::client {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  /// on_line(std::string_view) returns false to end the reading. False: ended, or a line is longer
  /// than allowed (see too_long()).
  template <class F>
  bool feed(std::string_view chunk, F&& on_line) {
    while (!chunk.empty()) {
      const std::size_t end = chunk.find('\n');
      const std::string_view piece = chunk.substr(0, end);
      if (rest_.size() + piece.size() > max_line_) return refuse();
      if (end == std::string_view::npos) {
        rest_.append(piece);
        return true;
      }
      chunk.remove_prefix(end + 1);
      if (!emit(piece, on_line)) return false;
    }
    return true;
  }
  bool too_long() const { return too_long_; }
  std::size_t pending() const { return rest_.size(); }

 private:
  bool refuse() {
    too_long_ = true;
    return false;
  }

  template <class F>
  bool emit(std::string_view piece, F& on_line) {
    if (rest_.empty()) return pass(piece, on_line);
    rest_.append(piece);
    const bool go_on = pass(rest_, on_line);
    rest_.clear();
    return go_on;
  }

  template <class F>
  static bool pass(std::string_view line, F& on_line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line.empty() || on_line(line);
  }

  std::size_t max_line_;
  std::string rest_;
  bool too_long_ = false;
};

}  // namespace tessera::client
