/// Places one pod on one node. First greedily, container by container; when that fails only because
/// an earlier container took the wrong card, by a bounded search in the same order of preference.
/// The refusal that is reported is the greedy one. Thread rule: one object per decision, used for
/// many nodes one after the other; cluster and request must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/allocation.h"
#include "core/card_check.h"
#include "core/cluster.h"
#include "core/demand.h"
#include "core/ledger.h"
#include "core/place.h"
#include "core/reject.h"
#include "core/request.h"

namespace tessera::core {

class Fitter {
 public:
  /// Cards tried by the search on one node before it gives up.
  static constexpr int kSearchSteps = 2000;

  Fitter(const Cluster& cluster, const Request& request);

  /// False: reject() tells why. True: node_key() and allocation() describe the placement until the
  /// next call.
  bool fit(NodeId node);
  const Reject& reject() const { return reject_; }
  NodeKey node_key();
  Allocation allocation() const;

 private:
  struct Card {
    std::uint32_t device = 0;
    std::uint32_t index = 0;  ///< the card's own number, for ties
    std::uint32_t keys = 0;   ///< where its policy keys start in keys_
    Usage slice;
  };
  /// The cards that fit one demand, best first within each NUMA node (or all together when nothing
  /// binds).
  struct Survey {
    std::vector<Card> cards;
    std::vector<std::int64_t> keys;         ///< chain length per card
    std::vector<std::vector<Card>> groups;  ///< only with NUMA bind, best group first
    Reject reject;
  };

  void count_cards();
  void refuse(NodeReason reason, const Demand& demand, std::uint32_t devices);
  bool choose_greedily();
  bool choose(std::uint32_t demand_index);
  void survey(const Demand& demand, Survey& out);
  void add_keys(const Demand& demand, Card& card, Survey& out) const;
  bool better(const Survey& survey, const Card& a, const Card& b) const;
  void sort_cards(const Demand& demand, Survey& survey) const;
  void group_by_numa(const Demand& demand, Survey& survey) const;
  bool better_group(const Survey& survey, std::size_t count, const std::vector<Card>& a,
                    const std::vector<Card>& b) const;
  bool enough(const Demand& demand, const Survey& survey) const;
  void explain_shortage(const Demand& demand, Survey& survey);
  std::int64_t lowest_eligible_numa(const Demand& demand);
  bool numa_bound(const Demand& demand) const;
  void take(std::uint32_t demand_index, const Card& card);
  void find_own_use(const Node& node, NodeId id);

  // The bounded search (fitter_search.cc).
  bool search_helps(std::uint32_t failed);
  bool search(std::uint32_t demand_index);
  bool search_cards(std::uint32_t demand_index, const std::vector<Card>& cards, std::size_t from,
                    std::int64_t missing);
  bool tried_equal(const std::vector<Card>& cards, std::size_t from, std::size_t at) const;

  const Cluster& cluster_;
  const Request& request_;
  DemandList list_;
  CardCheck check_;
  Ledger ledger_;
  const Node* node_ = nullptr;
  Survey scratch_;
  Reject reject_;
  std::vector<Ledger::OwnUse> own_;
  std::vector<Charge> own_charges_;
  NodeId own_node_;
  std::vector<std::uint32_t>
      vendor_cards_;  ///< by row of list_.vendors: cards on the node, 0 when not offered
  std::vector<NodeView::Vendor> view_;
  std::vector<std::uint32_t> changed_;
  int steps_left_ = 0;
};

}  // namespace tessera::core
