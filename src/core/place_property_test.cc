// Random histories of a small cluster. After every step: the kept books equal the plain
// recomputation, no device is over its totals (unless the API server told so), versions move when
// something changed, and place agrees with its oracle in verdict, choice and words.
// TESSERA_PROPERTY_STEPS sets how many steps are driven in all; a failure prints the shrunk
// history.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "core/core_test_builders.h"

namespace tessera::core {
namespace {

using namespace testing;
using std::chrono::seconds;

constexpr long kDefaultSteps = 100'000;
constexpr std::uint32_t kNodes = 4, kCards = 4, kPods = 9;

long wanted_steps() {
  const char* text = std::getenv("TESSERA_PROPERTY_STEPS");
  return text == nullptr ? kDefaultSteps : std::strtol(text, nullptr, 10);
}

/// All choices of one step come from one number, so that a history shrinks by leaving steps out.
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

std::string node_name(std::uint32_t n) { return "n" + std::to_string(n); }

/// A card's totals belong to its id for the whole history: shrinking a card under its pods is no
/// fault of the books.
Device card_of(std::uint32_t n, std::uint32_t c) {
  Dice dice(n * 100 + c);
  Device device =
      card("c" + std::to_string(c), dice.of({0, 1000, 2500, 8000, 8000, 8000, 16000, 16000}),
           dice.of({0, 1, 2, 4, 4, 10, 10}), dice.of({0, 100, 100, 100, 100, 200}));
  device.model = dice.one_in(2) ? "Model-A100" : "Model-b200";
  device.numa = dice.below(2);
  device.vendor = dice.one_in(4) ? kOtherVendor : kVendor;
  device.mode = dice.one_in(3) ? "" : "plain";
  return device;
}

NodeSpec random_node(Dice& dice) {
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
  return spec;
}

DeviceAsk random_ask(Dice& dice) {
  DeviceAsk ask;
  ask.vendor = dice.one_in(8) ? kOtherVendor : kVendor;
  ask.count = dice.of({0, 1, 1, 1, 1, 1, 1, 2, 2, 3, 5});
  if (dice.one_in(3)) {
    ask.memory_percent = dice.of({1, 25, 33, 50, 100});
  } else {
    ask.memory = {dice.of({0, 1, 500, 1000, 2000, 4000})};
  }
  ask.cores = {dice.of({0, 0, 10, 25, 50, 100, 250})};
  return ask;
}

Constraints random_constraints(Dice& dice) {
  Constraints constraints;
  constraints.vendor = dice.one_in(5) ? kOtherVendor : kVendor;
  if (dice.one_in(4)) constraints.use_models = {dice.one_in(2) ? "A100" : "B200", "H"};
  if (dice.one_in(6)) constraints.nouse_models = {"B2"};
  if (dice.one_in(5)) constraints.use_ids = {"c0", "c1", "c3"};
  if (dice.one_in(5)) constraints.nouse_ids = {"c1"};
  if (dice.one_in(5)) constraints.modes = dice.one_in(2) ? "plain,x" : "x";
  constraints.numa_bind = dice.one_in(2);
  return constraints;
}

Request random_request(Dice& dice) {
  std::vector<Position> positions;
  const std::uint32_t containers = 1 + dice.below(4);
  for (std::uint32_t p = 0; p < containers; ++p) {
    Position position;
    position.kind = static_cast<PositionKind>(dice.of({0, 1, 2, 2, 2}));
    if (!dice.one_in(6)) position.asks.push_back(random_ask(dice));
    if (dice.one_in(10)) position.asks.push_back(random_ask(dice));
    positions.push_back(position);
  }
  Request request = pod("p" + std::to_string(dice.below(kPods)), positions);
  if (dice.one_in(2)) request.node_policy = &kEmptiestNode;
  if (dice.one_in(2)) request.device_policies = {&kFullestDevice};
  if (dice.one_in(8)) request.device_policies = {&kEmptiestDevice, &kFullestDevice};
  if (dice.one_in(3)) request.constraints.push_back(random_constraints(dice));
  if (dice.one_in(12)) request.constraints.push_back(random_constraints(dice));
  return request;
}

Allocation random_allocation(Dice& dice) {
  Allocation allocation;
  allocation.node = node_name(dice.below(kNodes + 1));
  const std::uint32_t containers = 1 + dice.below(3);
  for (std::uint32_t p = 0; p < containers; ++p) {
    allocation.kinds.push_back(static_cast<PositionKind>(dice.below(3)));
    for (std::uint32_t g = dice.below(3); g > 0; --g) {
      allocation.grants.push_back({p,
                                   dice.one_in(3) ? kOtherVendor : kVendor,
                                   "c" + std::to_string(dice.below(kCards + 1)),
                                   {dice.of({0, 500, 1000})},
                                   {dice.of({0, 10, 50})}});
    }
  }
  if (dice.one_in(8)) allocation.kinds.pop_back();
  allocation.init_finished = dice.one_in(4);
  return allocation;
}

/// The refusal of reserve, by a plain sum over everybody else's charges.
bool should_accept(const Cluster& cluster, const PodUid& uid, const Allocation& allocation) {
  if (const Hold* own = cluster.hold(uid); own != nullptr && own->state == HoldState::kBound) {
    return false;
  }
  const NodeId id = cluster.find_node(allocation.node);
  if (!id.valid() || !cluster.node(id).present) return false;
  for (const Charge& charge : effective_charges(allocation)) {
    Usage sum = charge.usage;
    for (const PodUid& other : cluster.holders_on(id)) {
      if (other == uid) continue;
      for (const Charge& theirs : effective_charges(cluster.hold(other)->allocation)) {
        if (theirs.vendor == charge.vendor && theirs.device == charge.device) sum += theirs.usage;
      }
    }
    bool room = false;
    for (const Device& device : cluster.node(id).spec.devices) {
      if (device.vendor != charge.vendor || device.id != charge.device) continue;
      room = sum.slots <= device.slots && sum.memory <= device.memory && sum.cores <= device.cores;
    }
    if (!room) return false;
  }
  return true;
}

/// What a run has met: a property over nothing would prove nothing.
struct Coverage {
  long histories = 0, steps = 0, placed = 0, refused = 0, several_grants = 0, own_hold = 0;
};

class History {
 public:
  /// wild: bound pods may come from outside and overfill devices, as the API server's truth may.
  History(bool wild, Coverage& coverage) : cluster_(rules()), wild_(wild), coverage_(coverage) {
    Dice dice(1);
    for (std::uint32_t i = 0; i < 3 * kNodes; ++i) cluster_.set_node(random_node(dice));
  }

  void step(std::uint64_t seed) {
    ++coverage_.steps;
    Dice dice(seed);
    const std::vector<Node> before = nodes();
    act(dice);
    check_versions(before);
    const std::vector<std::string> differences = cluster_.differences(cluster_.rebuild());
    RC_ASSERT(differences == std::vector<std::string>{});
    if (!wild_) check_totals();
    const Request request = random_request(dice);
    check_place(request, dice);
  }

 private:
  static VendorTable rules() {
    VendorTable table(2);
    table[1] = {.whole_card_is_exclusive = false, .full_cores_close_card = false};
    return table;
  }

  std::vector<Node> nodes() const {
    std::vector<Node> list;
    for (const NodeId id : all_nodes(cluster_)) list.push_back(cluster_.node(id));
    return list;
  }

  PodUid some_pod(Dice& dice) const { return {"p" + std::to_string(dice.below(kPods))}; }

  void act(Dice& dice) {
    switch (dice.below(12)) {
      case 0:
      case 1:
        cluster_.set_node(random_node(dice));
        return;
      case 2:
        cluster_.remove_node(node_name(dice.below(kNodes + 1)));
        return;
      case 3:
        cluster_.finish_init(some_pod(dice));
        return;
      case 4:
        cluster_.release(some_pod(dice));
        return;
      case 5:
        expire(dice);
        return;
      case 6:
        confirm(dice);
        return;
      case 7:
        reserve_anything(dice);
        return;
      case 8:
        cluster_.set_locked({dice.below(kNodes)}, dice.one_in(2));
        return;
      default:
        place_and_reserve(dice);
        return;
    }
  }

  void expire(Dice& dice) {
    now_ += seconds(dice.below(20));
    cluster_.extend(some_pod(dice), now_ + seconds(dice.below(40)));
    std::vector<PodUid> due;
    for (const PodUid& uid : cluster_.holders()) {
      const Hold& hold = *cluster_.hold(uid);
      if (hold.state == HoldState::kReserved && hold.deadline <= now_) due.push_back(uid);
    }
    RC_ASSERT(cluster_.expire(now_) == due);
  }

  void confirm(Dice& dice) {
    const PodUid uid = some_pod(dice);
    if (wild_ && dice.one_in(2)) {
      cluster_.confirm(uid, random_allocation(dice));
    } else if (const Hold* hold = cluster_.hold(uid); hold != nullptr) {
      cluster_.confirm(uid, Allocation(hold->allocation));
    }
  }

  void reserve_anything(Dice& dice) {
    const PodUid uid = some_pod(dice);
    const Allocation allocation = random_allocation(dice);
    const bool want = should_accept(cluster_, uid, allocation);
    RC_ASSERT(cluster_.reserve(uid, allocation, now_ + seconds(dice.below(60))).has_value() ==
              want);
  }

  void place_and_reserve(Dice& dice) {
    const Request request = random_request(dice);
    const Outcome outcome = place(cluster_, request, all_nodes(cluster_));
    if (!outcome.decision) return;
    const Hold* own = cluster_.hold(request.uid);
    const bool bound = own != nullptr && own->state == HoldState::kBound;
    const Status status =
        cluster_.reserve(request.uid, outcome.decision->allocation, now_ + seconds(dice.below(60)));
    RC_ASSERT(status.has_value() == !bound);
  }

  void check_versions(const std::vector<Node>& before) const {
    for (std::uint32_t n = 0; n < before.size(); ++n) {
      const Node& then = before[n];
      const Node& now = cluster_.node({n});
      const bool same = then.used == now.used && then.spec.devices == now.spec.devices &&
                        then.spec.offered == now.spec.offered && then.present == now.present &&
                        then.spec.cordoned == now.spec.cordoned &&
                        then.spec.locked == now.spec.locked;
      RC_ASSERT(same || now.version != then.version);
    }
  }

  void check_totals() const {
    for (const NodeId id : all_nodes(cluster_)) {
      const Node& node = cluster_.node(id);
      for (std::size_t d = 0; d < node.used.size(); ++d) {
        RC_ASSERT(within(node.spec.devices[d], node.used[d]));
      }
    }
  }

  void check_place(const Request& request, Dice& dice) const {
    std::vector<NodeId> candidates;
    for (std::uint32_t n = dice.below(2); n < kNodes; ++n) candidates.push_back({n});
    if (dice.one_in(5)) candidates.push_back({});
    const PlaceOptions options{.prefer_unlocked = !dice.one_in(3)};
    const Outcome mine = place(cluster_, request, candidates, options);
    const Outcome plain = place_oracle(cluster_, request, candidates, options);
    RC_ASSERT(mine.fitting == plain.fitting);
    RC_ASSERT(mine.rejected.size() == plain.rejected.size());
    for (std::size_t i = 0; i < mine.rejected.size(); ++i) {
      const Reject& a = mine.rejected[i].reject;
      const Reject& b = plain.rejected[i].reject;
      RC_ASSERT(mine.rejected[i].candidate == plain.rejected[i].candidate);
      RC_ASSERT(a.text() == b.text());
      RC_ASSERT(a.devices == b.devices);
      RC_ASSERT(a.asked == b.asked);
      RC_ASSERT(a.position == b.position);
      RC_ASSERT(a.unresolvable() == b.unresolvable());
    }
    RC_ASSERT(mine.decision.has_value() == plain.decision.has_value());
    coverage_.refused += static_cast<long>(mine.rejected.size());
    if (!mine.decision) return;
    coverage_.placed += 1;
    coverage_.several_grants += mine.decision->allocation.grants.size() > 1 ? 1 : 0;
    coverage_.own_hold += cluster_.hold(request.uid) != nullptr ? 1 : 0;
    RC_ASSERT(mine.decision->node == plain.decision->node);
    RC_ASSERT(mine.decision->key == plain.decision->key);
    RC_ASSERT(mine.decision->allocation == plain.decision->allocation);
    const Fit alone = fit_node(cluster_, request, mine.decision->node);
    RC_ASSERT(alone.allocation == mine.decision->allocation);
    RC_ASSERT(alone.key == mine.decision->key);
  }

  Cluster cluster_;
  bool wild_;
  Coverage& coverage_;
  MonoTime now_{};
};

/// Drives histories until the wanted number of steps is reached; each round has its own seed.
void drive(bool wild, long steps) {
  Coverage coverage;
  std::uint64_t round = 0;
  while (coverage.steps < steps) {
    rc::detail::TestMetadata metadata;
    metadata.id = metadata.description = wild ? "wild histories" : "histories";
    rc::detail::TestParams params;
    params.seed = 1 + round++;
    params.maxSuccess = 20;
    const auto property = [&] {
      const auto seeds =
          *rc::gen::scale(1.6, rc::gen::container<std::vector<std::uint64_t>>(rc::gen::resize(
                                   100, rc::gen::inRange<std::uint64_t>(0, UINT64_MAX))));
      ++coverage.histories;
      History history(wild, coverage);
      for (const std::uint64_t seed : seeds) history.step(seed);
    };
    const auto result = rc::detail::checkTestable(property, metadata, params);
    if (!result.is<rc::detail::SuccessResult>()) {
      rc::detail::printResultMessage(result, std::cerr);
      FAIL() << "seed " << params.seed;
    }
  }
  EXPECT_GT(coverage.placed, coverage.steps / 10);
  EXPECT_GT(coverage.refused, coverage.steps / 10);
  EXPECT_GT(coverage.several_grants, coverage.steps / 40);
  EXPECT_GT(coverage.own_hold, coverage.steps / 100);
  std::cout << coverage.histories << " histories, " << coverage.steps << " steps\n";
}

TEST(Property, BooksAndDecisionsAgreeWithThePlainOnes) { drive(false, wanted_steps() * 3 / 4); }
TEST(Property, AlsoWhenTheTruthOverfillsDevices) { drive(true, wanted_steps() / 4); }

}  // namespace
}  // namespace tessera::core
