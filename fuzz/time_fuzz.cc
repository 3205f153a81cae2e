#include "base/clock.h"
#include "fuzz/fuzz.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (const auto time = parse_rfc3339(text); fuzz::accepted(time)) {
    const auto again = parse_rfc3339(format_rfc3339_micro(*time));
    // An offset can push year 0000 or 9999 out of four digits; everything else reads back.
    if (again) fuzz::require(*again == *time, "a written time reads back");
    format_rfc3339(*time);
    unix_seconds(*time);
  }
  if (const auto duration = parse_duration(text); fuzz::accepted(duration)) {
    const auto again = parse_duration(format_duration(*duration));
    // Rounding up may pass the longest duration by less than a millisecond.
    if (again) fuzz::require(*again == *duration, "a written duration reads back");
  }
  return 0;
}
