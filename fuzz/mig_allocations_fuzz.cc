// Reservations of instances sit on pods. Whatever is accepted must say the same once written and
// read again.
#include <string>

#include "fuzz/fuzz.h"
#include "vendors/mig_codec.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto list = vendors::decode_mig_reservations(fuzz::as_text(data, size));
  if (!fuzz::accepted(list)) return 0;
  for (const vendors::MigReservationText& r : *list) {
    fuzz::require(r.container >= 0 && r.device >= 0, "indices are not negative");
    fuzz::require(!r.card.empty() && !r.profile.empty(), "card and profile are named");
    fuzz::require(r.placement.size > 0, "an instance takes room");
    fuzz::require(r.placement.start + r.placement.size > r.placement.start, "nothing wraps");
  }
  const std::string once = vendors::encode_mig_reservations(*list);
  const auto again = vendors::decode_mig_reservations(once);
  fuzz::require(again && again->size() == list->size(), "every reservation is kept");
  fuzz::require(vendors::encode_mig_reservations(*again) == once, "written again it says the same");
  return 0;
}
