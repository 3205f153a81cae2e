/// Why a pod goes where it goes, or nowhere: for every candidate the verdict with figures, and what
/// would have fitted. Changes nothing and reserves nothing. Source: spec/decisions.md D5,
/// architecture invariant 6. Thread rule: pure functions of the cluster.
///   Explanation e = explain(cluster, request, candidates); sentence(e);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.h"
#include "core/place.h"
#include "core/quota.h"
#include "core/request.h"

namespace tessera::core {

/// What the cards of one vendor on a node still have for this pod. Its own hold counts as free.
struct CardFigures {
  VendorId vendor;
  std::uint32_t cards = 0;     ///< registered and offered
  std::uint32_t eligible = 0;  ///< healthy, not cordoned, of a model, mode and id the pod accepts
  // Each the largest of any eligible card; they may come from different cards.
  MiB free_memory;
  CorePercent free_cores;
  std::int64_t free_slots = 0;
  friend bool operator==(const CardFigures&, const CardFigures&) = default;
};

struct NodeVerdict {
  NodeId node;  ///< invalid: nobody knows the node
  bool fits = false;
  Reject reject;     ///< of one that does not fit
  NodeKey key;       ///< of one that fits
  double score = 0;  ///< the same for people, as in Decision
  bool locked = false;
  std::vector<CardFigures> cards;  ///< by vendor asked for, in order of first ask
};

/// What the first container that did not fit could have had, everything else unchanged. The node
/// is the one where it would fit; nothing is promised about several changes at once.
struct Offer {
  std::int64_t amount = 0;
  NodeId node;
  friend bool operator==(const Offer&, const Offer&) = default;
};
struct Hints {
  std::uint32_t position = 0;        ///< the container
  DeviceAsk asked;                   ///< what it asked for in vain
  std::optional<Offer> memory;       ///< largest MiB per card
  std::optional<Offer> cores;        ///< largest share of cores per card
  std::optional<Offer> count;        ///< most cards
  std::optional<QuotaExcess> quota;  ///< a limit that the request passes by itself
};

struct Explanation {
  std::vector<NodeVerdict> nodes;    ///< in the order of the candidates
  std::optional<Decision> decision;  ///< as it would fall now
  std::optional<Hints> hints;        ///< when nothing fits
};

Explanation explain(const Cluster& cluster, const Request& request,
                    std::span<const NodeId> candidates, const PlaceOptions& options = {});

/// Bounded: the most promising nodes only, a few trials each. nullopt when the pod asks nothing or
/// no candidate is known.
std::optional<Hints> what_would_fit(const Cluster& cluster, const Request& request,
                                    std::span<const NodeId> candidates, const Outcome& outcome);

/// "0 of 3 nodes fit: 2 with too little free memory on the cards, 1 without registered devices;
/// would fit: 12000 MiB per card instead of 20000 (node n3)". For an outcome without a decision.
std::string sentence(const Cluster& cluster, const Outcome& outcome,
                     const std::optional<Hints>& hints);

/// "with too little free memory on the cards": the main reason of a refusal in words for people.
std::string_view main_reason(const Reject& reject);

}  // namespace tessera::core
