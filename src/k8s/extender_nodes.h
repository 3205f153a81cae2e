/// Bodies whose nodes come as whole objects: 14.5 KB each, thousands of them. A large one is read
/// node by node where it lies, so that the parser's memory is that of one node (D20). Internal to
/// the module.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/reader.h"
#include "k8s/extender.h"

namespace tessera::k8s {

struct NodeList {
  std::vector<Node> nodes;
  std::vector<std::string_view> texts;  ///< of each node, in the body
  Status status;                        ///< what the first node that cannot be used lacks
};

struct CallBody {
  json::Value root;               ///< the body; without its nodes when they are here:
  std::optional<NodeList> nodes;  ///< read one at a time
};

/// What is wanted of the nodes.
struct NodeUse {
  const Keep& keep;
  NodeVisitor* visitor = nullptr;  ///< of every node that can be used; null = nobody
};

/// The whole body is JSON when this succeeds. Bodies shorter than `whole_below` are parsed in one
/// piece. `body` gets spare room and must stay where it is.
Result<CallBody> read_call_body(json::Parser& parser, std::string& body, const NodeUse& use,
                                std::size_t whole_below);

/// The member Nodes of the body.
Status read_nodes(CallBody& call, std::string_view body, const NodeUse& use, Candidates& args);

}  // namespace tessera::k8s
