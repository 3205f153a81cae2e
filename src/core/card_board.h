/// The nodes as a quick look sees them. Of tens of thousands of cards most are in one of a few
/// states (what the card is, and what is taken of it), so every state stands here once and a node
/// is a row of numbers of states: a cache line instead of eight cards with their texts. Kept up to
/// date by the cluster's own list of changes. Nothing is decided here.
///   CardBoard board; board.refresh(cluster); for (auto card : board.cards(id)) …
/// Thread rule: owned by the thread that owns the cluster; others may read while it waits for them.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/cluster.h"

namespace tessera::core {

class CardBoard {
 public:
  /// What a card is, whoever uses it.
  struct Kind {
    Device device;  ///< without id, index and group
    bool cordoned = false;
    bool offered = false;
  };
  struct State {
    std::uint32_t kind = 0;
    bool closed = false;  ///< somebody uses the card in a way that is not understood
    Usage used;
    std::int64_t load = 0;  ///< load_ppm as used now, weights equal
  };
  struct Card {
    std::uint32_t state = 0;
    std::uint32_t device = 0;  ///< place among the node's devices
    friend bool operator==(const Card&, const Card&) = default;
  };
  struct Row {
    std::uint64_t version = UINT64_MAX;
    std::uint64_t spec_version = UINT64_MAX;
    std::int64_t label_priority = 0;
    std::uint32_t first = 0;  ///< in the list of all nodes' cards
    std::uint32_t count = 0;
    bool present = false, locked = false, linked = false;
    bool offers = false;       ///< some vendor's cards are offered
    bool partitioned = false;  ///< some card is shared by instances
  };

  CardBoard() = default;
  CardBoard(const CardBoard&) = delete;
  CardBoard& operator=(const CardBoard&) = delete;

  /// Takes over what has changed.
  void refresh(const Cluster& cluster);
  /// Another cluster.
  void forget();

  const Row& row(NodeId id) const { return rows_[id.v]; }
  /// By their own number, equal ones in the order of the node's list: the earlier of two equal
  /// cards is taken first.
  std::span<const Card> cards(const Row& row) const {
    return std::span(cards_).subspan(row.first, row.count);
  }
  const State& state(std::uint32_t state) const { return states_[state]; }
  const Kind& kind(const State& state) const { return kinds_[state.kind]; }
  std::size_t state_count() const { return states_.size(); }
  /// Moves on when the numbers of states mean other ones.
  std::uint64_t epoch() const { return epoch_; }

 private:
  struct StateHash {
    const std::vector<State>* states;
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const State& state) const;
    std::size_t operator()(std::uint32_t id) const { return (*this)((*states)[id]); }
  };
  struct StateEqual {
    const std::vector<State>* states;
    using is_transparent = void;
    static bool same(const State& a, const State& b) {
      return a.kind == b.kind && a.closed == b.closed && a.used == b.used;
    }
    bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
    bool operator()(const State& a, std::uint32_t b) const { return same(a, (*states)[b]); }
    bool operator()(std::uint32_t a, const State& b) const { return same((*states)[a], b); }
  };

  void take_over(const Node& node, Row& row);
  void lay_out(const Node& node, Row& row);
  void take_use(const Node& node, const Row& row);
  std::uint32_t intern(const State& state);
  std::uint32_t intern_kind(const Device& device, bool cordoned, bool offered);
  bool wasteful() const;

  std::vector<Row> rows_;    // by id
  std::vector<Card> cards_;  // of one node after the other; what is no longer used stays as a gap
  std::size_t live_cards_ = 0;
  std::vector<Kind> kinds_;
  std::unordered_multimap<std::size_t, std::uint32_t> kind_places_;  // by hash
  std::vector<State> states_;
  boost::unordered_flat_set<std::uint32_t, StateHash, StateEqual> state_places_{
      0, StateHash{&states_}, StateEqual{&states_}};
  std::vector<NodeId> changed_;
  std::uint64_t seen_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace tessera::core
