#include "fuzz/fuzz.h"
#include "k8s/extender.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  json::Parser parser;
  const auto args = k8s::decode_preempt_args(parser, fuzz::as_text(data, size), {});
  if (!fuzz::accepted(args)) return 0;
  json::Parser check;
  const auto answer = check.parse(k8s::encode_preempt_result(args->nodes));
  fuzz::require(answer.has_value(), "an answer is valid JSON");
  fuzz::require((*answer)["NodeNameToMetaVictims"].size() == args->nodes.size(),
                "every node is in the answer once");
  return 0;
}
