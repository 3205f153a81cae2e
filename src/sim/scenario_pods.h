/// The lines of a scenario that describe pods and quotas. Thread rule: one parser, one object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario.h"
#include "sim/scenario_line.h"

namespace tessera::sim {

class PodLines {
 public:
  bool named(std::string_view pod) const;
  /// NAME followed by one container's resources, or { container ; container }; annotations
  /// anywhere.
  Result<ScenarioPod> pod(Line& line);
  /// Behind ->: NODE CARD… [; CARD…]; '-' = a container without cards, CARD:MEM:CORES and
  /// CARD@PROFILE:START say what is held.
  Status cards(Line& line, ScenarioNode& node, ScenarioPod& pod) const;
  static Status check_policy(const Line& line, bool of_nodes, const std::string& value);

 private:
  std::vector<std::string> names_;
};

/// quota NAME RESOURCE=AMOUNT… [scope=WORD] [class=PRIORITY-CLASS]
Result<ScenarioQuota> quota_words(Line& line);

}  // namespace tessera::sim
