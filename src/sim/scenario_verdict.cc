#include "sim/scenario_verdict.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tessera::sim {
namespace {

std::string reasons_text(const Verdict& verdict) {
  std::vector<std::string> pieces;
  for (const auto& [node, text] : verdict.reasons)
    pieces.push_back(fmt::format("{}: {}", node, text));
  return text::join(pieces, " | ");
}

std::string place_text(const Verdict& verdict) {
  return fmt::format("{} {}", verdict.node, text::join(verdict.cards, " "));
}

std::string missing_reason(const ScenarioStep& expectation, const Verdict& verdict) {
  for (const auto& [node, want] : expectation.reasons) {
    const std::string* got = nullptr;
    for (const auto& [name, text] : verdict.reasons)
      if (name == node) got = &text;
    if (got == nullptr) return fmt::format("no reason for {}, wanted {}", node, text::quote(want));
    if (*got != want) {
      return fmt::format("reason for {} is {}, wanted {}", node, text::quote(*got),
                         text::quote(want));
    }
  }
  return {};
}

std::string difference(const ScenarioStep& expectation, const Verdict& verdict) {
  if (expectation.kind == ScenarioStep::Kind::kExpectNowhere) {
    if (!verdict.node.empty())
      return fmt::format("placed on {}, wanted nowhere", place_text(verdict));
    return missing_reason(expectation, verdict);
  }
  if (verdict.node.empty()) {
    return fmt::format("placed nowhere ({}), wanted {}", reasons_text(verdict), expectation.node);
  }
  const bool cards_differ = !expectation.cards.empty() && expectation.cards != verdict.cards;
  if (verdict.node != expectation.node || cards_differ) {
    return fmt::format("placed on {}, wanted {} {}", place_text(verdict), expectation.node,
                       text::join(expectation.cards, " "));
  }
  if (!expectation.device_text.empty() && expectation.device_text != verdict.device_text) {
    return fmt::format("device text is {}, wanted {}", verdict.device_text,
                       expectation.device_text);
  }
  return {};
}

}  // namespace

std::string compare(const Scenario& scenario, const ScenarioStep& expectation,
                    const Verdict& verdict) {
  const std::string wrong = difference(expectation, verdict);
  if (wrong.empty()) return {};
  return fmt::format("{}:{}: pod {} {}", scenario.file, expectation.line, expectation.name, wrong);
}

}  // namespace tessera::sim
