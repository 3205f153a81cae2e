// Random histories of a small cluster. After every step: the kept books equal the plain
// recomputation, no device is over its totals (unless the API server told so), versions move when
// something changed, place agrees with its oracle in verdict, choice and words (in HAMi's score
// mode in the verdict), what it chooses can be reserved, and a restart from what the API server
// shows gives the same books.
// TESSERA_PROPERTY_STEPS sets how many steps are driven in all; a failure prints the shrunk
// history.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "core/place_index_test_witness.h"
#include "core/place_property_world.h"

namespace tessera::core {
namespace {

using namespace testing;
using std::chrono::seconds;

constexpr long kDefaultSteps = 60'000;
long wanted_steps() {
  const char* text = std::getenv("TESSERA_PROPERTY_STEPS");
  return text == nullptr ? kDefaultSteps : std::strtol(text, nullptr, 10);
}

bool collides(const std::vector<MigPlacement>& places) {
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a + 1; b < places.size(); ++b) {
      if (places[a].overlaps(places[b])) return true;
    }
  }
  return false;
}

/// One card with everybody's charges on it, without kept counters.
bool card_holds(const Device& device, const VendorRules& rules, const Charge& sum) {
  if (rules.slots_count && sum.usage.slots > device.slots) return false;
  if (device.partitioned()) return sum.plain == 0 && !collides(sum.instances);
  const CorePercent capacity = std::max(device.cores, rules.least_core_capacity);
  return sum.usage.memory <= device.memory && sum.instances.empty() &&
         (!rules.cores_count || sum.usage.cores <= capacity);
}

/// All charges of a node, or of all others there, by a plain sum.
std::vector<Charge> sum_of_charges(const Cluster& cluster, NodeId id, const PodUid& without) {
  std::vector<Charge> sums;
  for (const PodUid& uid : cluster.holders_on(id)) {
    if (uid == without) continue;
    for (const Charge& charge : effective_charges(cluster.hold(uid)->allocation)) {
      const auto at = std::find_if(sums.begin(), sums.end(), [&](const Charge& c) {
        return c.vendor == charge.vendor && c.device == charge.device;
      });
      if (at == sums.end()) {
        sums.push_back(charge);
        continue;
      }
      at->usage += charge.usage;
      at->plain += charge.plain;
      at->instances.insert(at->instances.end(), charge.instances.begin(), charge.instances.end());
    }
  }
  return sums;
}

bool legal_instances(const Device& device, const Allocation& allocation) {
  const auto legal = [&](const std::string* profile, const MigPlacement& place) {
    if (!device.partitioned()) return false;
    return std::any_of(device.mig->begin(), device.mig->end(), [&](const MigProfile& p) {
      return (profile == nullptr || p.name == *profile) &&
             std::count(p.placements.begin(), p.placements.end(), place) > 0;
    });
  };
  for (const Grant& grant : allocation.grants) {
    if (grant.vendor != device.vendor || grant.device != device.id || !grant.mig) continue;
    if (!legal(&grant.mig->profile, grant.mig->placement)) return false;
  }
  return std::all_of(allocation.stray_mig.begin(), allocation.stray_mig.end(), [&](const auto& r) {
    const bool here = r.vendor == device.vendor && r.device == device.id;
    return !here || legal(nullptr, r.placement);
  });
}

bool quotas_allow(const Cluster& cluster, const PodUid& uid, const Allocation& allocation) {
  const auto amount = [](const Allocation& a, const QuotaLimit& limit) {
    for (const QuotaNeed& need : quota_needs(a)) {
      if (need.vendor == limit.vendor) return need.amount(limit.kind);
    }
    return std::int64_t{0};
  };
  for (const QuotaBook::Row& row : cluster.quotas().rows()) {
    if (!in_scope(row.quota, allocation.subject)) continue;
    for (const QuotaLimit& limit : row.quota.limits) {
      const std::int64_t asked = amount(allocation, limit);
      std::int64_t sum = asked;
      for (const PodUid& other : cluster.holders()) {
        const Allocation& theirs = cluster.hold(other)->allocation;
        if (other != uid && in_scope(row.quota, theirs.subject)) sum += amount(theirs, limit);
      }
      if (asked > 0 && sum > limit.limit) return false;
    }
  }
  return true;
}

/// The refusal of reserve, by a plain sum over everybody else's charges.
bool should_accept(const Cluster& cluster, const PodUid& uid, const Allocation& allocation) {
  if (const Hold* own = cluster.hold(uid); own != nullptr && own->state == HoldState::kBound) {
    return false;
  }
  const NodeId id = cluster.find_node(allocation.node);
  if (!id.valid() || !cluster.node(id).present) return false;
  const std::vector<Device>& devices = cluster.node(id).spec.devices;
  const std::vector<Charge> others = sum_of_charges(cluster, id, uid);
  const bool lost = std::any_of(others.begin(), others.end(), [&](const Charge& c) {
    return find_device(devices, c.vendor, c.device) == devices.size() && !c.instances.empty();
  });
  for (const Grant& grant : allocation.grants) {
    if (find_device(devices, grant.vendor, grant.device) == devices.size()) return false;
  }
  for (const Charge& charge : effective_charges(allocation)) {
    const std::size_t d = find_device(devices, charge.vendor, charge.device);
    if (d == devices.size()) return false;
    Charge sum = charge;
    for (const Charge& theirs : others) {
      if (theirs.vendor != charge.vendor || theirs.device != charge.device) continue;
      sum.usage += theirs.usage;
      sum.plain += theirs.plain;
      sum.instances.insert(sum.instances.end(), theirs.instances.begin(), theirs.instances.end());
    }
    if (lost && devices[d].partitioned()) return false;
    if (!card_holds(devices[d], cluster.rules()[charge.vendor.v], sum)) return false;
  }
  for (const Grant& grant : allocation.grants) {
    const std::size_t d = find_device(devices, grant.vendor, grant.device);
    if (!legal_instances(devices[d], allocation)) return false;
  }
  for (const MigReservation& r : allocation.stray_mig) {
    const std::size_t d = find_device(devices, r.vendor, r.device);
    if (!legal_instances(devices[d], allocation)) return false;
  }
  return quotas_allow(cluster, uid, allocation);
}

/// What a run has met: a property over nothing would prove nothing.
struct Coverage {
  long histories = 0, steps = 0, placed = 0, refused = 0, several_grants = 0, own_hold = 0;
  long instances = 0, by_quota = 0, linked = 0, hami = 0, restarts = 0;
  std::uint64_t indexed = 0, index_asked = 0;
};

class History {
 public:
  /// wild: bound pods may come from outside and overfill devices, as the API server's truth may.
  History(bool wild, Coverage& coverage)
      : cluster_(random_rules()), wild_(wild), coverage_(coverage) {
    Dice dice(1);
    for (std::uint32_t i = 0; i < 3 * kNodes; ++i) cluster_.set_node(random_node(dice));
  }

  void step(std::uint64_t seed) {
    ++coverage_.steps;
    Dice dice(seed);
    const std::vector<Node> before = nodes();
    const long restarts = coverage_.restarts;
    act(dice);
    if (coverage_.restarts == restarts) check_versions(before);
    const std::vector<std::string> differences = cluster_.differences(cluster_.rebuild());
    RC_ASSERT(differences == std::vector<std::string>{});
    if (!wild_) check_totals();
    const Request request = random_request(dice);
    check_place(request, dice);
    witness_.check(cluster_, dice);
  }
  /// Of the questions to the index: those asked, and those it had to decide plainly.
  PlaceIndex::Figures index_figures() const { return witness_.figures(); }

 private:
  std::vector<Node> nodes() const {
    std::vector<Node> list;
    for (const NodeId id : all_nodes(cluster_)) list.push_back(cluster_.node(id));
    return list;
  }

  static PodUid some_pod(Dice& dice) { return pod_uid(dice.below(kPods)); }

  void act(Dice& dice) {
    switch (dice.below(15)) {
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
      case 9:
        cluster_.set_quota(random_quota(dice));
        return;
      case 10:
        if (dice.one_in(2)) return;
        cluster_.remove_quota(dice.one_in(2) ? "lab" : "team", dice.one_in(2) ? "q0" : "q1");
        return;
      case 11:
        restart(dice);
        return;
      default:
        place_and_reserve(dice);
        return;
    }
  }

  /// What another process would read from the API server: nodes, quotas, bound pods. Reservations
  /// are gone.
  void restart(Dice& dice) {
    if (!dice.one_in(3)) return;
    ++coverage_.restarts;
    Cluster fresh(random_rules());
    for (const QuotaBook::Row& row : cluster_.quotas().rows()) fresh.set_quota(row.quota);
    Cluster shown = cluster_.rebuild();
    for (const PodUid& uid : cluster_.holders()) {
      const Hold& hold = *cluster_.hold(uid);
      if (hold.state == HoldState::kReserved) shown.release(uid);
      if (hold.state == HoldState::kBound) fresh.confirm(uid, Allocation(hold.allocation));
    }
    for (const NodeId id : all_nodes(cluster_)) {
      const Node& node = cluster_.node(id);
      fresh.set_node(node.spec);
      if (!node.present) fresh.remove_node(node.spec.name);
    }
    RC_ASSERT(fresh.differences(shown) == std::vector<std::string>{});
    cluster_ = std::move(fresh);
    witness_.forget();
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
    const std::uint32_t number = dice.below(kPods);
    const PodUid uid = pod_uid(number);
    if (wild_ && dice.one_in(2)) {
      cluster_.confirm(uid, random_allocation(dice, number));
    } else if (const Hold* hold = cluster_.hold(uid); hold != nullptr) {
      cluster_.confirm(uid, Allocation(hold->allocation));
    }
  }

  void reserve_anything(Dice& dice) {
    const std::uint32_t number = dice.below(kPods);
    const PodUid uid = pod_uid(number);
    const Allocation allocation = random_allocation(dice, number);
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
                        then.spec.locked == now.spec.locked && then.spec.links == now.spec.links &&
                        then.spec.traits == now.spec.traits && then.plain == now.plain &&
                        then.instances == now.instances &&
                        then.lost_instances == now.lost_instances;
      RC_ASSERT(same || now.version != then.version);
    }
  }

  void check_totals() const {
    for (const NodeId id : all_nodes(cluster_)) {
      const std::vector<Device>& devices = cluster_.node(id).spec.devices;
      for (const Charge& sum : sum_of_charges(cluster_, id, {})) {
        const std::size_t d = find_device(devices, sum.vendor, sum.device);
        if (d == devices.size()) continue;
        RC_ASSERT(card_holds(devices[d], cluster_.rules()[sum.vendor.v], sum));
        RC_ASSERT(within(devices[d], cluster_.node(id).used[d], cluster_.rules()[sum.vendor.v]));
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
    RC_LOG() << request_text(request) << "\nplace:  " << outcome_text(mine)
             << "\noracle: " << outcome_text(plain) << "\n";
    for (const NodeId id : all_nodes(cluster_)) RC_LOG() << node_text(cluster_.node(id)) << "\n";
    RC_ASSERT(mine.fitting == plain.fitting);
    RC_ASSERT(mine.decision.has_value() == plain.decision.has_value());
    if (request.mode == ScoreMode::kCorrected) check_refusals(mine, plain);
    coverage_.refused += static_cast<long>(mine.rejected.size());
    for (const Outcome::Rejected& rejected : mine.rejected) {
      coverage_.by_quota += rejected.reject.count(CardReason::kQuotaNotFit) > 0 ? 1 : 0;
    }
    if (!mine.decision) return;
    count(request, mine);
    const Fit alone = fit_node(cluster_, request, mine.decision->node);
    RC_ASSERT(alone.allocation == mine.decision->allocation);
    RC_ASSERT(alone.key == mine.decision->key);
    if (request.mode == ScoreMode::kHami) {
      check_answers(request, mine.decision->allocation);
      return;
    }
    RC_ASSERT(mine.decision->node == plain.decision->node);
    RC_ASSERT(mine.decision->key == plain.decision->key);
    RC_ASSERT(mine.decision->allocation == plain.decision->allocation);
  }

  /// Whatever the order: every ask has its cards, and a set that was reserved before may be.
  void check_answers(const Request& request, const Allocation& allocation) const {
    for (std::uint32_t p = 0; p < request.positions.size(); ++p) {
      std::int64_t asked = 0;
      for (const DeviceAsk& ask : request.positions[p].asks) asked += ask.count;
      RC_ASSERT(asked == std::count_if(allocation.grants.begin(), allocation.grants.end(),
                                       [p](const Grant& g) { return g.position == p; }));
    }
    const Hold* own = cluster_.hold(request.uid);
    const bool bound = own != nullptr && own->state == HoldState::kBound;
    RC_ASSERT(bound || should_accept(cluster_, request.uid, allocation));
  }

  void count(const Request& request, const Outcome& outcome) const {
    const Allocation& allocation = outcome.decision->allocation;
    coverage_.placed += 1;
    coverage_.several_grants += allocation.grants.size() > 1 ? 1 : 0;
    coverage_.own_hold += cluster_.hold(request.uid) != nullptr ? 1 : 0;
    coverage_.linked += outcome.decision->key.topology != 0 ? 1 : 0;
    coverage_.hami += request.mode == ScoreMode::kHami ? 1 : 0;
    coverage_.instances += std::count_if(allocation.grants.begin(), allocation.grants.end(),
                                         [](const Grant& g) { return g.mig.has_value(); });
  }

  Cluster cluster_;
  bool wild_;
  Coverage& coverage_;
  MonoTime now_{};
  IndexWitness witness_;
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
      coverage.index_asked += history.index_figures().asked;
      coverage.indexed += history.index_figures().asked - history.index_figures().plain;
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
  EXPECT_GT(coverage.instances, coverage.steps / 40);
  EXPECT_GT(coverage.by_quota, coverage.steps / 200);
  EXPECT_GT(coverage.linked, coverage.steps / 100);
  EXPECT_GT(coverage.hami, coverage.steps / 100);
  EXPECT_GT(coverage.restarts, coverage.steps / 100);
  EXPECT_GT(coverage.indexed, coverage.index_asked / 4);
  std::cout << coverage.histories << " histories, " << coverage.steps << " steps\n";
}

TEST(Property, BooksAndDecisionsAgreeWithThePlainOnes) { drive(false, wanted_steps() * 3 / 4); }
TEST(Property, AlsoWhenTheTruthOverfillsDevices) { drive(true, wanted_steps() / 4); }

}  // namespace
}  // namespace tessera::core
