/// The kept verdicts of one request class: a row per node, and the nodes that fit in buckets of
/// about equal keys, each a bitmap over ranks. Inside of PlaceIndex.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/card_board.h"
#include "core/cluster.h"
#include "core/fitter.h"
#include "core/place.h"
#include "core/quick_look.h"
#include "core/request.h"

namespace tessera::core {

using Words = std::vector<std::uint64_t>;

class PlaceRows {
 public:
  struct Threads {
    unsigned count = 1;
    std::size_t nodes_each = 512;
  };
  /// What a refresh works with; one for all classes.
  struct Desk {
    std::size_t fitted = 0;  ///< nodes of the last refresh that the fitter has looked at
    std::vector<NodeId> changed;
    std::vector<NodeId> looked_at;            ///< those of changed that are like none before
    std::vector<std::uint32_t> like;          ///< parallel to changed: place in looked_at
    std::vector<Verdict> verdicts;            ///< parallel to looked_at
    std::vector<QuickLook::Memory> memories;  ///< by thread
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> by_hash;  ///< place in looked_at
  };
  /// `serial`: another number for every class, above 0.
  PlaceRows(const Cluster& cluster, Request request, std::uint64_t serial);
  PlaceRows(const PlaceRows&) = delete;
  PlaceRows& operator=(const PlaceRows&) = delete;

  /// Looks again at the nodes that have changed; the board is up to date. Returns how many rows
  /// were worked out.
  std::size_t refresh(const Cluster& cluster, const CardBoard& board, const Threads& threads,
                      Desk& desk);

  bool fits(NodeId id) const { return rows_[id.v].fits; }
  const NodeKey& key(NodeId id) const { return keys_[rows_[id.v].place].key; }
  const Reject& reject(NodeId id) const { return rejects_[rows_[id.v].place]; }
  const Words& fitting() const { return fitting_; }  ///< a bit per rank
  std::size_t bytes() const;                         ///< about what it holds of memory
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
    Coarse at;
    Words words;             ///< a bit per rank
    std::uint32_t keys = 0;  ///< different ones that its nodes have
  };
  using Buckets = std::map<Coarse, Bucket, std::greater<>>;
  /// A key that some node has, or had.
  struct Kept {
    NodeKey key;
    Bucket* bucket = nullptr;  ///< null: no node has it now
    std::uint32_t nodes = 0;
  };
  struct KeyHash {
    const std::vector<Kept>* keys;
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const NodeKey& key) const;
    std::size_t operator()(std::uint32_t place) const { return (*this)((*keys)[place].key); }
  };
  struct KeyEqual {
    const std::vector<Kept>* keys;
    using is_transparent = void;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(const NodeKey& a, std::uint32_t b) const { return a == (*keys)[b].key; }
    bool operator()(std::uint32_t a, const NodeKey& b) const { return (*keys)[a].key == b; }
  };
  struct Row {
    std::uint64_t version = UINT64_MAX;
    std::uint32_t place = 0;  ///< in keys_ or rejects_
    bool fits = false;
  };
  class Looker;

  Coarse coarse(const NodeKey& key) const;
  void coarsen();
  void coarsen_until_few();
  void set(const CardBoard& board, NodeId id, std::uint32_t rank, const Verdict& verdict);
  void insert(Row& row, std::uint32_t rank);
  void remove(Row& row, std::uint32_t rank);
  Bucket& bucket_at(const Coarse& at);
  void rebuild_buckets(const Cluster& cluster, const CardBoard& board);
  std::uint32_t intern(const NodeKey& key);
  std::uint32_t intern(const Reject& reject);
  void forget_keys();
  void forget_rejects();
  void find_changed(const Cluster& cluster, const CardBoard& board, Desk& desk);
  void find_alike(const CardBoard& board, Desk& desk) const;
  void work_out(const Cluster& cluster, const CardBoard& board, const Threads& threads, Desk& desk);
  void look_at(const Cluster& cluster, const CardBoard& board, const Threads& threads, Desk& desk);
  std::optional<std::uint32_t> best_in(const Bucket& bucket, const Words& candidates,
                                       bool prefer_unlocked) const;

  Request request_;
  Fitter fitter_;
  QuickLook quick_;
  std::uint64_t serial_;
  bool same_for_alike_;     ///< a verdict is good for every node with the same row on the board
  bool in_buckets_ = true;  ///< false while so many rows change that the buckets are made anew
  std::vector<Row> rows_;   // by id
  std::vector<Kept> keys_;  // every one that occurs, once
  boost::unordered_flat_set<std::uint32_t, KeyHash, KeyEqual> key_places_{0, KeyHash{&keys_},
                                                                          KeyEqual{&keys_}};
  Buckets buckets_;                        // none is empty
  std::vector<Buckets::node_type> spare_;  // emptied ones, for the next
  std::int64_t load_step_ = 1;
  int topology_shift_ = 0, before_shift_ = 0;
  Words fitting_, locked_;  // by rank
  std::vector<NodeId> by_rank_;
  std::vector<Reject> rejects_;  // every one that occurs, once
  std::unordered_multimap<std::size_t, std::uint32_t> reject_places_;  // by hash
  std::uint32_t last_reject_ = 0;
  std::uint64_t seen_ = 0;  // changes of the cluster up to here are in the rows
  bool looked_ = false;     // at all nodes, once
  std::uint64_t rank_version_ = 0;
  bool partitioned_ = false;
};

}  // namespace tessera::core
