/// What came out for one pod, and how it compares with the expectation of the file. Thread rule:
/// plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario.h"

namespace tessera::sim {

struct Verdict {
  std::string node;                ///< empty: nowhere
  std::vector<std::string> cards;  ///< in order of the device text
  std::string device_text;
  std::vector<std::pair<std::string, std::string>>
      reasons;  ///< node -> text, of nodes that do not fit
};

/// "" = as expected, else one sentence that begins with FILE:LINE. `expectation` is kExpectOn or
/// kExpectNowhere.
std::string compare(const Scenario& scenario, const ScenarioStep& expectation,
                    const Verdict& verdict);

}  // namespace tessera::sim
