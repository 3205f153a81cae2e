/// Decisions over the books, with what was found before kept per request class and node: names to
/// nodes, nodes to the best of them. Thread rule: owned by the state thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/candidates.h"
#include "core/place_index.h"
#include "service/books.h"

namespace tessera::service {

class Placer {
 public:
  Placer(const Books& books, const core::PlaceIndex::Options& options);

  /// The candidates of the questions that follow, until the next read.
  void read(std::span<const std::string_view> names);
  const std::vector<NodeId>& candidates() const { return candidates_.ids(); }

  core::PlaceIndex::Choice choose(const core::Request& request,
                                  const core::PlaceOptions& options = {});
  core::Outcome place(const core::Request& request, const core::PlaceOptions& options = {});

  core::PlaceIndex::Figures figures() const { return index_.figures(); }

 private:
  const Books& books_;
  core::PlaceIndex index_;
  core::CandidateReader reader_;
  core::CandidateSet candidates_;
  std::uint64_t remade_ = 0;  ///< the cluster that index and reader know
};

}  // namespace tessera::service
