// The decision once more, by plain loops over nodes and holds: no ledger, no kept counters, no
// pruning. Written apart from place.cc so that a mistake in one of them shows. Meant for small
// clusters. In HAMi's score mode it finds out who fits where, by its own order: which of several
// choices HAMi takes is held against HAMi's recorded answers instead.
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "core/place.h"
#include "core/place_oracle_node.h"

namespace tessera::core {
namespace {

using oracle::Chosen;
using oracle::NodeOracle;

Allocation written(const Request& request, const NodeSpec& spec, const NodeOracle& oracle) {
  Allocation allocation;
  allocation.node = spec.name;
  allocation.subject = request.subject;
  for (const Position& position : request.positions) allocation.kinds.push_back(position.kind);
  for (const Chosen& c : oracle.chosen) allocation.grants.push_back(c.grant);
  return allocation;
}

}  // namespace

Outcome place_oracle(const Cluster& cluster, const Request& request,
                     std::span<const NodeId> candidates, const PlaceOptions& options) {
  Outcome outcome;
  // Smallest wins: worse key, lock, name. ~ turns the order round for every number, also the least.
  using Rank =
      std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, std::string>;
  std::optional<Rank> best;
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    const NodeId id = candidates[i];
    if (!id.valid() || id.v >= cluster.node_count() || !cluster.node(id).present) {
      outcome.rejected.push_back({i, {.node_reason = NodeReason::kUnregistered}});
      continue;
    }
    NodeOracle oracle(cluster, request, id);
    if (!oracle.run()) {
      outcome.rejected.push_back({i, oracle.reject});
      continue;
    }
    outcome.fitting.push_back(i);
    const NodeSpec& spec = cluster.node(id).spec;
    const NodeKey key = oracle.key();
    if (options.keep_keys) outcome.keys.push_back(key);
    const Rank rank{
        ~key.before, ~key.topology, ~key.load, ~key.after, options.prefer_unlocked && spec.locked,
        spec.name};
    if (best && *best <= rank) continue;
    best = rank;
    outcome.decision =
        Decision{id, written(request, spec, oracle), key, static_cast<double>(key.load) / 10'000.0};
  }
  return outcome;
}

}  // namespace tessera::core
