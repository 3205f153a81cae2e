/// What a label says about the nodes of one call: who passes, who is best, who gets how many
/// points. Source: spec/label-priority-extender.md sections 3 to 5, 9; decision D14. Thread rule:
/// pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "k8s/objects.h"
#include "policies/label_priority.h"

namespace tessera::label_priority {

struct Rules {
  std::string label{policies::kPriorityLabel};
  bool label_required = true;  ///< false: a node without the label passes, with 0
  bool normalised = false;     ///< scores: the largest of the candidates becomes 10
  std::int64_t weight = 1;     ///< of this extender in kube-scheduler's configuration
  bool compat = false;         ///< answer as the original extender does
};

enum class LabelState : std::uint8_t { kMissing, kNumber, kInvalid, kUnknownNode };

struct NodeLabel {
  LabelState state = LabelState::kMissing;
  std::int64_t priority = 0;  ///< kNumber; 0 otherwise
  friend bool operator==(const NodeLabel&, const NodeLabel&) = default;
};
/// nullptr = the node has no such label.
NodeLabel read_label(const std::string* value);

/// What decoders keep of a node: this label.
k8s::Keep keep_only(const std::string& label);

struct Candidate {
  std::string_view name;
  NodeLabel label;
};

/// Whether the node may take pods at all.
bool passes(const Candidate& candidate, const Rules& rules);

/// The place of the best among the nodes that pass: largest number, then lowest name; where the
/// original answers, the last of the equal ones. nullopt = none passes.
std::optional<std::size_t> best_of(std::span<const Candidate> candidates, const Rules& rules);

struct Scored {
  std::size_t candidate = 0;
  std::int64_t score = 0;
};
/// In the order of the candidates. Who does not pass is left out: kube-scheduler counts that as 0.
std::vector<Scored> scores_of(std::span<const Candidate> candidates, const Rules& rules);

/// The largest raw score, either sign: times 10 times the weight it stays far inside int64.
std::int64_t score_limit(std::int64_t weight);

}  // namespace tessera::label_priority
