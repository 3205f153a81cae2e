/// A queue in one piece of memory that only grows: who puts in and takes out in turns asks nothing
/// of the heap, unlike std::deque. Thread rule: one owner.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tessera {

template <class T>
class Ring {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  void push(T value) {
    if (count_ == slots_.size()) grow();
    slots_[(first_ + count_++) % slots_.size()] = std::move(value);
  }
  /// Not when empty.
  T pop() {
    T value = std::exchange(slots_[first_], T());
    first_ = (first_ + 1) % slots_.size();
    --count_;
    return value;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : slots_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i)
      larger[i] = std::move(slots_[(first_ + i) % slots_.size()]);
    slots_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> slots_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace tessera
