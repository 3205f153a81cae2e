/// Time is a parameter: main makes the real clock, tests and the simulator drive a manual one. RFC
/// 3339 in and out, always UTC out.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual MonoTime mono() const = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime wall() const override;
  MonoTime mono() const override;
};

/// Stands still until advanced. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start) : start_(start) {}
  WallTime wall() const override { return start_ + std::chrono::microseconds(offset_us_.load()); }
  MonoTime mono() const override { return MonoTime(std::chrono::microseconds(offset_us_.load())); }
  void advance(std::chrono::microseconds by) { offset_us_ += by.count(); }

 private:
  WallTime start_;
  std::atomic<std::int64_t> offset_us_{0};
};

/// "2026-08-21T08:00:00Z", "2026-08-21T08:00:00.123456+08:00". Errors quote the text.
Result<WallTime> parse_rfc3339(std::string_view text);
std::string format_rfc3339(WallTime time);        ///< whole seconds, "…Z"
std::string format_rfc3339_micro(WallTime time);  ///< microseconds, "…Z" (MicroTime)
std::int64_t unix_seconds(WallTime time);

/// Go durations as flags spell them: "5m", "28s", "1m30s", "100ms", "0". A bare number other than 0
/// is an error.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// Go's spelling: 5m0s, 28s, 1h0m0s, 100ms.
std::string format_duration(std::chrono::milliseconds d);

}  // namespace tessera
