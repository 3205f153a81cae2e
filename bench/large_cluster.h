/// The cluster of the scenarios about start-up and memory: objects of real size on the embedded API
/// server, in a process of its own. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "host_process.h"
#include "sim/synthetic.h"

namespace tessera::bench {

struct LargeClusterOptions {
  std::int64_t nodes = 5000, device_pods = 20'000, plain_pods = 130'000;
  std::int64_t namespaces = 40, quotas = 8;
};

class LargeCluster {
 public:
  /// Returns once every object is there.
  static Result<std::unique_ptr<LargeCluster>> start(const LargeClusterOptions& options);

  const std::string& kubeconfig() const { return kubeconfig_; }
  const sim::SyntheticCluster& made() const { return made_; }

  /// So many changes, one after the other, as fast as the API server makes them: pods with and
  /// without devices come, change and go, nodes report. How many pods there are and what each
  /// node's pods hold is the same afterwards.
  Status churn(std::int64_t events);
  /// How often the watches of the server under test were begun: more than one of each resource
  /// means that it did not keep up.
  Result<std::int64_t> watches();

 private:
  explicit LargeCluster(sim::SyntheticCluster made) : made_(std::move(made)) {}

  const sim::SyntheticCluster made_;
  std::unique_ptr<HostProcess> host_;
  std::string kubeconfig_;
};

}  // namespace tessera::bench
