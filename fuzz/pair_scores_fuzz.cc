// Pair scores come from node agents; they become a square over the devices of the node.
#include <string>

#include "fuzz/fuzz.h"
#include "vendors/pair_scores.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto scores = vendors::decode_pair_scores(fuzz::as_text(data, size));
  if (!fuzz::accepted(scores)) return 0;
  core::NodeSpec spec;
  for (const char* id : {"a", "b", "c"}) {
    core::Device device;
    device.id = id;
    device.vendor = VendorId{static_cast<std::uint16_t>(*id == 'c' ? 1 : 0)};
    spec.devices.push_back(std::move(device));
  }
  vendors::set_links(*scores, VendorId{0}, spec);
  fuzz::require(spec.links.size() == (scores->empty() ? 0u : 9u), "a square, or nothing");
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const bool own = i / 3 == i % 3;
    const bool foreign = i / 3 == 2 || i % 3 == 2;
    fuzz::require(!(own || foreign) || spec.links[i] == 0, "only pairs of the vendor have a score");
  }
  vendors::drop_devices(spec, VendorId{1});
  fuzz::require(spec.devices.size() == 2, "only the other vendor's device goes");
  fuzz::require(spec.links.empty() || spec.links.size() == 4, "the square shrinks with it");
  return 0;
}
