/// The nodes that one call names, as a set that a kept index can be intersected with, and the way
/// from names to it. kube-scheduler names its nodes in nearly the same order every time: the
/// successor of the last name is guessed, compared, and looked up only when the guess was wrong.
/// Source: design/performance.md section 3. Thread rule: owned by the thread that owns the cluster.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.h"

namespace tessera::core {

class CandidateSet {
 public:
  /// Empty, in the cluster's present order of ranks.
  void open(const Cluster& cluster);
  /// Invalid: a node nobody knows.
  void add(NodeId id) {
    ids_.push_back(id);
    if (!id.valid() || id.v >= ranks_.size()) return;
    const std::uint32_t rank = ranks_[id.v];
    std::uint64_t& word = words_[rank / 64];
    const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
    repeated_ = repeated_ || (word & bit) != 0;
    word |= bit;
  }

  const std::vector<NodeId>& ids() const { return ids_; }          ///< as they were added
  std::span<const std::uint64_t> words() const { return words_; }  ///< a bit per rank
  bool repeated() const { return repeated_; }                      ///< some node was named twice

 private:
  std::span<const std::uint32_t> ranks_;
  std::vector<NodeId> ids_;
  std::vector<std::uint64_t> words_;
  bool repeated_ = false;
};

class CandidateReader {
 public:
  /// Ids mean another node now: the cluster was replaced.
  void forget();
  void read(const Cluster& cluster, std::span<const std::string_view> names, CandidateSet& out);

 private:
  void learn(const Cluster& cluster);
  std::string_view name(std::uint32_t id) const {
    return std::string_view(text_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }

  std::string text_;                      ///< all names one after the other, by id
  std::vector<std::uint32_t> begins_{0};  ///< where each name begins, and the end
  std::vector<std::uint32_t> next_;       ///< by id: who followed last time
  std::uint32_t first_ = 0;
};

}  // namespace tessera::core
