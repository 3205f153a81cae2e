/// The cluster of the end-to-end scenarios in a process of its own: nodes of eight cards with
/// agents that serve Allocate and free the node lock, on the embedded API server, which takes its
/// time for each call as a real one does. Thread rule: one owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api_calls.h"
#include "base/result.h"
#include "host_process.h"
#include "sim/synthetic.h"

namespace tessera::bench {

struct LiveClusterOptions {
  std::int64_t nodes = 1000;
  std::chrono::milliseconds allocate{20};
};

class LiveCluster {
 public:
  /// Returns once every node has registered its cards.
  static Result<std::unique_ptr<LiveCluster>> start(const LiveClusterOptions& options);

  const std::string& kubeconfig() const { return kubeconfig_; }
  std::uint16_t port() const { return port_; }  ///< of the API server
  const std::vector<std::string>& names() const { return names_; }
  const sim::SyntheticCluster& made() const { return made_; }  ///< what it was made as: no pods

  /// From now on, for every request over HTTP, whoever makes it.
  Status set_latency(std::chrono::milliseconds latency);
  /// Counted since the last call of it.
  Result<ApiCalls::Figures> api_calls();
  /// Waits until the agents have served so many pods in all; then nothing may have happened that
  /// the agents' protocol rules out.
  Status check_agents(std::uint64_t served);

 private:
  explicit LiveCluster(sim::SyntheticCluster made) : made_(std::move(made)) {}
  const sim::SyntheticCluster made_;
  std::unique_ptr<HostProcess> host_;
  std::string kubeconfig_;
  std::uint16_t port_ = 0;
  std::vector<std::string> names_;
};

}  // namespace tessera::bench
