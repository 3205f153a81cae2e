/// Bytes that came and were not understood yet. Starts small, grows when a read fills it, never
/// beyond 64 KiB. Room handed out stays valid until the next room(); consume() does not move
/// anything.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace tessera::http {

class InputBuffer {
 public:
  static constexpr std::size_t kFirst = 8 * 1024;
  static constexpr std::size_t kMost = 64 * 1024;

  std::string_view bytes() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  bool full() const { return end_ - begin_ == kMost; }
  void consume(std::size_t count) { begin_ += count; }
  void clear() { begin_ = end_; }
  void commit(std::size_t count) {
    end_ += count;
    filled_ = end_ == capacity_;
  }

  /// Empty when the buffer is full of bytes that nobody consumed.
  std::span<char> room() {
    if (capacity_ == 0) resize(kFirst);
    if (filled_ && capacity_ < kMost) resize(std::min(capacity_ * 4, kMost));
    if (begin_ > 0) pack();
    return {data_.get() + end_, capacity_ - end_};
  }

 private:
  void pack() {
    std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  void resize(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (end_ > begin_) std::memcpy(larger.get(), data_.get() + begin_, end_ - begin_);
    data_ = std::move(larger);
    end_ -= begin_;
    begin_ = 0;
    capacity_ = capacity;
    filled_ = false;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
  bool filled_ = false;
};

}  // namespace tessera::http
