/// The lines of a scenario that describe or change nodes. Each returns the node it spoke of, so
/// that the parser can make a step of it. Thread rule: pure functions on the scenario under
/// construction.
#pragma once

#include "base/result.h"
#include "sim/scenario.h"
#include "sim/scenario_line.h"

namespace tessera::sim {

class NodeLines {
 public:
  explicit NodeLines(Scenario& scenario) : scenario_(scenario) {}

  /// All nodes named so far, as they are now.
  ScenarioNode* find(std::string_view name);

  /// node NAME [MODEL xN] [property…]
  Result<ScenarioNode*> node(Line& line);
  /// also NODE MODEL xN [property…]: cards of another vendor
  Result<ScenarioNode*> also(Line& line);
  /// card NODE CARD… property…
  Result<ScenarioNode*> card(Line& line);
  /// cordon NODE CARD…
  Result<ScenarioNode*> cordon(Line& line);
  Result<ScenarioNode*> uncordon(Line& line);
  /// links NODE A-B=SCORE A>B=SCORE others=SCORE
  Result<ScenarioNode*> links(Line& line);
  /// change NODE offered | not-offered | registered | unregistered | label=K=V | @K=V
  Result<ScenarioNode*> change(Line& line);
  /// lost NODE, back NODE
  Result<ScenarioNode*> named(Line& line);

 private:
  struct Cards {
    core::Device pattern;
    std::string prefix;
    std::vector<std::int64_t> numa, group;
    std::int64_t count = 0;
  };
  Status card_word(Line& line, const std::string& word, const ScenarioNode& node, Cards& cards);
  static bool node_word(const std::string& word, ScenarioNode& node);
  static Status add_cards(const Line& line, ScenarioNode& node, const Cards& cards);
  Result<std::vector<std::string>> cards_of(Line& line, ScenarioNode& node) const;

  Scenario& scenario_;
  std::vector<ScenarioNode> nodes_;
};

}  // namespace tessera::sim
