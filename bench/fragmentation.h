/// How much of what is idle the usual pods could not use. Source: spec/placement-quality.md
/// sections 1 to 3. Thread rule: plain values; TargetWorkload is immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace.h"

namespace tessera::bench {

inline constexpr std::int64_t kWholeCard = 1000;

/// What counts of a node: CPU in thousandths, free share of each card in thousandths.
struct NodeState {
  std::string_view model;
  std::int64_t free_cpu = 0;
  std::vector<std::int64_t> free_cards;
  std::int64_t idle() const;
};

/// True when the list of models in the trace's form ("V100M16|V100M32", "" = any) has this one.
bool accepts_model(std::string_view models, std::string_view model);

/// The pods that are typical of a list: the most frequent classes that make up 95 % of it.
class TargetWorkload {
 public:
  struct Class {
    std::int64_t cpu = 0, cards = 0, share = 0;  ///< share: of each card
    std::string models;
    double popularity = 0;
  };
  explicit TargetWorkload(std::vector<Class> classes) : classes_(std::move(classes)) {}
  static TargetWorkload of(const std::vector<sim::TracePod>& list);

  /// F_n(M), in thousandths of a card.
  double fragment(const NodeState& node) const;
  const std::vector<Class>& classes() const { return classes_; }

 private:
  std::vector<Class> classes_;
};

}  // namespace tessera::bench
