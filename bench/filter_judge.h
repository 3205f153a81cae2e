/// Whether a filter answer is right: by the plain oracle over the cluster as it is without the pods
/// that ask, and by the call itself. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "filter_stage.h"
#include "plain_oracle.h"

namespace tessera::bench {

class FilterJudge {
 public:
  /// `sample`: the pods that ask are all of this class; without one each is of its own, and then
  /// fits where the first kind of cards has room for its share.
  static Result<FilterJudge> make(const FilterStage& stage,
                                  const std::optional<sim::ScenarioPod>& sample);

  /// Every answer: one node that was named in the call and has room in the books, or none if none
  /// of them has, with a reason for each.
  Status look(const FilterStage::Call& call, const FilterVerdict& verdict,
              const sim::SyntheticShare& share) const;
  /// Every answer of an extender that names all nodes that fit: each of them has room, and if it is
  /// `complete` no other one has.
  Status look_all(const FilterStage::Call& call, const FilterVerdict& verdict,
                  const sim::SyntheticShare& share, bool complete) const;
  /// An answer to a call before which everything had settled: the oracle's own node and its words.
  /// "" = it is.
  Result<std::string> difference(const FilterStage::Call& call, const FilterVerdict& verdict) const;
  /// What the device pods hold of a node, in per mille of its memory: equal loads, equal scores, as
  /// far as one can tell from outside.
  std::int64_t load_of(std::int64_t node) const;

 private:
  FilterJudge(const FilterStage& stage, PlainOracle oracle)
      : stage_(&stage), oracle_(std::move(oracle)) {}
  bool fits(std::int64_t node, const sim::SyntheticShare& share) const;

  const FilterStage* stage_;
  PlainOracle oracle_;
  std::optional<PlainOracle::Verdict> by_node_;
};

/// Binds a pod that was filtered, reads what was written on it, and looks whether these cards are
/// the node's and none is over its limits; then the node's agent has served it.
Status check_bound(FilterStage& stage, LoadClient& client, const FilterStage::Call& call,
                   std::int64_t node, const sim::SyntheticShare& share);

}  // namespace tessera::bench
