/// Cards of a scenario: what node and card lines say of them. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario.h"
#include "sim/scenario_line.h"

namespace tessera::sim {

/// A card as a node line without properties describes it.
core::Device plain_card();

/// False: not a property of cards.
Result<bool> set_card_property(const Line& line, std::string_view word, core::Device& device);

/// Profiles of a card that is shared by instances: "A100-80GB", "A30"; null when unknown.
std::shared_ptr<const core::MigProfiles> known_profiles(std::string_view name);

/// Place of the vendor in the scenario's list, added when it is known by this word and not there
/// yet: "NVIDIA", "kunlun", "XPU", "Ascend…".
Result<std::uint16_t> vendor_index(const Line& line, const std::string& word, Scenario& scenario);

/// By id, or as cardN.
core::Device* find_card(ScenarioNode& node, std::string_view word);

}  // namespace tessera::sim
