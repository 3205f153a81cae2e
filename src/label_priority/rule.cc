#include "label_priority/rule.h"

#include <algorithm>

namespace tessera::label_priority {
namespace {

constexpr std::int64_t kFullScore = 10;

/// Kubernetes' own scale: `largest` becomes 10, the others keep their share of it, rounded down.
std::int64_t share_of(std::int64_t priority, std::int64_t largest) {
  if (priority == largest) return kFullScore;
  if (priority <= 0 || largest <= 0) return 0;
  // Too large to be multiplied by ten: four bits less of both change no share by a whole point.
  const int shift = largest > INT64_MAX / kFullScore ? 4 : 0;
  return ((priority >> shift) * kFullScore) / (largest >> shift);
}

/// Only there does the original leave out labels that are no numbers.
bool gets_points(const Candidate& candidate, const Rules& rules) {
  if (rules.compat) return candidate.label.state == LabelState::kNumber;
  return passes(candidate, rules);
}

bool better(const Candidate& a, const Candidate& b, const Rules& rules) {
  if (a.label.priority != b.label.priority) return a.label.priority > b.label.priority;
  return rules.compat || a.name < b.name;
}

}  // namespace

NodeLabel read_label(const std::string* value) {
  if (value == nullptr) return {};
  const auto priority = policies::read_label_priority(*value);
  if (!priority) return {LabelState::kInvalid, 0};
  return {LabelState::kNumber, *priority};
}

k8s::Keep keep_only(const std::string& label) {
  k8s::Keep keep;
  keep.annotation = [](std::string_view) { return false; };
  keep.resource = keep.annotation;
  keep.label = [label](std::string_view key) { return key == label; };
  return keep;
}

bool passes(const Candidate& candidate, const Rules& rules) {
  const LabelState state = candidate.label.state;
  return state == LabelState::kNumber || state == LabelState::kInvalid || !rules.label_required;
}

std::optional<std::size_t> best_of(std::span<const Candidate> candidates, const Rules& rules) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!passes(candidates[i], rules)) continue;
    if (!best || better(candidates[i], candidates[*best], rules)) best = i;
  }
  return best;
}

std::int64_t score_limit(std::int64_t weight) {
  return INT64_MAX / 1000 / std::max<std::int64_t>(weight, 1);
}

std::vector<Scored> scores_of(std::span<const Candidate> candidates, const Rules& rules) {
  std::vector<Scored> scored;
  std::int64_t largest = INT64_MIN;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!gets_points(candidates[i], rules)) continue;
    scored.push_back({i, candidates[i].label.priority});
    largest = std::max(largest, candidates[i].label.priority);
  }
  if (rules.compat) return scored;
  const std::int64_t limit = score_limit(rules.weight);
  for (Scored& s : scored) {
    s.score = rules.normalised ? share_of(s.score, largest) : std::clamp(s.score, -limit, limit);
  }
  return scored;
}

}  // namespace tessera::label_priority
