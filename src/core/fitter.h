/// Places one pod on one node. First greedily, container by container; when that fails only because
/// an earlier container took the wrong card, by a bounded search in the same order of preference.
/// The refusal that is reported is the greedy one. Thread rule: one object per decision, used for
/// many nodes one after the other; cluster and request must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/allocation.h"
#include "core/card_check.h"
#include "core/cluster.h"
#include "core/demand.h"
#include "core/hami_order.h"
#include "core/ledger.h"
#include "core/place.h"
#include "core/quota_check.h"
#include "core/reject.h"
#include "core/request.h"
#include "core/vendor_hooks.h"

namespace tessera::core {

class Fitter {
 public:
  /// Cards tried by the search on one node before it gives up.
  static constexpr int kSearchSteps = 2000;

  Fitter(const Cluster& cluster, const Request& request);

  /// False: reject() tells why. True: node_key(), score() and allocation() describe the placement
  /// until the next call.
  bool fit(NodeId node);
  const Reject& reject() const { return reject_; }
  NodeKey node_key();
  /// For people: in HAMi's mode its own figure, else the load in percent. After node_key().
  double score() const { return score_; }
  Allocation allocation() const;

 private:
  struct Card {
    std::uint32_t device = 0;
    std::uint32_t index = 0;    ///< the card's own number, for ties
    std::uint32_t keys = 0;     ///< where its policy keys start in Survey::keys
    std::uint32_t profile = 0;  ///< of the instance, on a partitioned card
    std::uint32_t times = 1;  ///< how often one container may take it; above 1 on partitioned cards
    Usage slice;
    std::optional<MigPlacement> mig;
  };
  /// Cards with their policy keys, best first within each NUMA node (or all together when nothing
  /// binds) once they are sorted.
  struct Survey {
    std::vector<Card> cards;
    std::vector<std::int64_t> keys;         ///< key_count_ per card
    std::vector<std::vector<Card>> groups;  ///< only with NUMA bind, best group first
    bool partitioned = false;               ///< a card that is taken by instances was met
    Reject reject;
  };
  /// One pass over the cards in a given order, as the fit table of the vendor pages has it.
  struct Walk {
    std::vector<Card> chosen;
    std::vector<CardReason> reasons;  ///< by place in the order; kCount = it fits
    std::vector<Usage> seen;          ///< by place in the order
    Reject reject;
    bool complete = false;
  };
  struct WalkRule {
    bool all = false;   ///< do not stop at enough: collect every card that fits
    bool numa = false;  ///< drop what was chosen when the next card is of another NUMA node
  };
  /// What a vendor's hooks see of one demand.
  struct Looked {
    Walk walk;
    std::vector<std::uint32_t> fitting;  ///< its chosen cards, each once
  };
  enum class Hooked : std::uint8_t { kNoOpinion, kTaken, kRefused };

  void count_cards();
  void refuse(NodeReason reason, const Demand& demand, std::uint32_t devices);
  bool too_few_cards(const Demand& demand) const;
  bool choose_greedily();
  bool choose(std::uint32_t demand_index);
  bool choose_plainly(std::uint32_t demand_index);
  void take(std::uint32_t demand_index, const Card& card);

  // Cards, keys, sorting (fitter_survey.cc).
  bool admitted(const Demand& demand, Reject& reject) const;
  CardReason standing(const Demand& demand, std::uint32_t device);
  CardReason judge(const Demand& demand, const Usage& seen, std::span<const Ledger::Entry> taken,
                   Card& card);
  Card& fill(const Demand& demand, std::uint32_t device, Card& card) const;
  Card card_for(const Demand& demand, std::uint32_t device) const;
  Reject empty_reject(const Demand& demand) const;
  void survey(const Demand& demand, Survey& out);
  void count_instances(const Demand& demand, const Usage& seen, Card& card);
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

  // Walks: HAMi's mode, quotas, instances, links, hooks (fitter_walk.cc).
  bool needs_walk(const Demand& demand) const;
  bool linked() const;
  bool choose_by_walk(std::uint32_t demand_index);
  std::vector<std::uint32_t> order_for(const Demand& demand, Survey& listed);
  void walk(std::uint32_t demand_index, std::span<const std::uint32_t> order, WalkRule rule,
            Walk& out);
  void walk_card(std::uint32_t demand_index, std::uint32_t device, std::size_t place, WalkRule rule,
                 Ledger::Mark start, Walk& out);
  bool choose_in_order(std::uint32_t demand_index, const Survey& listed,
                       std::span<const std::uint32_t> order);
  bool choose_in_groups(std::uint32_t demand_index, const Survey& listed,
                        std::span<const std::uint32_t> order);
  bool take_from(std::uint32_t demand_index, const Walk& walk);
  bool take_all(std::uint32_t demand_index, std::span<const Card> cards);
  bool take_more(std::uint32_t demand_index, std::span<const Card> cards, Ledger::Mark start);
  Looked look(std::uint32_t demand_index, std::span<const std::uint32_t> order);
  ChoiceView view_of(const Demand& demand, std::span<const std::uint32_t> order,
                     const Looked& looked) const;
  Hooked choose_by_hook(std::uint32_t demand_index, std::span<const std::uint32_t> order,
                        const Looked& looked);
  void note_links(std::uint32_t demand_index, std::span<const Card> candidates);

  // The bounded search (fitter_search.cc).
  bool limits_later(const Demand& demand) const;
  bool search_helps(std::uint32_t failed);
  bool search(std::uint32_t demand_index);
  bool search_choice(std::uint32_t demand_index, bool& final);
  bool search_cards(std::uint32_t demand_index, const std::vector<Card>& cards, std::size_t from,
                    Ledger::Mark start);
  bool tried_equal(const std::vector<Card>& cards, std::size_t from, std::size_t at) const;

  // How good the node is (fitter_key.cc).
  void sum_loads();
  void sum_weighted_loads();
  NodeKey corrected_key();
  NodeKey hami_key();
  std::span<const Usage> used_by_others();
  std::vector<TopologyView::Pick> picks_of(VendorId vendor) const;

  const Cluster& cluster_;
  const Request& request_;
  DemandList list_;
  CardCheck check_;
  QuotaCheck quota_;
  HamiOrder hami_;
  Ledger ledger_;
  std::size_t key_count_;
  bool hami_mode_;
  bool has_hooks_ = false;
  const Node* node_ = nullptr;
  Survey scratch_;
  Reject reject_;
  double score_ = 0;
  std::vector<Ledger::OwnUse> own_;
  std::vector<Charge> own_charges_;
  NodeId own_node_;
  std::vector<std::uint32_t>
      vendor_cards_;  ///< by row of list_.vendors: cards on the node, 0 when not offered
  std::vector<NodeView::Vendor> view_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::uint32_t> profiles_;    ///< by ledger entry: which profile an instance has
  std::vector<std::int64_t> link_values_;  ///< by demand
  std::vector<Usage> others_;
  int steps_left_ = 0;
  bool has_partitioned_ = false;  ///< the node, known in the search only
};

}  // namespace tessera::core
