#include "fuzz/fuzz.h"
#include "k8s/extender.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  json::Parser parser;
  const auto args = k8s::decode_bind_args(parser, fuzz::as_text(data, size));
  json::Parser check;
  if (fuzz::accepted(args)) {
    fuzz::require(!args->pod_name.empty() && !args->node.empty(), "name and node are there");
  } else {
    fuzz::require(check.parse(k8s::encode_bind_result(args.error().what)).has_value(),
                  "an error answer is valid JSON");
  }
  return 0;
}
