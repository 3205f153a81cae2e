#include "base/clock.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

#include "base/text.h"

namespace tessera {
namespace {

using std::chrono::microseconds;

/// Reads digits from the front of a text; one failed step makes the whole reading fail.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (i >= rest_.size() || rest_[i] < '0' || rest_[i] > '9') return give_up();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }
  void expect(char c) {
    if (rest_.empty() || rest_[0] != c) {
      give_up();
      return;
    }
    rest_.remove_prefix(1);
  }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Digits after the point: microseconds, finer ones are dropped.
  microseconds fraction() {
    std::int64_t value = 0;
    std::int64_t unit = 100'000;
    std::size_t count = 0;
    while (count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9') {
      value += unit * (rest_[count] - '0');
      unit /= 10;
      ++count;
    }
    if (count == 0) give_up();
    rest_.remove_prefix(count);
    return microseconds(value);
  }
  bool good() const { return good_; }
  bool done() const { return good_ && rest_.empty(); }

 private:
  int give_up() {
    good_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool good_ = true;
};

std::optional<std::chrono::minutes> read_offset(Scanner& scan) {
  if (scan.take('Z')) return std::chrono::minutes{0};
  int sign = 0;
  if (scan.take('+')) sign = 1;
  if (sign == 0 && scan.take('-')) sign = -1;
  const int hours = scan.number(2);
  scan.expect(':');
  const int minutes = scan.number(2);
  if (sign == 0 || !scan.good() || hours > 23 || minutes > 59) return std::nullopt;
  return std::chrono::minutes{sign * (hours * 60 + minutes)};
}

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array kUnits{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\u00b5s", 1'000},
    Unit{"\u03bcs", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

__extension__ using Int128 = __int128;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// One "12.5m" of a duration. `rest` loses what was read; an error is the reason alone.
Result<std::int64_t> read_term(std::string_view& rest) {
  std::int64_t whole = 0;
  std::int64_t fraction = 0;
  std::int64_t scale = 1;
  std::size_t at = 0;
  bool digits = false;
  for (; at < rest.size() && is_digit(rest[at]); ++at, digits = true) {
    if (whole > (std::numeric_limits<std::int64_t>::max() - 9) / 10)
      return fail(Code::kInvalid, "");
    whole = whole * 10 + (rest[at] - '0');
  }
  if (at < rest.size() && rest[at] == '.') {
    for (++at; at < rest.size() && is_digit(rest[at]); ++at, digits = true) {
      if (scale >= 1'000'000'000)
        continue;  // below a nanosecond of the largest count that matters here
      fraction = fraction * 10 + (rest[at] - '0');
      scale *= 10;
    }
  }
  if (!digits) return fail(Code::kInvalid, "");
  const std::size_t begin = at;
  while (at < rest.size() && rest[at] != '.' && !is_digit(rest[at])) ++at;
  const std::string_view name = rest.substr(begin, at - begin);
  rest.remove_prefix(at);
  if (name.empty()) return fail(Code::kInvalid, "missing unit");
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    std::int64_t value = 0;
    if (__builtin_mul_overflow(whole, unit.nanoseconds, &value)) return fail(Code::kInvalid, "");
    const auto part = static_cast<std::int64_t>(Int128{fraction} * unit.nanoseconds / scale);
    if (__builtin_add_overflow(value, part, &value)) return fail(Code::kInvalid, "");
    return value;
  }
  return fail(Code::kInvalid, "unknown unit " + text::quote(name));
}

}  // namespace

WallTime SystemClock::wall() const {
  return std::chrono::floor<microseconds>(std::chrono::system_clock::now());
}

MonoTime SystemClock::mono() const {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now());
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  Scanner scan(text);
  const int y = scan.number(4);
  scan.expect('-');
  const int mo = scan.number(2);
  scan.expect('-');
  const int d = scan.number(2);
  scan.expect('T');
  const int h = scan.number(2);
  scan.expect(':');
  const int mi = scan.number(2);
  scan.expect(':');
  const int s = scan.number(2);
  const microseconds fraction = scan.take('.') ? scan.fraction() : microseconds{0};
  const auto offset = read_offset(scan);
  const year_month_day date{year{y}, month{static_cast<unsigned>(mo)},
                            day{static_cast<unsigned>(d)}};
  if (!scan.done() || !offset || !date.ok() || h > 23 || mi > 59 || s > 59) {
    return fail(Code::kInvalid, fmt::format("invalid RFC 3339 time {}", text::quote(text)));
  }
  return WallTime{sys_days{date} + hours{h} + minutes{mi} + seconds{s} + fraction - *offset};
}

namespace {
std::string date_and_time(WallTime time) {
  using namespace std::chrono;
  const auto day_start = floor<days>(time);
  const year_month_day date{day_start};
  const hh_mm_ss clock{floor<seconds>(time - day_start)};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}
}  // namespace

std::string format_rfc3339(WallTime time) { return date_and_time(time) + "Z"; }

std::string format_rfc3339_micro(WallTime time) {
  const auto below = time - std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{}.{:06}Z", date_and_time(time), below.count());
}

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    const std::string_view link = why == "" ? "invalid" : why;
    return fail(Code::kInvalid, fmt::format("time: {}{} duration {}", link, why == "" ? "" : " in",
                                            text::quote(text)));
  };
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  if (rest == "0") return std::chrono::milliseconds{0};
  if (rest.empty()) return refuse("");
  std::int64_t total = 0;
  while (!rest.empty()) {
    const auto term = read_term(rest);
    if (!term) return refuse(term.error().what);
    if (__builtin_add_overflow(total, *term, &total)) return refuse("");
  }
  // Away from zero: a positive duration must never turn into 0, which often means "off".
  const std::int64_t millis = total / 1'000'000 + (total % 1'000'000 != 0 ? 1 : 0);
  return std::chrono::milliseconds{negative ? -millis : millis};
}

std::string format_duration(std::chrono::milliseconds d) {
  // Unsigned, so that the most negative value has an absolute one.
  const bool negative = d.count() < 0;
  const auto count = static_cast<std::uint64_t>(d.count());
  const std::uint64_t total = negative ? 0 - count : count;
  const std::string_view sign = negative ? "-" : "";
  if (total == 0) return "0s";
  if (total < 1000) return fmt::format("{}{}ms", sign, total);
  std::string seconds = fmt::format("{}", total / 1000 % 60);
  if (const std::uint64_t part = total % 1000; part != 0) {
    seconds += fmt::format(".{:03}", part);
    while (seconds.back() == '0') seconds.pop_back();
  }
  const std::uint64_t minutes = total / 60'000;
  if (minutes == 0) return fmt::format("{}{}s", sign, seconds);
  if (minutes < 60) return fmt::format("{}{}m{}s", sign, minutes, seconds);
  return fmt::format("{}{}h{}m{}s", sign, minutes / 60, minutes % 60, seconds);
}

}  // namespace tessera
