#include "base/quantity.h"
#include "fuzz/fuzz.h"
#include "k8s/decode.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  json::Parser parser;
  const auto value = parser.parse(fuzz::as_text(data, size));
  if (!fuzz::accepted(value)) return 0;
  const auto node = k8s::decode_node(*value);
  if (!fuzz::accepted(node)) return 0;
  for (const auto& [name, amount] : node->allocatable) {
    fuzz::require(Quantity::parse(amount).has_value(), "allocatable holds quantities");
    fuzz::require(k8s::find(node->allocatable, name) != nullptr, "a kept key is found");
  }
  return 0;
}
