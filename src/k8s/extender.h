/// Messages of the scheduler extender protocol. Source: spec/extender-protocol.md sections 2, 3, 8.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/reader.h"
#include "k8s/objects.h"

namespace tessera::k8s {

/// The nodes that a call is about, in whichever form they came.
struct Candidates {
  bool has_names = false;               ///< NodeNames was there and not null
  bool has_nodes = false;               ///< Nodes was there and not null
  std::vector<std::string_view> names;  ///< views into the parsed body
  std::vector<Node> nodes;
  std::vector<std::string_view>
      raw_nodes;  ///< received text of each node, byte for byte, for the echo

  void clear() {  ///< keeps memory
    has_names = has_nodes = false;
    names.clear();
    nodes.clear();
    raw_nodes.clear();
  }
};
struct ExtenderArgs : Candidates {
  Pod pod;
};
/// Whoever wants something of whole nodes gets each as soon as it is read, and may take its texts:
/// so those of one node are there at a time, not of thousands.
class NodeVisitor {
 public:
  virtual ~NodeVisitor() = default;
  virtual void begin(std::size_t most) = 0;  ///< so many come, or fewer
  virtual void visit(Node& node) = 0;        ///< in order; all but its name may go
};
/// Whole nodes make a body larger than this quickly; with names alone it takes six thousand.
inline constexpr std::size_t kReadWholeBelow = std::size_t{256} << 10;
/// The body moves into `body_storage`; raw_nodes and names point into it or into the parser's
/// document: both must outlive the result. Keys in any case; unknown keys ignored; `extender args
/// missing pod` when Pod is missing or null. Bodies of `whole_below` bytes and more are read node
/// by node.
Result<ExtenderArgs> decode_extender_args(json::Parser& parser, std::string&& body,
                                          std::string& body_storage, const Keep& keep,
                                          std::size_t whole_below = kReadWholeBelow);
/// The same into memory that was used before: a body like the last one asks the heap for nothing.
Status read_extender_args(json::Parser& parser, std::string&& body, std::string& body_storage,
                          const Keep& keep, ExtenderArgs& into,
                          std::size_t whole_below = kReadWholeBelow,
                          NodeVisitor* visitor = nullptr);
/// The same for those who decide without the pod: it may be missing and is not looked at.
Result<Candidates> decode_candidates(json::Parser& parser, std::string&& body,
                                     std::string& body_storage, const Keep& keep,
                                     std::size_t whole_below = kReadWholeBelow);

struct FilterResult {
  bool names_form = true;    ///< false: answer in Nodes
  bool names_too = false;    ///< answer in both forms
  bool null_result = false;  ///< NodeNames and Nodes null (nothing fits)
  std::vector<std::string_view> names;
  std::vector<std::string_view> raw_nodes;
  /// Node and text. Like the names they belong to whoever puts the result together.
  std::vector<std::pair<std::string_view, std::string_view>> failed, unresolvable;
  bool failed_null = false;  ///< success in single mode: FailedNodes null (D5)
  std::string error;

  void clear() {  ///< keeps memory
    names_form = true;
    names_too = null_result = failed_null = false;
    names.clear();
    raw_nodes.clear();
    failed.clear();
    unresolvable.clear();
    error.clear();
  }
};
/// Always the five keys in Go's order and spelling, no trailing newline.
std::string encode_filter_result(const FilterResult& result);
/// The same into memory that was used before.
void write_filter_result(const FilterResult& result, std::string& out);
/// The same in pieces, in order, uncopied: the nodes stay where they lie in the call's `body`, what
/// belongs around them goes into `text`. Good as long as both stay where they are.
std::vector<std::string_view> gather_filter_result(const FilterResult& result,
                                                   std::string_view body, std::string& text);
std::string encode_filter_error(std::string_view error);

/// HostPriorityList, a bare array: [{"Host":"n1","Score":7},…]. As many scores as hosts.
std::string encode_host_priorities(std::span<const std::string_view> hosts,
                                   std::span<const std::int64_t> scores);
/// The same into memory that was used before.
void write_host_priorities(std::span<const std::string_view> hosts,
                           std::span<const std::int64_t> scores, std::string& text);

struct BindArgs {
  std::string pod_name, pod_namespace, pod_uid, node;
};
Result<BindArgs> decode_bind_args(json::Parser& parser, std::string_view body);
std::string encode_bind_result(std::string_view error);

struct VictimsOfNode {
  std::string node;
  std::vector<std::string> uids;
  std::int64_t budget_violations = 0;  ///< NumPDBViolations
};
struct PreemptArgs {
  Pod pod;
  std::vector<VictimsOfNode> nodes;  ///< of whichever form came; names unique, a null entry = empty
};
/// Either form; where both are there, the one with full pods.
Result<PreemptArgs> decode_preempt_args(json::Parser& parser, std::string_view body,
                                        const Keep& keep);
/// Always the meta form. A node without victims would be an error to kube-scheduler: the caller
/// leaves it out.
std::string encode_preempt_result(const std::vector<VictimsOfNode>& nodes);

}  // namespace tessera::k8s
