#include "core/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/card_check.h"
#include "core/demand.h"
#include "core/ledger.h"

namespace tessera::core {
namespace {

/// The pod's own hold, node by node.
class OwnHold {
 public:
  OwnHold(const Cluster& cluster, const Request& request) {
    const Hold* hold = cluster.hold(request.uid);
    if (hold == nullptr) return;
    charges_ = effective_charges(hold->allocation);
    node_ = cluster.find_node(hold->allocation.node);
  }
  void open(Ledger& ledger, const Node& node, NodeId id) const {
    ledger.open(node, id == node_ && node_.valid() ? Ledger::own_uses(node, charges_)
                                                   : std::vector<Ledger::OwnUse>{});
  }

 private:
  std::vector<Charge> charges_;
  NodeId node_;
};

bool known(const Cluster& cluster, NodeId id) {
  return id.valid() && id.v < cluster.node_count() && cluster.node(id).present;
}

class Figures {
 public:
  Figures(const Cluster& cluster, const Request& request)
      : cluster_(cluster),
        list_(request, cluster.rules()),
        check_(list_, request),
        own_(cluster, request) {}

  std::vector<CardFigures> of(NodeId id) {
    std::vector<CardFigures> rows;
    if (!known(cluster_, id)) return rows;
    const Node& node = cluster_.node(id);
    own_.open(ledger_, node, id);
    for (std::uint32_t row = 0; row < list_.vendors.size(); ++row) {
      rows.push_back(of_vendor(node, row));
    }
    return rows;
  }

 private:
  CardFigures of_vendor(const Node& node, std::uint32_t row) {
    const AskedVendor& vendor = list_.vendors[row];
    CardFigures figures;
    figures.vendor = vendor.id;
    const auto& offered = node.spec.offered;
    if (vendor.id.v >= offered.size() || !offered[vendor.id.v]) return figures;
    for (std::uint32_t i = 0; i < node.spec.devices.size(); ++i) {
      const Device& device = node.spec.devices[i];
      if (device.vendor != vendor.id) continue;
      ++figures.cards;
      if (!ledger_.explained(i)) continue;
      if (check_.eligible(node.spec, device, row) != CardReason::kCount) continue;
      if (!passes_id_lists(vendor, device)) continue;
      ++figures.eligible;
      const Usage& used = ledger_.base(i);
      figures.free_memory = std::max(figures.free_memory, device.memory - used.memory);
      figures.free_cores = std::max(figures.free_cores, core_total(vendor, device) - used.cores);
      figures.free_slots = std::max(figures.free_slots, device.slots - used.slots);
    }
    return figures;
  }

  static bool passes_id_lists(const AskedVendor& vendor, const Device& device) {
    if (vendor.constraints == nullptr) return true;
    const auto lists = [&](const std::vector<std::string>& ids) {
      return std::find(ids.begin(), ids.end(), device.id) != ids.end();
    };
    const Constraints& c = *vendor.constraints;
    return (c.use_ids.empty() || lists(c.use_ids)) && !lists(c.nouse_ids);
  }

  const Cluster& cluster_;
  DemandList list_;
  CardCheck check_;
  OwnHold own_;
  Ledger ledger_;
};

/// Reasons from the most to the least telling; what only says that others were too few comes last.
struct ReasonWords {
  CardReason reason;
  std::string_view words;
};
constexpr std::array kCardWords = {
    ReasonWords{CardReason::kInsufficientMemory, "with too little free memory on the cards"},
    ReasonWords{CardReason::kInsufficientCore, "with too few free cores on the cards"},
    ReasonWords{CardReason::kTimeSlicingExhausted, "with all shares of the cards taken"},
    ReasonWords{CardReason::kComputeUnitsExhausted, "with all cores of the cards taken"},
    ReasonWords{CardReason::kExclusiveConflict, "with cards that others use already"},
    ReasonWords{CardReason::kMigTopologyInfeasible, "without room for such an instance"},
    ReasonWords{CardReason::kQuotaNotFit, "where the quota of the namespace is used up"},
    ReasonWords{CardReason::kTypeMismatch, "with cards of another model or mode"},
    ReasonWords{CardReason::kUuidMismatch, "without a card from the pod's list"},
    ReasonWords{CardReason::kNotHealthy, "with unhealthy cards"},
    ReasonWords{CardReason::kCordoned, "with cordoned cards"},
    ReasonWords{CardReason::kModeNotFit, "that do not serve the mode asked for"},
    ReasonWords{CardReason::kNumaNotFit, "without enough free cards on one NUMA node"},
    ReasonWords{CardReason::kAllocatedCardsInsufficient, "with too few free cards"},
};

}  // namespace

std::string_view main_reason(const Reject& reject) {
  if (reject.node_reason == NodeReason::kUnregistered) return "without registered devices";
  if (reject.node_reason == NodeReason::kInsufficientDevice)
    return "with fewer cards than asked for";
  const ReasonWords* best = nullptr;
  for (const ReasonWords& row : kCardWords) {
    const bool only_a_rest = row.reason == CardReason::kAllocatedCardsInsufficient ||
                             row.reason == CardReason::kNumaNotFit;
    if (reject.count(row.reason) == 0 || (best != nullptr && only_a_rest)) continue;
    if (best == nullptr || reject.count(row.reason) > reject.count(best->reason)) best = &row;
  }
  return best == nullptr ? "that do not fit" : best->words;
}

Explanation explain(const Cluster& cluster, const Request& request,
                    std::span<const NodeId> candidates, const PlaceOptions& options) {
  Explanation result;
  Outcome outcome = place(cluster, request, candidates, options);
  Figures figures(cluster, request);
  for (const NodeId id : candidates) {
    NodeVerdict verdict;
    verdict.node = known(cluster, id) ? id : NodeId{};
    verdict.cards = figures.of(id);
    verdict.locked = verdict.node.valid() && cluster.node(id).spec.locked;
    result.nodes.push_back(std::move(verdict));
  }
  for (const Outcome::Rejected& rejected : outcome.rejected) {
    result.nodes[rejected.candidate].reject = rejected.reject;
  }
  for (const std::uint32_t at : outcome.fitting) {
    const Fit fit = fit_node(cluster, request, candidates[at]);
    result.nodes[at].fits = true;
    result.nodes[at].key = fit.key;
    result.nodes[at].score = fit.score;
  }
  if (!outcome.decision) result.hints = what_would_fit(cluster, request, candidates, outcome);
  result.decision = std::move(outcome.decision);
  return result;
}

std::string sentence(const Cluster& cluster, const Outcome& outcome,
                     const std::optional<Hints>& hints) {
  const std::size_t nodes = outcome.rejected.size() + outcome.fitting.size();
  std::map<std::string_view, int> by_reason;
  for (const auto& rejected : outcome.rejected) ++by_reason[main_reason(rejected.reject)];
  std::vector<std::pair<std::string_view, int>> rows(by_reason.begin(), by_reason.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> pieces;
  for (const auto& [words, count] : rows) pieces.push_back(fmt::format("{} {}", count, words));
  std::string text = fmt::format("{} of {} nodes fit", outcome.fitting.size(), nodes);
  if (!pieces.empty()) text += fmt::format(": {}", fmt::join(pieces, ", "));
  if (!hints) return text;
  if (hints->quota) {
    const QuotaExcess& q = *hints->quota;
    constexpr std::array<std::string_view, 3> kKinds = {"cards", "MiB of memory",
                                                        "percent of cores"};
    return text + fmt::format("; quota {} allows {} {}, {} are used and {} asked for", q.quota,
                              q.limit, kKinds.at(static_cast<std::size_t>(q.kind)), q.used,
                              q.asked);
  }
  std::vector<std::string> offers;
  const auto offer = [&](const std::optional<Offer>& o, std::string_view what, std::string asked) {
    if (!o) return;
    offers.push_back(fmt::format("{} {} instead of {} (node {})", o->amount, what, asked,
                                 cluster.node(o->node).spec.name));
  };
  const DeviceAsk& asked = hints->asked;
  offer(hints->memory, "MiB per card",
        asked.memory.v > 0
            ? fmt::format("{}", asked.memory.v)
            : fmt::format("{} %", std::min<std::int64_t>(asked.memory_percent, 100)));
  offer(hints->cores, "percent of the cores", fmt::format("{}", asked.cores.v));
  offer(hints->count, "cards", fmt::format("{}", asked.count));
  if (!offers.empty()) text += fmt::format("; would fit: {}", fmt::join(offers, ", or "));
  return text;
}

}  // namespace tessera::core
