/// Messages of the scheduler extender protocol. Source: spec/extender-protocol.md sections 2, 3, 8.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/reader.h"
#include "k8s/objects.h"

namespace tessera::k8s {

struct ExtenderArgs {
  Pod pod;
  bool has_names = false;               ///< NodeNames was there and not null
  bool has_nodes = false;               ///< Nodes was there and not null
  std::vector<std::string_view> names;  ///< views into the parsed body
  std::vector<Node> nodes;
  std::vector<std::string_view>
      raw_nodes;  ///< received text of each node, byte for byte, for the echo
};
/// The body moves into `body_storage`; raw_nodes point into it, names into the parser's document:
/// both must outlive the result. Keys in any case; unknown keys ignored; `extender args missing
/// pod` when Pod is missing or null.
Result<ExtenderArgs> decode_extender_args(json::Parser& parser, std::string&& body,
                                          std::string& body_storage, const Keep& keep);

struct FilterResult {
  bool names_form = true;    ///< false: answer in Nodes
  bool null_result = false;  ///< NodeNames and Nodes null (nothing fits)
  std::vector<std::string_view> names;
  std::vector<std::string_view> raw_nodes;
  std::vector<std::pair<std::string, std::string>> failed, unresolvable;
  bool failed_null = false;  ///< success in single mode: FailedNodes null (D5)
  std::string error;
};
/// Always the five keys in Go's order and spelling, no trailing newline.
std::string encode_filter_result(const FilterResult& result);
std::string encode_filter_error(std::string_view error);

struct BindArgs {
  std::string pod_name, pod_namespace, pod_uid, node;
};
Result<BindArgs> decode_bind_args(json::Parser& parser, std::string_view body);
std::string encode_bind_result(std::string_view error);

}  // namespace tessera::k8s
