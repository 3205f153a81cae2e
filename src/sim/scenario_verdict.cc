#include "sim/scenario_verdict.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/agents_mig.h"
#include "vendors/codec.h"

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

std::string annotation(const Verdict& verdict, const std::string& key) {
  for (const auto& [name, value] : verdict.annotations)
    if (name == key) return value;
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
  if (!expectation.instances.empty() && expectation.instances != verdict.instances) {
    return fmt::format("has instances {}, wanted {}", text::join(verdict.instances, ","),
                       text::join(expectation.instances, ","));
  }
  for (const auto& [key, want] : expectation.annotations) {
    const std::string got = annotation(verdict, key);
    if (got != want)
      return fmt::format("annotation {} is {}, wanted {}", key, text::quote(got),
                         text::quote(want));
  }
  if (!expectation.device_text.empty() && expectation.device_text != verdict.device_text) {
    return fmt::format("device text is {}, wanted {}", verdict.device_text,
                       expectation.device_text);
  }
  return {};
}

}  // namespace

Status read_annotations(const Scenario& scenario, Verdict& verdict) {
  for (const AgentVendor& vendor : scenario.vendors) {
    const std::string text = annotation(verdict, vendor.allocated_key);
    if (text.empty()) continue;
    if (verdict.device_text.empty()) verdict.device_text = text;
    const auto positions = vendors::decode_pod_devices(text);
    if (!positions) return tl::unexpected(positions.error());
    for (const auto& position : *positions)
      for (const vendors::DeviceText& device : position) verdict.cards.push_back(device.id);
  }
  const auto records = read_mig_records(annotation(verdict, scenario.vendors[0].mig_key));
  if (!records) return tl::unexpected(records.error());
  for (const MigRecord& record : *records)
    verdict.instances.push_back(fmt::format("{}@{}", record.profile, record.placement.start));
  return {};
}

std::string compare(const Scenario& scenario, const ScenarioStep& expectation,
                    const Verdict& verdict) {
  const std::string wrong = difference(expectation, verdict);
  if (wrong.empty()) return {};
  return fmt::format("{}:{}: pod {} {}", scenario.file, expectation.line, expectation.name, wrong);
}

}  // namespace tessera::sim
