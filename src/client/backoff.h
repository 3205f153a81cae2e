/// Exponential back-off with jitter: the n-th wait in a row lies between a half and the whole of
/// first * 2^n, at most `max`. Thread rule: one owner; the seed fixes the sequence.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tessera::client {

/// Enough randomness to keep replicas apart; the same seed gives the same numbers everywhere.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : state_(seed) {}
  /// Even in [0, 1).
  double next() {
    state_ += 0x9e3779b97f4a7c15U;  // splitmix64
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    z ^= z >> 31U;
    return static_cast<double>(z >> 11U) * 0x1.0p-53;
  }

 private:
  std::uint64_t state_;
};

class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds max)
      : first_(first), max_(max) {}

  std::chrono::milliseconds next(Jitter& jitter) {
    const double doubled =
        static_cast<double>(first_.count()) * static_cast<double>(1ULL << std::min(failures_, 40U));
    ++failures_;
    const double whole = std::min(doubled, static_cast<double>(max_.count()));
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(whole * (0.5 + 0.5 * jitter.next())));
  }
  unsigned failures() const { return failures_; }
  void reset() { failures_ = 0; }

 private:
  std::chrono::milliseconds first_, max_;
  unsigned failures_ = 0;
};

}  // namespace tessera::client
