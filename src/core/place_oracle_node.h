/// Inside of place_oracle(): where one pod goes on one node. First container by container, as the
/// scheduler does it (place_oracle_node.cc); if that leaves one without cards, every set of cards
/// is tried (place_oracle_search.cc). Thread rule: plain object of one caller.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "core/place.h"
#include "core/place_oracle_cards.h"
#include "core/vendor_hooks.h"

namespace tessera::core::oracle {

/// One pass over cards in a given order.
struct Pass {
  std::vector<Chosen> picks;
  std::vector<CardReason> reasons;  // parallel to the order; kCount = fits
  std::vector<Usage> seen;
  Reject reject;
};

struct Group {
  std::int64_t links = 0;          // negated: smaller is better
  std::vector<std::int64_t> sums;  // of the options that would be taken
  Option first;
  std::vector<Option> options;
  std::vector<Chosen> picks;
  auto rank() const { return std::tie(links, sums, first); }
};

class NodeOracle {
 public:
  NodeOracle(const Cluster& cluster, const Request& request, NodeId id);

  /// False: `reject` tells why; otherwise `chosen` has a place for everything.
  bool run();
  /// What the place is worth, once run() has found it.
  NodeKey key() const;

  Reject reject;
  std::vector<Chosen> chosen;

 private:
  const NodeSpec& spec() const { return cards_.spec(); }
  bool linked() const { return request_.topology && !spec().links.empty(); }
  static Reject refusal(const Want& want, std::size_t devices);
  static std::vector<std::size_t> devices_of(const std::vector<Chosen>& list);
  static const Option& option_of(const std::vector<Option>& options, std::size_t device);
  static void add_keys(const Option& option, Group& group);

  bool shared_by_instances(const Want& want) const;
  std::int64_t preference(VendorId vendor) const;
  /// all: collect whoever fits, the quota of a set is looked at later; numa: start anew with every
  /// NUMA node.
  Pass pass(std::size_t at, const std::vector<Option>& order, bool all, bool numa) const;
  std::vector<Chosen> with(const std::vector<Chosen>& more) const;
  /// The cards taken one after the other; empty when one of them can't be had beside the others.
  std::vector<Chosen> deal(std::size_t at, const std::vector<std::size_t>& devices) const;
  CardReason gate(std::size_t at) const;

  bool choose(std::size_t at);
  bool choose_any(std::size_t at, const std::vector<Option>& order);
  bool choose_a_numa_node(std::size_t at, const std::vector<Option>& order);
  std::optional<bool> choose_by_hook(std::size_t at, const std::vector<Option>& order);
  /// Hands the hook what it wants to see.
  void hooked(std::size_t at, const std::vector<Option>& order,
              const std::function<void(const ChoiceView&)>& ask) const;
  void accept(std::size_t at, const std::vector<Chosen>& picks,
              const std::vector<std::size_t>& candidates);

  /// A pair is worth its links in both directions.
  std::int64_t link(std::size_t a, std::size_t b) const;
  std::int64_t worth(const std::vector<std::size_t>& set,
                     const std::vector<std::size_t>& candidates) const;
  /// Every set of the size is looked at; the first of the best ones, in order of the candidates.
  std::vector<std::size_t> best_set(const std::vector<std::size_t>& candidates,
                                    std::size_t count) const;

  /// The cards that fit, in groups of which one must serve all; best group first, best card first.
  std::vector<Group> groups(std::size_t at) const;
  bool search(std::size_t at);
  bool decides(std::size_t at) const;
  bool subsets(std::size_t at, const Group& group, std::size_t from, std::size_t mark);

  const Request& request_;
  Cards cards_;
  std::vector<Want> wants_;
  std::vector<std::int64_t> links_;  // how well the cards of each want are linked
  int tried_ = 0;
};

}  // namespace tessera::core::oracle
