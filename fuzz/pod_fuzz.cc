#include "base/quantity.h"
#include "fuzz/fuzz.h"
#include "k8s/decode.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  json::Parser parser;
  const auto value = parser.parse(fuzz::as_text(data, size));
  if (!fuzz::accepted(value)) return 0;
  fuzz::accepted(k8s::decode_meta(*value));
  const auto pod = k8s::decode_pod(*value);
  if (!fuzz::accepted(pod)) return 0;
  bool apps = false;
  for (const k8s::Container& container : pod->containers) {
    fuzz::require(!(apps && container.init), "init containers come first");
    apps = apps || !container.init;
    for (const auto& [name, amount] : container.limits) {
      fuzz::require(Quantity::parse(amount).has_value(), "limits are quantities");
    }
  }
  return 0;
}
