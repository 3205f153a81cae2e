/// The witness of the kept index in the property tests: requests that come back again and again
/// while the cluster changes; every answer must be that of the plain decision, for 1, 2 and 4
/// threads, with few classes kept and with many. Not used by production code.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidates.h"
#include "core/place_index.h"
#include "core/place_property_world.h"

namespace tessera::core::testing {

/// The same nodes refused, in the same words, for the same reasons.
inline void check_refusals(const Outcome& mine, const Outcome& plain) {
  RC_ASSERT(mine.rejected.size() == plain.rejected.size());
  for (std::size_t i = 0; i < mine.rejected.size(); ++i) {
    const Reject& a = mine.rejected[i].reject;
    const Reject& b = plain.rejected[i].reject;
    RC_ASSERT(mine.rejected[i].candidate == plain.rejected[i].candidate);
    RC_ASSERT(a.text() == b.text());
    RC_ASSERT(a.devices == b.devices);
    RC_ASSERT(a.asked == b.asked);
    RC_ASSERT(a.position == b.position);
    RC_ASSERT(a.unresolvable() == b.unresolvable());
  }
}

class IndexWitness {
 public:
  void forget() {
    for (PlaceIndex* index : all()) index->forget();
    reader_.forget();
  }

  /// One question that was asked before and one new.
  void check(const Cluster& cluster, Dice& dice) {
    Request fresh = random_request(dice);
    if (requests_.size() < 6) requests_.push_back(fresh);
    Request known = requests_[dice.below(static_cast<std::uint32_t>(requests_.size()))];
    known.uid = fresh.uid;  // somebody else who asks for the same
    known.subject = fresh.subject;
    check_one(cluster, known, dice);
    check_one(cluster, fresh, dice);
  }

  PlaceIndex::Figures figures() const { return narrow_.figures(); }

 private:
  std::array<PlaceIndex*, 3> all() { return {&narrow_, &two_, &four_}; }

  void check_one(const Cluster& cluster, const Request& request, Dice& dice) {
    const std::vector<std::string> names = random_names(dice);
    const std::vector<std::string_view> views(names.begin(), names.end());
    reader_.read(cluster, views, candidates_);
    std::vector<NodeId> ids;
    for (const std::string& name : names) ids.push_back(cluster.find_node(name));
    RC_ASSERT(candidates_.ids() == ids);
    const PlaceOptions options{.prefer_unlocked = !dice.one_in(3), .keep_keys = true};
    const Outcome plain = place(cluster, request, ids, options);
    for (PlaceIndex* index : all()) {
      const bool twice = dice.one_in(3);
      if (!twice)
        check_choice(index->choose(cluster, request, candidates_, options), plain, request);
      check_outcome(index->place(cluster, request, candidates_, options), plain);
      if (twice)
        check_choice(index->choose(cluster, request, candidates_, options), plain, request);
    }
  }

  /// In nearly the same order every time, some missing, some unknown, rarely one twice.
  static std::vector<std::string> random_names(Dice& dice) {
    std::vector<std::string> names;
    const std::uint32_t start = dice.below(kNodes);
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      if (!dice.one_in(5)) names.push_back(node_name((start + n) % kNodes));
    }
    if (dice.one_in(6)) names.emplace_back("nobody knows it");
    if (dice.one_in(12) && !names.empty()) names.push_back(names.front());
    return names;
  }

  static void check_choice(const PlaceIndex::Choice& mine, const Outcome& plain,
                           const Request& request) {
    RC_ASSERT(mine.fitting == plain.fitting.size());
    RC_ASSERT(mine.rejected == plain.rejected.size());
    check_decision(mine.decision, plain.decision);
    if (!plain.decision) return;
    const auto some = mine.some_fitting();
    RC_ASSERT(some.size() == std::min(plain.fitting.size(), PlaceIndex::Choice::kNamed));
    RC_ASSERT(std::equal(some.begin(), some.end(), plain.fitting.begin()));
    for (std::size_t i = 0; i < some.size(); ++i)
      RC_ASSERT(mine.scores[i] == score_of(plain.keys[i], request));
    RC_ASSERT(plain.decision->score == score_of(plain.decision->key, request));
  }

  static void check_outcome(const Outcome& mine, const Outcome& plain) {
    RC_ASSERT(mine.fitting == plain.fitting);
    RC_ASSERT(mine.keys == plain.keys);
    check_refusals(mine, plain);
    check_decision(mine.decision, plain.decision);
  }

  static void check_decision(const std::optional<Decision>& mine,
                             const std::optional<Decision>& plain) {
    RC_ASSERT(mine.has_value() == plain.has_value());
    if (!plain) return;
    RC_ASSERT(mine->node == plain->node);
    RC_ASSERT(mine->key == plain->key);
    RC_ASSERT(mine->score == plain->score);
    RC_ASSERT(mine->allocation == plain->allocation);
  }

  PlaceIndex narrow_{{.classes = 3, .threads = 1}};
  PlaceIndex two_{{.threads = 2, .nodes_per_thread = 1}};
  PlaceIndex four_{{.idle_asks = 40, .threads = 4, .nodes_per_thread = 1}};
  CandidateReader reader_;
  CandidateSet candidates_;
  std::vector<Request> requests_;
};

}  // namespace tessera::core::testing
