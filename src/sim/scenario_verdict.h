/// What came out for one pod, and how it compares with the expectation of the file. Thread rule:
/// plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario.h"

namespace tessera::sim {

struct Verdict {
  std::string node;                    ///< empty: nowhere
  std::vector<std::string> cards;      ///< in order of the device texts
  std::string device_text;             ///< of the first vendor that has one
  std::vector<std::string> instances;  ///< "1g.10gb@6"
  std::vector<std::pair<std::string, std::string>> annotations;  ///< of the bound pod
  std::vector<std::pair<std::string, std::string>>
      reasons;  ///< node -> text, of nodes that do not fit
};

/// Fills cards, device text and instances from the annotations.
Status read_annotations(const Scenario& scenario, Verdict& verdict);

/// "" = as expected, else one sentence that begins with FILE:LINE. `expectation` is kExpectOn or
/// kExpectNowhere.
std::string compare(const Scenario& scenario, const ScenarioStep& expectation,
                    const Verdict& verdict);

}  // namespace tessera::sim
