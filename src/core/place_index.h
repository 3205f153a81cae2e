/// place() with a memory: what was found about a node is kept until the node changes, per class of
/// requests that ask for the same. The answer is that of place() to the letter; whatever the kept
/// rows cannot tell (a quota that may bind, a pod that holds something already, a node named twice)
/// is decided plainly. Source: design/performance.md section 4, decisions D17, D18.
///   PlaceIndex index({}); index.choose(cluster, request, candidates);
/// Thread rule: owned by the thread that owns the cluster; it may start helpers within a call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/candidates.h"
#include "core/cluster.h"
#include "core/place.h"
#include "core/request.h"

namespace tessera::core {

class PlaceIndex {
 public:
  struct Options {
    std::size_t classes = 256;           ///< kept; the one not asked for longest goes first
    std::size_t memory = 24U << 20U;     ///< for what is kept of all classes, in bytes, about
    std::uint64_t idle_asks = 20'000;    ///< a class not asked for within so many questions goes
    unsigned threads = 1;                ///< for many nodes that must be looked at again
    std::size_t nodes_per_thread = 512;  ///< fewer than two times this: one thread
  };
  explicit PlaceIndex(Options options);
  ~PlaceIndex();

  /// What a scheduler needs of place().
  struct Choice {
    static constexpr std::size_t kNamed = 5;
    std::optional<Decision> decision;
    std::size_t fitting = 0, rejected = 0;
    /// The first of them, as places in the order given; with a decision only.
    std::array<std::uint32_t, kNamed> named{};
    std::array<double, kNamed> scores{};  ///< of those, for people, as in Decision
    std::size_t named_count = 0;
    std::span<const std::uint32_t> some_fitting() const {
      return std::span(named).first(named_count);
    }
  };
  Choice choose(const Cluster& cluster, const Request& request, const CandidateSet& candidates,
                const PlaceOptions& options = {});
  /// All of it.
  Outcome place(const Cluster& cluster, const Request& request, const CandidateSet& candidates,
                const PlaceOptions& options = {});

  /// The cluster was replaced, or the vendor table.
  void forget();

  struct Figures {
    std::size_t classes = 0;
    std::uint64_t asked = 0, plain = 0;  ///< questions, and those decided plainly
    std::uint64_t rows_made = 0;         ///< verdicts worked out
    std::uint64_t fitted = 0;            ///< nodes for which the fitter was needed
    std::uint64_t classes_made = 0;
  };
  Figures figures() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::core
