#include "fuzz/fuzz.h"
#include "k8s/extender.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  json::Parser parser;
  std::string storage;
  const auto args =
      k8s::decode_extender_args(parser, std::string(fuzz::as_text(data, size)), storage, {});
  k8s::FilterResult result;
  json::Parser check;
  if (!fuzz::accepted(args)) {
    fuzz::require(check.parse(k8s::encode_filter_error(args.error().what)).has_value(),
                  "an error answer is valid JSON");
    return 0;
  }
  fuzz::require(args->nodes.size() == args->raw_nodes.size(), "each node has its text");
  result.names_form = !args->has_nodes;
  result.names = args->names;
  result.raw_nodes = args->raw_nodes;
  for (const k8s::Node& node : args->nodes) result.failed.emplace_back(node.name, "reason");
  const auto answer = check.parse(k8s::encode_filter_result(result));
  fuzz::require(answer.has_value(), "an answer is valid JSON");
  fuzz::require((*answer)["Nodes"]["items"].size() == (args->has_nodes ? args->nodes.size() : 0),
                "the echo holds every node");
  return 0;
}
