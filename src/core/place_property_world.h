/// What the property tests of the core throw at it: random cards, nodes, requests, allocations and
/// quotas of a small cluster. All choices of a step come from one number, so that a history shrinks
/// by leaving steps out. Not used by production code.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

#include "core/core_test_builders.h"
#include "core/vendor_hooks.h"

namespace tessera::core::testing {

inline constexpr std::uint32_t kNodes = 4, kCards = 4, kPods = 9;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  std::int64_t of(std::initializer_list<std::int64_t> list) {
    return list.begin()[below(static_cast<std::uint32_t>(list.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

inline std::string node_name(std::uint32_t n) { return "n" + std::to_string(n); }
inline PodUid pod_uid(std::uint32_t n) { return {"p" + std::to_string(n)}; }

class FewestSharers final : public DevicePolicy {
 public:
  std::string_view name() const override { return "fewest sharers"; }
  std::int64_t key(const DeviceView& view) const override { return -view.before.slots; }
};
class HighestNuma final : public DevicePolicy {
 public:
  std::string_view name() const override { return "highest numa"; }
  std::int64_t key(const DeviceView& view) const override { return view.device.numa; }
};
inline const FewestSharers kFewestSharers;
inline const HighestNuma kHighestNuma;

class LargestLabel final : public NodePolicy {
 public:
  std::string_view name() const override { return "largest label"; }
  std::int64_t key(const NodeView& view) const override { return view.label_priority; }
};
inline const LargestLabel kLargestLabel;

/// A vendor with a will of its own: some nodes and cards are refused, several cards are chosen from
/// the end of the list, neighbours are preferred.
class WilfulHooks final : public VendorHooks {
 public:
  CardReason admit_node(const NodeSpec& node, const AskedVendor& /*vendor*/) const override {
    return node.traits.empty() ? CardReason::kCount : CardReason::kModeNotFit;
  }
  CardReason admit_card(const Device& card, const Usage& seen, const Demand& demand,
                        const AskedVendor& /*vendor*/) const override {
    const bool odd = card.index == 2 && demand.cores > CorePercent{20} && seen.slots > 0;
    return odd ? CardReason::kModeNotFit : CardReason::kCount;
  }
  bool chooses(const ChoiceView& view) const override { return view.count() > 1; }
  std::optional<std::vector<std::uint32_t>> choose(const ChoiceView& view) const override {
    if (view.fitting.size() < view.count()) return std::nullopt;
    return std::vector<std::uint32_t>(view.fitting.rbegin(),
                                      view.fitting.rbegin() + view.demand.count);
  }
  void explain(const ChoiceView& view, Reject& reject) const override {
    for (std::size_t i = 0; i < view.listed.size(); ++i) {
      if (view.reasons[i] == CardReason::kCount && view.seen[i].slots > 0) {
        ++reject.count(CardReason::kModeNotFit);
      }
    }
  }
  std::int64_t topology_score(const TopologyView& view) const override {
    std::int64_t score = 0;
    for (const TopologyView::Pick& pick : view.picks) {
      score -= pick.device + view.before[pick.device].slots;
    }
    return score;
  }
};

inline VendorTable random_rules() {
  static const WilfulHooks hooks;
  VendorTable table(2);
  table[1] = {.honours_mutex = false,
              .least_core_capacity = {100},
              .whole_card_is_exclusive = false,
              .full_cores_close_card = false,
              .hooks = &hooks};
  return table;
}

inline MigProfiles small_profiles(bool four) {
  if (four) {
    return {{"1g.2", {2000}, {25}, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}},
            {"1g.2+", {2000}, {25}, 1, {{0, 1}, {2, 1}}},
            {"2g.4", {4000}, {50}, 2, {{0, 2}, {2, 2}}},
            {"4g.8", {8000}, {100}, 4, {{0, 4}}}};
  }
  return {{"1g.1", {1000}, {15}, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}},
          {"2g.2", {2000}, {29}, 2, {{0, 2}, {2, 2}, {4, 2}}},
          {"3g.4", {4000}, {43}, 3, {{0, 4}, {4, 4}}},
          {"7g.8", {8000}, {100}, 7, {{0, 8}}}};
}

/// A card's totals belong to its id for the whole history: shrinking a card under its pods is no
/// fault of the books.
inline Device card_of(std::uint32_t n, std::uint32_t c) {
  Dice dice(n * 100 + c);
  Device device =
      card("c" + std::to_string(c), dice.of({0, 1000, 2500, 8000, 8000, 8000, 16000, 16000}),
           dice.of({0, 1, 2, 4, 4, 10, 10}), dice.of({0, 100, 100, 100, 100, 200}));
  device.model = dice.one_in(2) ? "Model-A100" : "Model-b200";
  device.numa = dice.below(2);
  device.vendor = dice.one_in(4) ? kOtherVendor : kVendor;
  device.mode = dice.one_in(3) ? "" : "plain";
  if (device.vendor != kVendor || !dice.one_in(3)) return device;
  device.mig = std::make_shared<const MigProfiles>(small_profiles(dice.one_in(2)));
  device.memory = {8159};
  device.cores = {100};
  device.slots = dice.of({2, 7, 10});
  device.mode = "split";
  return device;
}

inline NodeSpec random_node(Dice& dice) {
  const std::uint32_t n = dice.below(kNodes);
  NodeSpec spec;
  spec.name = node_name(n);
  const std::uint32_t turn = dice.below(kCards);
  for (std::uint32_t i = 0; i < kCards; ++i) {
    if (dice.one_in(7)) continue;
    Device device = card_of(n, (i + turn) % kCards);
    device.index = dice.below(3);  // equal numbers happen: then the register order decides
    device.healthy = !dice.one_in(10);
    if (dice.one_in(12)) spec.cordoned.push_back(device.id);
    spec.devices.push_back(device);
  }
  spec.offered = {!dice.one_in(15), !dice.one_in(5)};
  if (dice.one_in(20)) spec.offered.pop_back();
  spec.locked = dice.one_in(4);
  if (dice.one_in(2)) {
    for (std::size_t i = spec.devices.size() * spec.devices.size(); i > 0; --i) {
      spec.links.push_back(static_cast<std::int32_t>(dice.of({0, 10, 10, 50, 450, -5})));
    }
  }
  if (dice.one_in(10)) spec.traits = {1};
  if (dice.one_in(2)) spec.label_priority = dice.of({1, 1, 2, -3, INT64_MAX, INT64_MIN});
  return spec;
}

inline DeviceAsk random_ask(Dice& dice) {
  DeviceAsk ask;
  ask.vendor = dice.one_in(6) ? kOtherVendor : kVendor;
  ask.count = dice.of({0, 1, 1, 1, 1, 1, 1, 2, 2, 3, 5});
  if (dice.one_in(3)) {
    ask.memory_percent = dice.of({1, 25, 33, 50, 100});
  } else {
    ask.memory = {dice.of({0, 1, 500, 1000, 2000, 4000})};
  }
  ask.cores = {dice.of({0, 0, 10, 25, 50, 100, 250})};
  return ask;
}

inline Constraints random_constraints(Dice& dice) {
  Constraints constraints;
  constraints.vendor = dice.one_in(5) ? kOtherVendor : kVendor;
  if (dice.one_in(4)) constraints.use_models = {dice.one_in(2) ? "A100" : "B200", "H"};
  if (dice.one_in(6)) constraints.nouse_models = {"B2"};
  if (dice.one_in(5)) constraints.use_ids = {"c0", "c1", "c3"};
  if (dice.one_in(5)) constraints.nouse_ids = {"c1"};
  if (dice.one_in(5)) constraints.modes = dice.one_in(2) ? "plain,x" : "split";
  constraints.numa_bind = dice.one_in(2);
  constraints.traits = dice.below(2);
  return constraints;
}

/// Belongs to the pod for the whole history.
inline QuotaSubject subject_of(std::uint32_t pod) {
  return {pod % 3 == 0 ? "lab" : "team", pod % 4 == 1, pod % 5 == 2, pod % 2 == 0 ? "high" : ""};
}

inline QuotaSpec random_quota(Dice& dice) {
  QuotaSpec quota;
  quota.ns = dice.one_in(3) ? "lab" : "team";
  quota.name = "q" + std::to_string(dice.below(2));
  for (std::uint32_t i = 1 + dice.below(2); i > 0; --i) {
    const VendorId vendor = dice.one_in(4) ? kOtherVendor : kVendor;
    const auto kind = static_cast<QuotaKind>(dice.below(3));
    std::int64_t limit = dice.of({0, 2, 4, 8});
    if (kind == QuotaKind::kMemory) limit = dice.of({0, 3000, 8000, 12000, 20000});
    if (kind == QuotaKind::kCores) limit = dice.of({0, 60, 150, 300});
    quota.limits.push_back({vendor, kind, limit});
  }
  if (dice.one_in(2)) return quota;
  QuotaScope scope;
  scope.word = static_cast<QuotaScope::Word>(dice.below(5));
  scope.match = static_cast<QuotaScope::Match>(dice.below(4));
  scope.values = {dice.one_in(2) ? "high" : "low"};
  quota.scopes = {scope};
  return quota;
}

inline void random_policy(Dice& dice, Request& request) {
  if (dice.one_in(2)) request.node_policy = &kEmptiestNode;
  if (dice.one_in(6)) request.node_policy_before = &kLargestLabel;
  if (dice.one_in(6)) request.node_policy_after = &kLargestLabel;
  if (dice.one_in(2)) request.device_policies = {&kFullestDevice};
  if (dice.one_in(8)) request.device_policies = {&kFewestSharers, &kFullestDevice};
  if (dice.one_in(8)) request.device_policies = {&kHighestNuma, &kEmptiestDevice};
  if (dice.one_in(4)) request.weights = {dice.of({0, 1, 3}), dice.of({1, 2}), dice.of({0, 1, 7})};
  request.mutex = dice.one_in(10);
  request.topology = dice.one_in(4);
  for (const Position& position : request.positions) {
    for (const DeviceAsk& ask : position.asks) {
      // More candidates than are searched exactly (topology.h) have no plain answer.
      if (ask.count > 4) request.topology = false;
    }
  }
  if (!dice.one_in(6)) return;
  request.mode = ScoreMode::kHami;
  const std::vector<std::string> words = {"",     "binpack",      "spread",  "mutex",
                                          "numa", "binpack,numa", "nonsense"};
  request.hami.device = words[dice.below(static_cast<std::uint32_t>(words.size()))];
  request.hami.node = dice.one_in(2) ? "binpack" : "spread";
}

inline Request random_request(Dice& dice) {
  std::vector<Position> positions;
  const std::uint32_t containers = 1 + dice.below(4);
  for (std::uint32_t p = 0; p < containers; ++p) {
    Position position;
    position.kind = static_cast<PositionKind>(dice.of({0, 1, 2, 2, 2}));
    if (!dice.one_in(6)) position.asks.push_back(random_ask(dice));
    if (dice.one_in(10)) position.asks.push_back(random_ask(dice));
    positions.push_back(position);
  }
  const std::uint32_t number = dice.below(kPods);
  Request request = pod(pod_uid(number).v, positions);
  request.subject = subject_of(number);
  random_policy(dice, request);
  if (dice.one_in(3)) request.constraints.push_back(random_constraints(dice));
  if (dice.one_in(12)) {
    const Constraints more = random_constraints(dice);
    const bool one = request.constraints.empty() || request.constraints[0].vendor != more.vendor;
    if (one) request.constraints.push_back(more);
  }
  return request;
}

inline MigPlacement random_place(Dice& dice) {
  return {dice.below(8), static_cast<std::uint32_t>(dice.of({1, 1, 2, 4, 8}))};
}

inline Allocation random_allocation(Dice& dice, std::uint32_t number) {
  Allocation allocation;
  allocation.subject = subject_of(number);
  allocation.node = node_name(dice.below(kNodes + 1));
  const std::uint32_t containers = 1 + dice.below(3);
  for (std::uint32_t p = 0; p < containers; ++p) {
    allocation.kinds.push_back(static_cast<PositionKind>(dice.below(3)));
    for (std::uint32_t g = dice.below(3); g > 0; --g) {
      Grant grant;
      grant.position = p;
      grant.vendor = dice.one_in(3) ? kOtherVendor : kVendor;
      grant.device = "c" + std::to_string(dice.below(kCards + 1));
      grant.memory = {dice.of({0, 500, 1000})};
      grant.cores = {dice.of({0, 10, 50})};
      if (dice.one_in(3))
        grant.mig = MigSlice{dice.one_in(2) ? "1g.1" : "1g.2", random_place(dice)};
      allocation.grants.push_back(std::move(grant));
    }
  }
  if (dice.one_in(8)) {
    allocation.stray_mig.push_back(
        {kVendor, "c" + std::to_string(dice.below(kCards + 1)), random_place(dice)});
  }
  if (dice.one_in(8)) allocation.kinds.pop_back();
  allocation.init_finished = dice.one_in(4);
  return allocation;
}

/// For the report of a failure.
inline std::string request_text(const Request& request) {
  std::string text = "pod " + request.uid.v + (request.mode == ScoreMode::kHami ? " hami" : "") +
                     (request.mutex ? " mutex" : "") + (request.topology ? " topology" : "") +
                     (request.node_policy_before != nullptr ? " label first" : "") +
                     (request.node_policy_after != nullptr ? " label last" : "") + " by";
  for (const DevicePolicy* policy : request.device_policies) {
    text += " " + std::string(policy->name());
  }
  const ScoreWeights& w = request.weights;
  text += " weights " + std::to_string(w.slots) + "," + std::to_string(w.cores) + "," +
          std::to_string(w.memory);
  for (const Constraints& c : request.constraints) {
    text += "; vendor " + std::to_string(c.vendor.v) + (c.numa_bind ? " numa" : "") +
            (c.modes ? " modes " + *c.modes : "");
    for (const std::string& id : c.use_ids) text += " +" + id;
    for (const std::string& id : c.nouse_ids) text += " -" + id;
  }
  for (const Position& position : request.positions) {
    text += "\n  kind " + std::to_string(static_cast<int>(position.kind)) + ":";
    for (const DeviceAsk& ask : position.asks) {
      text += " [" + std::to_string(ask.vendor.v) + "] " + std::to_string(ask.count) + " x " +
              std::to_string(ask.memory.v) + " MiB/" + std::to_string(ask.memory_percent) + " % " +
              std::to_string(ask.cores.v) + " cores";
    }
  }
  return text;
}
inline std::string node_text(const Node& node) {
  std::string text = node.spec.name + " label " + std::to_string(node.spec.label_priority) +
                     (node.spec.links.empty() ? "" : " linked") + (node.present ? "" : " absent");
  for (std::size_t i = 0; i < node.used.size(); ++i) {
    const Device& d = node.spec.devices[i];
    text += "\n  [" + std::to_string(d.vendor.v) + "] " + d.id + " index " +
            std::to_string(d.index) + " numa " + std::to_string(d.numa) +
            (d.healthy ? "" : " sick") + (d.partitioned() ? " split" : "") + ": " +
            std::to_string(node.used[i].slots) + "/" + std::to_string(d.slots) + " slots " +
            std::to_string(node.used[i].memory.v) + "/" + std::to_string(d.memory.v) + " MiB " +
            std::to_string(node.used[i].cores.v) + "/" + std::to_string(d.cores.v) + " %;";
    for (const MigPlacement& p : node.occupied(i)) {
      text += " " + std::to_string(p.start) + "+" + std::to_string(p.size);
    }
  }
  return text;
}
inline std::string outcome_text(const Outcome& outcome) {
  std::string text;
  if (outcome.decision) {
    text = outcome.decision->allocation.node + " " +
           std::to_string(outcome.decision->key.topology) + "/" +
           std::to_string(outcome.decision->key.load) + ":";
    for (const Grant& g : outcome.decision->allocation.grants) {
      text += " " + std::to_string(g.position) + "=" + g.device;
      if (g.mig) text += "@" + std::to_string(g.mig->placement.start) + g.mig->profile;
    }
  }
  for (const auto& r : outcome.rejected) {
    text += "; " + std::to_string(r.candidate) + ": " + r.reject.text() + " at " +
            std::to_string(r.reject.position);
  }
  return text;
}

}  // namespace tessera::core::testing
