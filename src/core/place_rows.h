/// The kept verdicts of one request class: a row per node, and the nodes that fit in buckets of
/// about equal keys, each a bitmap over ranks. Inside of PlaceIndex.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/cluster.h"
#include "core/fitter.h"
#include "core/place.h"
#include "core/request.h"

namespace tessera::core {

using Words = std::vector<std::uint64_t>;

/// What was found about one node for one class.
struct Verdict {
  bool fits = false;
  NodeKey key;
  Reject reject;
};

class PlaceRows {
 public:
  struct Threads {
    unsigned count = 1;
    std::size_t nodes_each = 512;
  };
  PlaceRows(const Cluster& cluster, Request request);

  /// Looks again at the nodes that have changed. Returns how many rows were worked out.
  std::size_t refresh(const Cluster& cluster, const Threads& threads);

  bool fits(NodeId id) const { return rows_[id.v].bucket != nullptr; }
  const NodeKey& key(NodeId id) const { return rows_[id.v].key; }
  const Reject& reject(NodeId id) const { return rejects_[rows_[id.v].reject]; }
  const Words& fitting() const { return fitting_; }  ///< a bit per rank
  /// Some node has cards that are shared by instances.
  bool partitioned() const { return partitioned_; }

  /// The rank of the best node among the candidates: larger key, then no lock, then lower rank.
  std::optional<std::uint32_t> best(const Words& candidates, bool prefer_unlocked) const;

  /// The slices on a node that fits, for a pod of this class that holds nothing yet.
  Decision decide(NodeId node, const QuotaSubject& subject);
  NodeId node_at(std::uint32_t rank) const { return by_rank_[rank]; }
  std::uint64_t asked = 0;  ///< when, in questions; for the owner

 private:
  /// Nodes whose keys are about as good. The larger Coarse never holds a worse key.
  struct Coarse {
    std::int64_t before = 0, topology = 0, load = 0;
    friend auto operator<=>(const Coarse&, const Coarse&) = default;
  };
  struct Bucket {
    Words words;
    std::uint32_t count = 0;
    bool uniform = true;  ///< all its keys are this one
    NodeKey key;
  };
  struct Row {
    std::uint64_t version = UINT64_MAX;
    NodeKey key;
    Bucket* bucket = nullptr;  ///< null: does not fit
    std::uint32_t reject = 0;
  };

  Coarse coarse(const NodeKey& key) const;
  void coarsen();
  void set(const Cluster& cluster, NodeId id, const Verdict& verdict);
  void insert(Row& row, std::uint32_t rank);
  void remove(Row& row, std::uint32_t rank);
  void rebuild_buckets(const Cluster& cluster);
  std::uint32_t intern(const Reject& reject);
  void forget_rejects();
  void find_changed(const Cluster& cluster);
  void work_out(const Cluster& cluster, const Threads& threads);
  std::optional<std::uint32_t> best_in(const Bucket& bucket, const Words& candidates,
                                       bool prefer_unlocked) const;

  Request request_;
  Fitter fitter_;
  std::vector<Row> rows_;  // by id
  std::map<Coarse, Bucket, std::greater<>> buckets_;
  std::int64_t load_step_ = 10'000;
  int topology_shift_ = 0, before_shift_ = 0;
  Words fitting_, locked_;  // by rank
  std::vector<NodeId> by_rank_;
  std::vector<Reject> rejects_;  // every one that occurs, once
  std::unordered_multimap<std::size_t, std::uint32_t> reject_places_;  // by hash
  std::uint64_t seen_ = 0;  // changes of the cluster up to here are in the rows
  bool looked_ = false;     // at all nodes, once
  std::uint64_t rank_version_ = 0;
  bool partitioned_ = false;
  std::vector<NodeId> changed_;    // by the refresh under way
  std::vector<Verdict> verdicts_;  // parallel to changed_
};

}  // namespace tessera::core
