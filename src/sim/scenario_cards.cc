#include "sim/scenario_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace tessera::sim {
namespace {

constexpr std::int64_t kDefaultSlots = 10;
constexpr std::int64_t kMostInstances = 7;

std::vector<core::MigPlacement> places(std::initializer_list<std::uint32_t> starts,
                                       std::uint32_t size) {
  std::vector<core::MigPlacement> out;
  for (const std::uint32_t start : starts) out.push_back({start, size});
  return out;
}

core::MigProfile profile(std::string name, std::int64_t memory, std::int64_t cores,
                         std::int64_t slices, std::vector<core::MigPlacement> placements) {
  return {.name = std::move(name),
          .memory = {memory},
          .cores = {cores},
          .slices = slices,
          .placements = std::move(placements)};
}

core::MigProfiles a100_80gb() {
  return {profile("1g.10gb", 9728, 14, 1, places({0, 1, 2, 3, 4, 5, 6}, 1)),
          profile("2g.20gb", 19968, 28, 2, places({0, 2, 4}, 2)),
          profile("3g.40gb", 40192, 42, 3, places({0, 4}, 4)),
          profile("7g.79gb", 80896, 100, 7, places({0}, 8))};
}

core::MigProfiles a30() {
  return {profile("1g.6gb", 5952, 25, 1, places({0, 1, 2, 3}, 1)),
          profile("2g.12gb", 12032, 50, 2, places({0, 2}, 2)),
          profile("4g.24gb", 24096, 100, 4, places({0}, 4))};
}

Result<bool> set_profiles(const Line& line, const KeyValue& kv, core::Device& device) {
  device.mig = known_profiles(kv.value);
  if (device.mig == nullptr) return line.wrong("mig wants A100-80GB or A30, got", kv.value);
  device.mode = "mig";
  device.slots = kMostInstances;
  return true;
}

}  // namespace

std::shared_ptr<const core::MigProfiles> known_profiles(std::string_view name) {
  if (name == "A100-80GB") return std::make_shared<core::MigProfiles>(a100_80gb());
  if (name == "A30") return std::make_shared<core::MigProfiles>(a30());
  return nullptr;
}

core::Device plain_card() {
  core::Device card;
  card.slots = kDefaultSlots;
  card.memory = {16384};
  card.cores = {100};
  card.mode = "hami-core";
  card.healthy = true;
  card.vendor = {0};
  return card;
}

Result<bool> set_card_property(const Line& line, std::string_view word, core::Device& device) {
  if (word == "unhealthy" || word == "healthy") {
    device.healthy = word == "healthy";
    return true;
  }
  const std::optional<KeyValue> kv = key_value(word);
  if (!kv) return false;
  if (kv->key == "model" || kv->key == "mode") {
    (kv->key == "model" ? device.model : device.mode) = kv->value;
    return true;
  }
  if (kv->key == "mig") return set_profiles(line, *kv, device);
  constexpr std::array<std::string_view, 5> kNumeric{"mem", "cores", "count", "numa", "group"};
  if (std::find(kNumeric.begin(), kNumeric.end(), kv->key) == kNumeric.end()) return false;
  const Result<std::int64_t> value = whole(line, *kv);
  if (!value) return tl::unexpected(value.error());
  if (kv->key == "mem") device.memory = {*value};
  if (kv->key == "cores") device.cores = {*value};
  if (kv->key == "count") device.slots = *value;
  if (kv->key == "numa") device.numa = *value;
  if (kv->key == "group") device.group = *value;
  return true;
}

Result<std::uint16_t> vendor_index(const Line& line, const std::string& word, Scenario& scenario) {
  auto& vendors = scenario.vendors;
  const auto found = std::find_if(vendors.begin(), vendors.end(),
                                  [&](const AgentVendor& v) { return v.word == word; });
  if (found == vendors.end()) {
    if (word == "kunlun") {
      vendors.push_back(kunlun_agent());
    } else if (word == "XPU") {
      vendors.push_back(xpu_agent());
    } else if (word.starts_with("Ascend")) {
      vendors.push_back(ascend_agent(word));
    } else {
      return line.wrong("vendor wants NVIDIA, kunlun, XPU or a chip name Ascend…, got", word);
    }
    return static_cast<std::uint16_t>(vendors.size() - 1);
  }
  return static_cast<std::uint16_t>(found - vendors.begin());
}

core::Device* find_card(ScenarioNode& node, std::string_view word) {
  for (core::Device& device : node.devices) {
    if (device.id == word || fmt::format("card{}", device.index) == word) return &device;
  }
  return nullptr;
}

}  // namespace tessera::sim
