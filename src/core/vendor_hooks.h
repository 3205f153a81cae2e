/// What a vendor's rules say beyond the shared checks of fit: a gate for the node, one more check
/// of a card, the choice of a set of cards that belong together, and a preference for nodes by
/// their links. Implemented in vendors/, one object per vendor row. Source: spec/devices/*.md,
/// decisions D1, D3. Thread rule: stateless, shared freely.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cluster.h"
#include "core/demand.h"
#include "core/reject.h"

namespace tessera::core {

/// One container's demand on one node, after every card of the vendor was looked at.
struct ChoiceView {
  const NodeSpec& node;
  const Demand& demand;
  const AskedVendor& vendor;
  ScoreMode mode = ScoreMode::kCorrected;
  bool mutex = false;
  /// All cards of the vendor (indices into node.devices): best first by the policies; in HAMi's
  /// mode in its scan order.
  std::span<const std::uint32_t> listed;
  std::span<const CardReason> reasons;     ///< parallel to listed; kCount = the card fits
  std::span<const Usage> seen;             ///< parallel to listed: what the container finds in use
  std::span<const std::uint32_t> fitting;  ///< those of listed that fit, same order
  std::size_t count() const { return static_cast<std::size_t>(demand.count); }
};

/// A pod placed on a node.
struct TopologyView {
  struct Pick {
    std::uint32_t position = 0;
    std::uint32_t device = 0;  ///< index into node.devices
  };
  const NodeSpec& node;
  VendorId vendor;
  std::span<const Usage> before;  ///< parallel to node.devices, without the pod
  std::span<const Pick> picks;    ///< of this vendor, by position
};

class VendorHooks {
 public:
  virtual ~VendorHooks() = default;

  /// Why the whole node is no place for this pod; counted as one card. kCount = it may be.
  virtual CardReason admit_node(const NodeSpec& node, const AskedVendor& vendor) const;
  /// After the shared checks have passed.
  virtual CardReason admit_card(const Device& card, const Usage& seen, const Demand& demand,
                                const AskedVendor& vendor) const;
  /// True: choose() decides which of the fitting cards are taken together.
  virtual bool chooses(const ChoiceView& view) const;
  /// Distinct members of view.fitting, exactly view.count() of them, in the order in which they are
  /// written; nullopt = no set suits.
  virtual std::optional<std::vector<std::uint32_t>> choose(const ChoiceView& view) const;
  /// The counts of a refusal in the vendor's own way. `reject` comes with the shared counts.
  virtual void explain(const ChoiceView& view, Reject& reject) const;

  /// Larger is better under every policy and compares before load (D3). 0 = no preference.
  virtual std::int64_t topology_score(const TopologyView& view) const;
  /// The same as HAMi adds it to its node score.
  virtual float hami_score(const TopologyView& view) const;
};

}  // namespace tessera::core
