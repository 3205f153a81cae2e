// The device configuration is written by people. Any text gives faults with words, or a
// configuration within its ranges, whichever vendors are switched on.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "vendors/config.h"
#include "vendors/vendors.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const vendors::VendorSwitches all{.ascend = true, .iluvatar = true};
  const auto result = vendors::parse_device_config(fuzz::as_text(data, size), all);
  for (const auto* list : {&result.faults, &result.notes}) {
    for (const auto& fault : *list) fuzz::require(!fault.what.empty(), "a fault has words");
  }
  if (!result.faults.empty()) return 0;
  for (const vendors::Vendor& v : result.config.vendors) {
    fuzz::require(!v.word.empty(), "a vendor has a word");
    fuzz::require(v.default_memory >= 0 && v.default_cores >= 0 && v.default_count >= 0,
                  "defaults are not negative");
    fuzz::require(v.memory_factor >= 1, "the factor is at least 1");
    const auto same = [&](const vendors::Vendor& o) { return o.word == v.word; };
    fuzz::require(
        std::count_if(result.config.vendors.begin(), result.config.vendors.end(), same) == 1,
        "words are unique");
  }
  fuzz::require(vendors::Vendors::make(result.config).has_value() != result.config.vendors.empty(),
                "vendors make a table, and only they");
  return 0;
}
