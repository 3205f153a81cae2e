#include "fuzz/fuzz.h"
#include "k8s/extender.h"

using namespace tessera;

namespace {

constexpr std::size_t kNodeByNode = 0, kWhole = std::size_t{1} << 40;

/// Whatever the body, reading it node by node says what reading it whole says.
void compare_readings(std::string_view body) {
  json::Parser parsers[2];
  std::string storages[2];
  const auto parts =
      k8s::decode_extender_args(parsers[0], std::string(body), storages[0], {}, kNodeByNode);
  const auto whole =
      k8s::decode_extender_args(parsers[1], std::string(body), storages[1], {}, kWhole);
  fuzz::require(parts.has_value() == whole.has_value(), "both readings accept the same");
  if (!parts) return;
  fuzz::require(parts->pod.name == whole->pod.name, "the same pod");
  fuzz::require(parts->has_names == whole->has_names && parts->names == whole->names,
                "the same names");
  fuzz::require(parts->has_nodes == whole->has_nodes && parts->raw_nodes == whole->raw_nodes,
                "the same texts of nodes");
  fuzz::require(parts->nodes.size() == whole->nodes.size(), "as many nodes");
  for (std::size_t i = 0; i < parts->nodes.size(); ++i) {
    fuzz::require(parts->nodes[i].name == whole->nodes[i].name &&
                      parts->nodes[i].annotations == whole->nodes[i].annotations &&
                      parts->nodes[i].allocatable == whole->nodes[i].allocatable,
                  "the same nodes");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  compare_readings(fuzz::as_text(data, size));
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
