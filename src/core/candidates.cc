#include "core/candidates.h"

namespace tessera::core {

void CandidateSet::open(const Cluster& cluster) {
  ranks_ = cluster.ranks();
  ids_.clear();
  words_.assign((ranks_.size() + 63) / 64, 0);
  repeated_ = false;
}

void CandidateReader::forget() {
  text_.clear();
  begins_.assign(1, 0);
  next_.clear();
  first_ = 0;
}

/// Ids are given in order and never again to another name.
void CandidateReader::learn(const Cluster& cluster) {
  for (auto id = static_cast<std::uint32_t>(next_.size()); id < cluster.node_count(); ++id) {
    text_ += cluster.node(NodeId{id}).spec.name;
    begins_.push_back(static_cast<std::uint32_t>(text_.size()));
    next_.push_back(id + 1);
  }
}

void CandidateReader::read(const Cluster& cluster, std::span<const std::string_view> names,
                           CandidateSet& out) {
  learn(cluster);
  out.open(cluster);
  std::uint32_t* expected = &first_;
  for (const std::string_view wanted : names) {
    std::uint32_t id = *expected;
    if (id >= next_.size() || name(id) != wanted) {
      const NodeId found = cluster.find_node(wanted);
      out.add(found);
      if (!found.valid()) continue;
      id = found.v;
      *expected = id;
    } else {
      out.add(NodeId{id});
    }
    expected = &next_[id];
  }
}

}  // namespace tessera::core
