// Register annotations come from node agents. Whatever is accepted must have what the books rely
// on, and survive being written and read again.
#include <set>
#include <string>

#include "fuzz/fuzz.h"
#include "vendors/codec.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const VendorId vendor{0};
  const auto devices = vendors::decode_register(fuzz::as_text(data, size), vendor);
  if (!fuzz::accepted(devices)) return 0;
  std::set<std::string> ids;
  bool plain = true;
  for (const core::Device& d : *devices) {
    fuzz::require(!d.id.empty() && ids.insert(d.id).second, "ids are unique and not empty");
    fuzz::require(d.slots >= 0 && d.memory.v >= 0 && d.cores.v >= 0, "amounts are not negative");
    if (d.mig) {
      for (const core::MigProfile& p : *d.mig) {
        for (const core::MigPlacement& at : p.placements) {
          fuzz::require(at.size > 0 && at.start + at.size > at.start, "an instance takes room");
        }
      }
    }
    plain = plain && (!d.mig || d.mig->empty()) &&
            d.model.view().find_first_of(",:") == std::string::npos &&
            d.mode.view().find_first_of(",:") == std::string::npos;
  }
  if (plain && !devices->empty()) {
    const auto again =
        vendors::decode_register_text(vendors::encode_register_text(*devices), vendor);
    fuzz::require(again && *again == *devices, "the text form reads back");
  }
  // Broken UTF-8 changes once, into replacement characters; two ids may become one by that, which
  // is refused, never accepted wrongly.
  json::Parser parser;
  const auto from_json =
      vendors::decode_register_json(vendors::encode_register_json(*devices), vendor, parser);
  if (!from_json) return 0;
  const auto again =
      vendors::decode_register_json(vendors::encode_register_json(*from_json), vendor, parser);
  fuzz::require(again && *again == *from_json, "the JSON form reads back");
  return 0;
}
