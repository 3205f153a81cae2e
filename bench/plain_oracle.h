/// What the right answer is: the same objects, read by the readers of the server, decided by the
/// plain loops that are the oracle of the core's tests. Thread rule: one owner.
///   auto oracle = PlainOracle::make(cluster); oracle->decide(pod_json, {})->node
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/cluster.h"
#include "service/facts.h"
#include "sim/synthetic.h"

namespace tessera::bench {

class PlainOracle {
 public:
  struct Verdict {
    std::int64_t node = -1;            ///< -1: nowhere
    std::vector<std::string> reasons;  ///< by node; "" where the pod fits
    std::int64_t fitting = 0;
  };
  /// With all nodes and device pods of the cluster.
  static Result<PlainOracle> make(const sim::SyntheticCluster& cluster);
  /// `left_out`: nodes that are not asked; their reason is "not asked".
  Result<Verdict> decide(const std::string& pod_json, std::vector<bool> left_out = {}) const;
  const core::Cluster& cluster() const { return cluster_; }

 private:
  PlainOracle(service::FactReader reader, core::Cluster cluster)
      : reader_(std::move(reader)), cluster_(std::move(cluster)) {}
  Status read(const sim::SyntheticCluster& cluster);

  service::FactReader reader_;
  core::Cluster cluster_;
  std::vector<NodeId> nodes_;
};

}  // namespace tessera::bench
