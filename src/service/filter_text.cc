#include "service/filter_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "core/explain.h"

namespace tessera::service {
namespace {

constexpr std::size_t kNamesInEvent = 5;

/// "1/4 CardInsufficientMemory" counts for CardInsufficientMemory; other texts stand for
/// themselves.
std::string_view reason_of(std::string_view piece) {
  const std::size_t blank = piece.find(' ');
  const bool counted =
      blank != std::string_view::npos && piece.substr(0, blank).find('/') != std::string_view::npos;
  return counted ? piece.substr(blank + 1) : piece;
}

}  // namespace

std::string summarize_rejects(const std::vector<std::pair<std::string, std::string>>& node_texts) {
  std::map<std::string, std::vector<std::string>, std::less<>> by_reason;
  for (const auto& [node, text] : node_texts) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = rest.find(", ");
      by_reason[std::string(reason_of(rest.substr(0, end)))].push_back(node);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 2);
    }
  }
  std::vector<std::string> pieces;
  for (auto& [reason, nodes] : by_reason) {
    const std::size_t count = nodes.size();
    std::sort(nodes.begin(), nodes.end());
    if (count > kNamesInEvent) {
      nodes.resize(kNamesInEvent);
      nodes.emplace_back("…");
    }
    pieces.push_back(fmt::format("{} nodes {}({})", count, reason, text::join(nodes, ",")));
  }
  return text::join(pieces, ", ");
}

std::string placed_text(const core::Cluster& cluster, const core::Request& request,
                        const core::Outcome& outcome, const std::vector<NodeId>& candidates) {
  const core::Decision& decision = *outcome.decision;
  const auto name = [&](NodeId node) { return cluster.node(node).spec.name; };
  std::vector<std::string> shown;
  for (const std::uint32_t index : outcome.fitting) {
    if (shown.size() + 1 >= kNamesInEvent) break;
    const NodeId node = candidates[index];
    if (node == decision.node) continue;
    shown.push_back(
        fmt::format("{}:{:.2f}", name(node), core::fit_node(cluster, request, node).score));
  }
  if (shown.size() + 1 < outcome.fitting.size()) shown.emplace_back("…");
  shown.push_back(fmt::format("{}:{:.2f}", name(decision.node), decision.score));
  return fmt::format("find fit node({}), {} nodes not fit, {} nodes fit({})", name(decision.node),
                     outcome.rejected.size(), outcome.fitting.size(), text::join(shown, ","));
}

std::string nowhere_text(const core::Cluster& cluster, const core::Request& request,
                         const core::Outcome& outcome, const std::vector<NodeId>& candidates,
                         const std::vector<std::pair<std::string, std::string>>& node_texts) {
  std::string text = fmt::format("no available node, {} nodes do not meet", candidates.size());
  if (candidates.empty()) return text;
  text += ": " + summarize_rejects(node_texts);
  text += ". " + core::sentence(cluster, outcome,
                                core::what_would_fit(cluster, request, candidates, outcome));
  return text;
}

}  // namespace tessera::service
