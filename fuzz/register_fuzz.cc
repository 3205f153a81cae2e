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
    plain = plain && (d.model + d.mode).find_first_of(",:") == std::string::npos;
  }
  if (plain && !devices->empty()) {
    const auto again =
        vendors::decode_register_text(vendors::encode_register_text(*devices), vendor);
    fuzz::require(again && *again == *devices, "the text form reads back");
  }
  const std::string json = vendors::encode_register_json(*devices);
  const auto from_json = vendors::decode_register_json(json, vendor);
  // Ids that differ in broken UTF-8 only may become one; that is refused, never accepted wrongly.
  fuzz::require(!from_json || vendors::encode_register_json(*from_json) == json,
                "the JSON form reads back");
  return 0;
}
