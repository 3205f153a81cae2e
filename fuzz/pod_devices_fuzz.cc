// Device texts sit on pods, where users can write them. Whatever is accepted must be stable:
// written and read again it says the same.
#include <string>

#include "fuzz/fuzz.h"
#include "vendors/codec.h"
#include "vendors/config.h"
#include "vendors/vendors.h"

using namespace tessera;

namespace {

void decode_as_annotation(const std::string& text) {
  static const vendors::Vendors table = *vendors::Vendors::make(
      vendors::parse_device_config(vendors::default_device_config()).config);
  const vendors::Vendor& vendor = table.all().front();
  k8s::Pod pod;
  k8s::Container container;
  container.limits = {{vendor.count_resource, "1"}};
  pod.containers = {container, k8s::Container{}};
  pod.annotations = {{vendor.allocated_key, text}};
  const auto allocation = table.decode(pod);
  if (!fuzz::accepted(allocation)) return;
  fuzz::require(!allocation->grants.empty(), "an allocation grants something");
  for (const core::Grant& grant : allocation->grants) {
    fuzz::require(grant.memory.v >= 0 && grant.cores.v >= 0, "shares are not negative");
  }
  fuzz::require(table.encode(*allocation, WallTime{}).size() == 2, "both keys are written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::as_text(data, size));
  decode_as_annotation(text);
  auto positions = vendors::decode_pod_devices(text);
  if (!fuzz::accepted(positions)) return 0;
  fuzz::require(!positions->empty(), "even no text is one empty piece");
  const std::string once = vendors::encode_pod_devices(*positions);
  positions->push_back({});  // what the final ';' reads as
  const auto again = vendors::decode_pod_devices(once);
  fuzz::require(again && again->size() == positions->size(), "every piece is kept");
  fuzz::require(vendors::encode_pod_devices(*again) == vendors::encode_pod_devices(*positions),
                "written and read again it says the same");
  return 0;
}
