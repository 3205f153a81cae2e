// The device configuration is written by people. Any text gives faults with words, or a
// configuration within its ranges.
#include "fuzz/fuzz.h"
#include "vendors/config.h"
#include "vendors/vendors.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto result = vendors::parse_device_config(fuzz::as_text(data, size));
  for (const auto* list : {&result.faults, &result.notes}) {
    for (const auto& fault : *list) fuzz::require(!fault.what.empty(), "a fault has words");
  }
  if (!result.faults.empty()) return 0;
  fuzz::require(result.config.nvidia || !result.config.other_sections.empty(), "not empty");
  if (!result.config.nvidia) return 0;
  const auto& c = *result.config.nvidia;
  fuzz::require(c.default_memory >= 0 && c.default_cores >= 0 && c.default_count >= 0,
                "defaults are not negative");
  fuzz::require(c.memory_factor >= 1, "the factor is at least 1");
  fuzz::require(vendors::Vendors::make(result.config).has_value(), "it makes a table");
  return 0;
}
