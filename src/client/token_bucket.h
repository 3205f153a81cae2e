/// A token bucket: `burst` calls at once, then `per_second`. A rate of 0 or less never refuses.
/// Thread rule: one owner; time is handed in.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace tessera::client {

class TokenBucket {
 public:
  TokenBucket(double per_second, double burst, MonoTime now)
      : rate_(per_second), burst_(std::max(burst, 1.0)), tokens_(burst_), filled_(now) {}

  /// Takes a token when there is one.
  bool take(MonoTime now) {
    if (rate_ <= 0) return true;
    fill(now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  /// How long until take() can succeed.
  std::chrono::nanoseconds wait(MonoTime now) {
    if (rate_ <= 0) return {};
    fill(now);
    if (tokens_ >= 1) return {};
    const std::chrono::duration<double> missing((1 - tokens_) / rate_);
    return std::chrono::ceil<std::chrono::nanoseconds>(missing);
  }

 private:
  void fill(MonoTime now) {
    if (now <= filled_) return;
    const std::chrono::duration<double> passed = now - filled_;
    tokens_ = std::min(burst_, tokens_ + passed.count() * rate_);
    filled_ = now;
  }

  double rate_, burst_, tokens_;
  MonoTime filled_;
};

}  // namespace tessera::client
