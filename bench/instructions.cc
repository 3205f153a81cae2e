// Fixed work per case, for counting instructions: `instructions CASE` does the case's work once to
// warm up and then again inside measured_work(), the only function that tools/check_instructions.py
// counts in. `instructions --list` names the cases with their repetitions, by which the count is
// divided.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidates.h"
#include "core/place_index.h"
#include "core/preempt.h"
#include "core_cluster.h"

using namespace tessera;
using namespace tessera::core;
using namespace tessera::core::bench;

/// What is counted. A name without C++ in it, so that the counter finds it with any compiler.
extern "C" [[gnu::noinline]] void measured_work(const std::function<void(int)>& work, int times);
extern "C" void measured_work(const std::function<void(int)>& work, int times) {
  for (int i = 0; i < times; ++i) work(i);
}

namespace {

constexpr std::uint32_t kNodes = 1000;

[[noreturn]] void give_up(std::string_view why) {
  std::fprintf(stderr, "instructions: %.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(1);
}

struct Counted {
  int times = 1;

  /// `warm` times outside, then inside; the work is told how often it was done.
  void run(int warm, const std::function<void(int)>& work) const {
    for (int i = 0; i < warm; ++i) work(i);
    measured_work([&](int i) { work(warm + i); }, times);
  }
};

CandidateSet all_of(const Cluster& cluster) {
  CandidateSet set;
  set.open(cluster);
  for (const NodeId id : cluster.present_nodes()) set.add(id);
  return set;
}

/// Decided, reserved, and the eldest of 100 goes.
void known(const Counted& counted, std::string_view node_policy) {
  Cluster cluster = cluster_of(kNodes);
  const CandidateSet candidates = all_of(cluster);
  PlaceIndex index({});
  Request ask = request("p", 2000);
  ask.node_policy = policies::find_node_policy(node_policy);
  const auto uid_of = [](int n) { return PodUid{"asking-" + std::to_string(n)}; };
  counted.run(200, [&](int i) {
    ask.uid = uid_of(i);
    auto choice = index.choose(cluster, ask, candidates);
    if (!choice.decision ||
        !cluster.reserve(ask.uid, std::move(choice.decision->allocation), MonoTime::max()))
      give_up("nothing fits");
    if (i >= 100) cluster.release(uid_of(i - 100));
  });
}
void known_binpack(const Counted& counted) { known(counted, "binpack"); }
void known_spread(const Counted& counted) { known(counted, "spread"); }

void fresh(const Counted& counted, bool different, std::size_t containers) {
  const Cluster cluster = cluster_of(kNodes, different);
  const CandidateSet candidates = all_of(cluster);
  PlaceIndex index({});
  counted.run(2, [&](int i) {
    Request ask = request("p", 2000 + i);
    while (ask.positions.size() < containers) ask.positions.push_back(ask.positions.front());
    if (!index.choose(cluster, ask, candidates).decision) give_up("nothing fits");
  });
}
void new_class(const Counted& counted) { fresh(counted, false, 1); }
void new_class_all_differ(const Counted& counted) { fresh(counted, true, 1); }
void new_class_two_containers(const Counted& counted) { fresh(counted, false, 2); }

void refuse(const Counted& counted) {
  const Cluster cluster = cluster_of(kNodes);
  const CandidateSet candidates = all_of(cluster);
  PlaceIndex index({});
  const Request ask = request("p", 90'000);
  counted.run(2, [&](int) {
    if (index.place(cluster, ask, candidates).rejected.size() != kNodes) give_up("somebody fits");
  });
}

void refuse_new_class(const Counted& counted) {
  const Cluster cluster = cluster_of(kNodes);
  const CandidateSet candidates = all_of(cluster);
  PlaceIndex index({});
  counted.run(2, [&](int i) {
    const Request ask = request("p", 90'000 + i);
    if (index.place(cluster, ask, candidates).rejected.size() != kNodes) give_up("somebody fits");
  });
}

void names_to_nodes(const Counted& counted) {
  const Cluster cluster = cluster_of(kNodes);
  std::vector<std::string> names;
  for (const NodeId id : cluster.present_nodes()) names.push_back(cluster.node(id).spec.name);
  const std::vector<std::string_view> views(names.begin(), names.end());
  CandidateReader reader;
  CandidateSet set;
  counted.run(2, [&](int) {
    reader.read(cluster, views, set);
    if (set.ids().size() != kNodes) give_up("names are missing");
  });
}

void reserve_release(const Counted& counted) {
  Cluster cluster = cluster_of(8);
  const Request ask = request("p", 2000);
  const Allocation allocation = *fit_node(cluster, ask, {0}).allocation;
  counted.run(2, [&](int) {
    if (!cluster.reserve(ask.uid, allocation, MonoTime{})) give_up("refused");
    cluster.release(ask.uid);
  });
}

void node_update(const Counted& counted) {
  Cluster cluster = cluster_of(8);
  NodeSpec spec = cluster.node({0}).spec;
  counted.run(2, [&](int i) {
    spec.devices[0].healthy = i % 2 == 0;
    cluster.set_node(spec);
  });
}

void fit(const Counted& counted, const Cluster& cluster, const Request& ask) {
  counted.run(2, [&](int) {
    if (!fit_node(cluster, ask, {0}).allocation) give_up("does not fit");
  });
}
void fit_one_card(const Counted& counted) { fit(counted, cluster_of(8), request("p", 2000)); }
void fit_four_by_numa(const Counted& counted) {
  Request ask = request("p", 2000, 4);
  ask.constraints.push_back({.vendor = {0}, .numa_bind = true});
  fit(counted, cluster_of(8), ask);
}
void fit_by_hami_order(const Counted& counted) {
  Request ask = request("p", 2000, 2);
  ask.mode = ScoreMode::kHami;
  ask.hami = {"binpack", "spread"};
  fit(counted, cluster_of(8), ask);
}

/// Two instances of different sizes on a node of eight cards that are cut into seven.
void fit_instances(const Counted& counted) {
  Cluster cluster{VendorTable(1)};
  NodeSpec spec = node_spec(0);
  const auto profiles = std::make_shared<const MigProfiles>(MigProfiles{
      {"small", {9856}, {13}, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}},
      {"half", {40'448}, {46}, 3, {{0, 4}, {4, 4}}}});
  for (Device& device : spec.devices) device.mig = profiles;
  cluster.set_node(spec);
  Request ask = request("p", 9000);
  ask.positions.push_back({PositionKind::kApp, {{{0}, 1, {20'000}, DeviceAsk::kNoPercent, {10}}}});
  fit(counted, cluster, ask);
}

void plan_preemption_of_one(const Counted& counted) {
  constexpr std::uint32_t kFew = 100;
  Cluster cluster = cluster_of(kFew);
  const std::vector<NodeId> candidates = cluster.present_nodes();
  std::vector<Evictable> pods;
  for (std::uint32_t n = 0; n < kFew; ++n) {
    for (std::uint32_t p = 0; p < kPodsPerNode; ++p)
      pods.push_back({{"pod-" + std::to_string(n) + "-" + std::to_string(p)},
                      static_cast<std::int64_t>((n + p) % 3),
                      1'700'000'000 + static_cast<std::int64_t>((n * 7919 + p * 104'729) % 86'400),
                      {p % 2}});
  }
  const std::vector<std::int64_t> budgets = {2, 2};
  const Request ask = request("p", 81'920, 5);
  counted.run(1, [&](int) {
    const auto plan = plan_preemption(cluster, ask, candidates, pods, budgets);
    if (!plan || plan->victims.size() != 1) give_up("another plan");
  });
}

struct Case {
  std::string_view name;
  int times;
  void (*run)(const Counted&);
};
constexpr Case kCases[] = {
    {"known_binpack", 500, known_binpack},
    {"known_spread", 500, known_spread},
    {"new_class", 10, new_class},
    {"new_class_all_differ", 5, new_class_all_differ},
    {"new_class_two_containers", 10, new_class_two_containers},
    {"refuse", 20, refuse},
    {"refuse_new_class", 10, refuse_new_class},
    {"names_to_nodes", 20, names_to_nodes},
    {"reserve_release", 500, reserve_release},
    {"node_update", 500, node_update},
    {"fit_one_card", 200, fit_one_card},
    {"fit_four_by_numa", 200, fit_four_by_numa},
    {"fit_by_hami_order", 200, fit_by_hami_order},
    {"fit_instances", 200, fit_instances},
    {"plan_preemption", 3, plan_preemption_of_one},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  if (wanted == "--list") {
    std::printf("compiler %s\n", TESSERA_COMPILER_TEXT);
    for (const Case& c : kCases)
      std::printf("%.*s %d\n", static_cast<int>(c.name.size()), c.name.data(), c.times);
    return 0;
  }
  for (const Case& c : kCases) {
    if (c.name != wanted) continue;
    c.run({c.times});
    return 0;
  }
  std::fprintf(stderr, "usage: instructions --list | CASE\n");
  return 2;
}
