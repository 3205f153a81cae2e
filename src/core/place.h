/// The decision: a pure function of state, request and policy. No I/O, no clock, no logs.
/// Source: spec/scheduler.md section 10 and the fit table of spec/devices, decisions D3, D5, D18.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/allocation.h"
#include "core/cluster.h"
#include "core/reject.h"
#include "core/request.h"

namespace tessera::core {

/// How good a node is for the pod; larger is better, the first member that differs decides. Links
/// compare before load (D3).
struct NodeKey {
  std::int64_t before = 0;    ///< of the request's first node policy, 0 without one
  std::int64_t topology = 0;  ///< sum of the vendors' preferences
  std::int64_t load = 0;      ///< of the request's node policy; in HAMi's mode its score in order
  std::int64_t after = 0;     ///< of the request's last node policy, 0 without one
  friend auto operator<=>(const NodeKey&, const NodeKey&) = default;
};

/// A node's figure for people, from its key: the load in percent, in HAMi's mode its own figure.
double score_of(const NodeKey& key, const Request& request);

struct Decision {
  NodeId node;
  Allocation allocation;
  NodeKey key;
  double score = 0;  ///< score_of(key)
};

struct Fit {
  std::optional<Allocation> allocation;  ///< empty: see reject
  NodeKey key;
  double score = 0;
  Reject reject;
};

/// One node alone. The pod's own hold, if any, counts as free (a repeated filter of the same pod).
Fit fit_node(const Cluster& cluster, const Request& request, NodeId node);

struct PlaceOptions {
  bool prefer_unlocked = true;  ///< among nodes with equal keys, one without a node lock wins
  bool keep_keys = false;       ///< fills Outcome::keys
};

struct Outcome {
  std::optional<Decision> decision;
  struct Rejected {
    std::uint32_t candidate = 0;  ///< index into candidates
    Reject reject;
  };
  std::vector<Rejected> rejected;      ///< every candidate that does not fit
  std::vector<std::uint32_t> fitting;  ///< indices of all candidates that fit, in the order given
  std::vector<NodeKey> keys;           ///< parallel to fitting, when asked for
};

/// An invalid NodeId among the candidates is a node nobody knows: rejected as unregistered. Same
/// input, same answer, byte for byte.
Outcome place(const Cluster& cluster, const Request& request, std::span<const NodeId> candidates,
              const PlaceOptions& options = {});

/// The same by plain loops over everything, written independently: the oracle of the property
/// tests.
Outcome place_oracle(const Cluster& cluster, const Request& request,
                     std::span<const NodeId> candidates, const PlaceOptions& options = {});

}  // namespace tessera::core
