#include "core/place.h"

#include <cmath>

#include "core/fitter.h"
#include "core/hami_order.h"
#include "core/place_order.h"
#include "core/prefetch.h"

namespace tessera::core {

double score_of(const NodeKey& key, const Request& request) {
  if (request.mode != ScoreMode::kHami) return std::fabs(static_cast<double>(key.load)) / 10'000.0;
  return static_cast<double>(score_of_order(request.hami.node == "spread" ? -key.load : key.load));
}

Fit fit_node(const Cluster& cluster, const Request& request, NodeId node) {
  Fitter fitter(cluster, request);
  Fit result;
  if (!fitter.fit(node)) {
    result.reject = fitter.reject();
    return result;
  }
  result.allocation = fitter.allocation();
  result.key = fitter.node_key();
  result.score = fitter.score();
  return result;
}

Outcome place(const Cluster& cluster, const Request& request, std::span<const NodeId> candidates,
              const PlaceOptions& options) {
  Outcome outcome;
  Fitter fitter(cluster, request);
  std::optional<Best> best;
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    const NodeId node = candidates[i];
    if (i + 1 < candidates.size() && candidates[i + 1].v < cluster.node_count())
      prefetch_cards(cluster.node(candidates[i + 1]));
    if (!fitter.fit(node)) {
      outcome.rejected.push_back({i, fitter.reject()});
      continue;
    }
    outcome.fitting.push_back(i);
    const Best challenger{node, fitter.node_key(), cluster.node(node).spec.locked};
    if (options.keep_keys) outcome.keys.push_back(challenger.key);
    if (!best || wins(cluster, challenger, *best, options.prefer_unlocked)) best = challenger;
  }
  if (!best) return outcome;
  // Only the winner's slices are written down; the same call on the same state gives the same ones.
  fitter.fit(best->node);
  fitter.node_key();
  outcome.decision = Decision{best->node, fitter.allocation(), best->key, fitter.score()};
  return outcome;
}

}  // namespace tessera::core
