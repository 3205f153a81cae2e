/// The order of devices and the score of nodes exactly as HAMi 2.10 has them, in its own number
/// formats. Source: spec/scheduler.md sections 10.3, 10.4, 10.6; decisions D1. Thread rule: one
/// object per decision; the request must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/demand.h"
#include "core/ledger.h"
#include "core/request.h"

namespace tessera::core {

/// Score of a card for one container; `word` of a request's vendor must equal the model's text for
/// the request to count.
float hami_device_score(const Device& device, const Usage& used, const Position& container,
                        const VendorTable& rules, const ScoreWeights& weights);
/// Score of a node as it is, over all devices that are offered.
float hami_node_score(const NodeSpec& node, std::span<const Usage> used);
/// A number that compares as the score does.
std::int64_t ordered(float score);
/// The score of that number.
float score_of_order(std::int64_t order);

class HamiOrder {
 public:
  HamiOrder(const Request& request, const DemandList& list, const VendorTable& rules);

  /// A new node: its devices in register order.
  void open(const NodeSpec& node);
  /// Sorts for one demand; the order is the start for the next one. Init containers start anew, as
  /// each of them sees the node by itself. Returns the vendor's cards, the one tried first in
  /// front.
  std::vector<std::uint32_t> scan(const Demand& demand, const Ledger& ledger);

 private:
  enum class Key : std::uint8_t {
    kScoreUp,
    kScoreDown,
    kNumaUp,
    kNumaDown,
    kSharersUp,
    kIndexDown
  };
  void read_policy(const std::string& text);
  void read_chain(const std::string& text);
  void start_container(const Demand& demand, const Ledger& ledger);
  void register_order();
  /// True when a is tried after b by this key; `decided` tells whether the key decides.
  bool later(Key key, std::uint32_t a, std::uint32_t b, bool& decided) const;

  const Request& request_;
  const DemandList& list_;
  const VendorTable& rules_;
  bool numa_bind_ = false;
  std::vector<Key> keys_;  ///< order of preference
  const NodeSpec* node_ = nullptr;
  std::vector<std::uint32_t> order_;  ///< all devices, the one tried first at the end
  std::vector<float> scores_;         ///< parallel to node devices
  std::vector<std::int64_t> sharers_;
  std::uint32_t position_ = UINT32_MAX;
};

}  // namespace tessera::core
