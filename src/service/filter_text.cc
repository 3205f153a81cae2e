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

/// The first names in their order, of however many come.
class FirstNames {
 public:
  void add(std::string_view name) {
    ++count_;
    if (kept_ == kNamesInEvent && name >= first_[kept_ - 1]) return;
    if (kept_ < kNamesInEvent) ++kept_;
    std::size_t at = kept_ - 1;
    for (; at > 0 && name < first_[at - 1]; --at) first_[at] = first_[at - 1];
    first_[at] = name;
  }
  std::size_t count() const { return count_; }
  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < kept_; ++i) (text += i == 0 ? "" : ",") += first_[i];
    return count_ > kept_ ? text + ",…" : text;
  }

 private:
  std::array<std::string_view, kNamesInEvent> first_;
  std::size_t kept_ = 0, count_ = 0;
};

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

}  // namespace

std::string summarize_rejects(const core::Outcome& outcome, const Refused& refused) {
  std::map<std::string_view, FirstNames> by_reason;
  std::vector<std::vector<FirstNames*>> of_group(refused.groups.size());
  for (std::size_t i = 0; i < of_group.size(); ++i) {
    std::string_view rest = refused.groups.at(i).text;
    while (!rest.empty()) {
      const std::size_t end = rest.find(", ");
      of_group[i].push_back(&by_reason[reason_of(rest.substr(0, end))]);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 2);
    }
  }
  for (std::size_t i = 0; i < outcome.rejected.size(); ++i) {
    for (FirstNames* names : of_group[refused.groups.numbers()[i]])
      names->add(refused.names[outcome.rejected[i].candidate]);
  }
  std::vector<std::string> pieces;
  for (const auto& [reason, names] : by_reason)
    pieces.push_back(fmt::format("{} nodes {}({})", names.count(), reason, names.text()));
  return text::join(pieces, ", ");
}

void note_placed(PlacedFacts& out, const core::Cluster& cluster,
                 const core::PlaceIndex::Choice& choice, const std::vector<NodeId>& candidates) {
  const core::Decision& decision = *choice.decision;
  out.clear(choice.fitting, choice.rejected);
  out.all_answered = false;
  for (std::size_t i = 0; i < choice.named_count && out.named_count + 1 < PlacedFacts::kNamed;
       ++i) {
    const NodeId node = candidates[choice.named[i]];
    if (node != decision.node) out.add(cluster.node(node).spec.name, choice.scores[i]);
  }
  out.add(cluster.node(decision.node).spec.name, decision.score);
}

void note_scored(PlacedFacts& out, const core::Cluster& cluster, const core::Request& request,
                 const core::Outcome& outcome, const std::vector<NodeId>& candidates) {
  const core::Decision& decision = *outcome.decision;
  out.clear(outcome.fitting.size(), outcome.rejected.size());
  out.all_answered = true;
  for (std::size_t i = 0; i < outcome.fitting.size() && out.named_count + 1 < PlacedFacts::kNamed;
       ++i) {
    const NodeId node = candidates[outcome.fitting[i]];
    if (node != decision.node)
      out.add(cluster.node(node).spec.name, core::score_of(outcome.keys[i], request));
  }
  out.add(cluster.node(decision.node).spec.name, decision.score);
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
                         const Refused& refused) {
  std::string text = fmt::format("no available node, {} nodes do not meet", candidates.size());
  if (candidates.empty()) return text;
  text += ": " + summarize_rejects(outcome, refused);
  text += ". " + pod_sentence(cluster, request, outcome, candidates);
  return text;
}

}  // namespace tessera::service
