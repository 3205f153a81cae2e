// ResourceQuota objects come from users through the API server.
#include <string>

#include "fuzz/fuzz.h"
#include "k8s/decode.h"
#include "vendors/config.h"
#include "vendors/vendors.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vendors::Vendors table = *vendors::Vendors::make(
      vendors::parse_device_config(vendors::default_device_config()).config);
  json::Parser parser;
  const auto value = parser.parse(fuzz::as_text(data, size));
  if (!fuzz::accepted(value)) return 0;
  const auto quota = k8s::decode_quota(*value, table.keep());
  if (!fuzz::accepted(quota)) return 0;
  const vendors::QuotaReading reading = table.read_quota(*quota);
  for (const core::QuotaLimit& limit : reading.spec.limits) {
    fuzz::require(limit.limit >= 0, "a limit is not negative");
    fuzz::require(limit.vendor.v < table.all().size(), "a limit is some vendor's");
  }
  fuzz::require(reading.spec.limits.size() <= quota->hard.size() * table.all().size(),
                "a key gives at most one limit per vendor");
  return 0;
}
