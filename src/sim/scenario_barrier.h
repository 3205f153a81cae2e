/// Waits until the server has seen everything written so far: an own node, an own running pod on it
/// and an own quota come last, and pods that cannot be placed tell from their answers when all
/// three are known. Thread rule: blocks.
#pragma once

#include <string>

#include "sim/scenario.h"
#include "sim/scenario_live.h"

namespace tessera::sim {

class Barrier {
 public:
  Barrier(LiveCluster& cluster, const Scenario& scenario)
      : cluster_(cluster), scenario_(scenario) {}
  Status wait();

 private:
  Status write(const std::string& name);
  /// What the server has not seen yet; "" = nothing.
  Result<std::string> missing(const std::string& name);

  LiveCluster& cluster_;
  const Scenario& scenario_;
  int serial_ = 0;
};

}  // namespace tessera::sim
