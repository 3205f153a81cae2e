#include "service/filter_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

constexpr std::size_t kQuotasNamed = 3;

bool asks_of(const core::Request& request, VendorId vendor) {
  return std::any_of(request.positions.begin(), request.positions.end(), [&](const auto& position) {
    return std::any_of(position.asks.begin(), position.asks.end(),
                       [&](const core::DeviceAsk& ask) { return ask.vendor == vendor; });
  });
}

/// What a whole card or a percentage takes is known per card only: no single figure was asked for.
std::string quotas_in_force(const core::Cluster& cluster, const core::Request& request) {
  constexpr std::array<std::string_view, 3> kKinds = {"cards", "MiB of memory", "percent of cores"};
  std::string text;
  std::size_t named = 0;
  for (const core::QuotaBook::Row& row : cluster.quotas().rows()) {
    if (row.quota.ns != request.subject.ns || !core::in_scope(row.quota, request.subject)) continue;
    for (const core::QuotaLimit& limit : row.quota.limits) {
      if (!asks_of(request, limit.vendor) || named++ >= kQuotasNamed) continue;
      std::int64_t used = 0;
      for (const core::QuotaNeed& need : row.used)
        if (need.vendor == limit.vendor) used = need.amount(limit.kind);
      text += fmt::format("; quota {} allows {} {}, {} are used", row.quota.name, limit.limit,
                          kKinds.at(static_cast<std::size_t>(limit.kind)), used);
    }
  }
  return text;
}

/// A few of the nodes that fit with their scores, the best one last.
std::string fitting_nodes(const core::Cluster& cluster, const core::Request& request,
                          const core::Decision& decision, std::span<const std::uint32_t> some,
                          std::size_t fitting, const std::vector<NodeId>& candidates) {
  const auto name = [&](NodeId node) { return cluster.node(node).spec.name; };
  std::vector<std::string> shown;
  for (const std::uint32_t index : some) {
    if (shown.size() + 1 >= kNamesInEvent) break;
    const NodeId node = candidates[index];
    if (node == decision.node) continue;
    shown.push_back(
        fmt::format("{}:{:.2f}", name(node), core::fit_node(cluster, request, node).score));
  }
  if (shown.size() + 1 < fitting) shown.emplace_back("…");
  shown.push_back(fmt::format("{}:{:.2f}", name(decision.node), decision.score));
  return text::join(shown, ",");
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
                        const core::PlaceIndex::Choice& choice,
                        const std::vector<NodeId>& candidates) {
  const core::Decision& decision = *choice.decision;
  return fmt::format(
      "find fit node({}), {} nodes not fit, {} nodes fit({})",
      cluster.node(decision.node).spec.name, choice.rejected, choice.fitting,
      fitting_nodes(cluster, request, decision, choice.some_fitting(), choice.fitting, candidates));
}

std::string scored_text(const core::Cluster& cluster, const core::Request& request,
                        const core::Outcome& outcome, const std::vector<NodeId>& candidates) {
  return fmt::format(
      "{} nodes fit({}), {} nodes not fit; kube-scheduler chooses among them, {} is held meanwhile",
      outcome.fitting.size(),
      fitting_nodes(cluster, request, *outcome.decision, outcome.fitting, outcome.fitting.size(),
                    candidates),
      outcome.rejected.size(), cluster.node(outcome.decision->node).spec.name);
}

std::string pod_sentence(const core::Cluster& cluster, const core::Request& request,
                         const core::Outcome& outcome, std::span<const NodeId> candidates) {
  const auto hints = core::what_would_fit(cluster, request, candidates, outcome);
  std::string text = core::sentence(cluster, outcome, hints);
  const bool by_quota =
      std::any_of(outcome.rejected.begin(), outcome.rejected.end(), [](const auto& rejected) {
        return rejected.reject.count(core::CardReason::kQuotaNotFit) > 0;
      });
  if (by_quota && !(hints && hints->quota)) text += quotas_in_force(cluster, request);
  return text;
}

std::string nowhere_text(const core::Cluster& cluster, const core::Request& request,
                         const core::Outcome& outcome, const std::vector<NodeId>& candidates,
                         const std::vector<std::pair<std::string, std::string>>& node_texts) {
  std::string text = fmt::format("no available node, {} nodes do not meet", candidates.size());
  if (candidates.empty()) return text;
  text += ": " + summarize_rejects(node_texts);
  text += ". " + pod_sentence(cluster, request, outcome, candidates);
  return text;
}

}  // namespace tessera::service
