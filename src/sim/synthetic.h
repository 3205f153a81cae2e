/// Clusters made by rule, for the demo, tests and benchmarks: nodes with cards, and pods that hold
/// parts of them. The same options give the same cluster, on every machine. Thread rule: immutable
/// once made.
///   auto cluster = SyntheticCluster::make({.nodes = 1000, .device_pods = 4000});
///   for (n…) api.request("POST", "/api/v1/nodes", cluster->node_json(n));
///   for (i…) api.request("POST", "/api/v1/namespaces/default/pods", cluster->pod_json(i));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/device.h"
#include "sim/agents.h"
#include "sim/scenario.h"

namespace tessera::sim {

/// Equal cards, as one vendor's agent registers them.
struct SyntheticCards {
  AgentVendor vendor = nvidia_agent();
  std::string model = "NVIDIA-NVIDIA H100 80GB HBM3";
  std::string id_prefix = "GPU-5a1c7e90-0000-4000-8000-";
  std::int64_t count = 8, memory = 81'920, cores = 100, slots = 10;
  std::int64_t numa_nodes = 2;  ///< the first of them has the first cards, and so on
  std::int64_t group_size = 0;  ///< cards that are linked closely; 0 = the agent names none
  std::shared_ptr<const core::MigProfiles> profiles;  ///< shared by instances only
  bool linked = false;  ///< scores between cards: high within a NUMA node, low across
};

/// What a pod holds or asks for: so many cards, of each so much.
struct SyntheticShare {
  std::int64_t cards = 1, memory = 2'000, cores = 10;
  std::int64_t weight = 1;  ///< how often, relative to the other shares
};

struct SyntheticOptions {
  std::int64_t nodes = 1000, device_pods = 0, plain_pods = 0;
  std::vector<SyntheticCards> cards{SyntheticCards{}};
  /// With several kinds of cards: all of them on every node, or node n has kind n modulo their
  /// number.
  bool all_kinds_on_each = false;
  /// Device pods hold cards of the first kind; one after the other goes to the next node.
  std::vector<SyntheticShare> shares{SyntheticShare{}};
  std::uint64_t seed = 0;  ///< of which pod has which share; 0 = in turns by weight
  /// Nodes of 14.5 KB and pods of 2.4 KB, as in a real cluster: most of it nothing that a scheduler
  /// of devices looks at.
  bool real_size = false;
  std::int64_t namespaces = 0;  ///< pods are spread over so many of them; 0 = "default" has all
  std::string node_prefix = "node-";
  std::int64_t first_node = 0, node_digits = 5;
  std::string node_policy = "binpack", device_policy = "spread";
};

class SyntheticCluster {
 public:
  /// What a device pod holds.
  struct Holding {
    std::int64_t node = 0;
    std::size_t share = 0;
    std::vector<std::uint32_t> cards;  ///< places in cards_of(node)
  };
  /// Errors: an option that makes no sense, or pods that do not all find room.
  static Result<SyntheticCluster> make(SyntheticOptions options);

  const SyntheticOptions& options() const { return options_; }
  /// Vendors and policies, without nodes and pods.
  const Scenario& setting() const { return setting_; }
  const std::vector<Holding>& holdings() const { return holdings_; }

  std::string node_name(std::int64_t n) const;
  std::vector<core::Device> cards_of(std::int64_t n) const;
  ScenarioNode node(std::int64_t n) const;
  AgentNode agent_node(std::int64_t n) const;
  std::string node_json(std::int64_t n) const;

  /// Running pods. A later generation is what came after pod `i`: another name, the same place.
  ScenarioPod device_pod(std::int64_t i, std::int64_t generation = 0) const;
  std::string device_pod_json(std::int64_t i, std::int64_t generation = 0) const;
  std::string plain_pod_json(std::int64_t i, std::int64_t generation = 0) const;
  std::string device_pod_name(std::int64_t i, std::int64_t generation = 0) const;
  std::string plain_pod_name(std::int64_t i, std::int64_t generation = 0) const;
  /// The namespace of pod `i`, of either sort.
  std::string name_space(std::int64_t i) const;
  std::string pods_path(std::int64_t i) const;  ///< of the API
  /// One that asks, with that name, for a share of the first kind of cards.
  ScenarioPod asking_pod(std::string name, const SyntheticShare& share) const;
  std::string asking_pod_json(const ScenarioPod& pod) const;

  /// What the device pods hold of each card of a node; parallel to cards_of.
  std::vector<core::Usage> used_of(std::int64_t n) const;
  /// Whether so many cards of the first kind have room on that node, by plain sums.
  bool has_room(std::int64_t n, const SyntheticShare& share) const;

 private:
  explicit SyntheticCluster(SyntheticOptions options);
  Status place_pods();
  bool place_pod(std::int64_t n, std::size_t share);
  std::vector<std::size_t> kinds_of(std::int64_t n) const;
  bool card_has_room(std::int64_t n, std::size_t card, const SyntheticShare& share) const;
  std::string finished(std::string pod_object, std::int64_t i, std::int64_t serial) const;

  SyntheticOptions options_;
  Scenario setting_;
  std::size_t cards_per_node_ = 0;
  std::vector<core::Usage> used_;  ///< of the first kind's cards, node by node
  std::vector<Holding> holdings_;
};

/// The same cards without a cluster: `count` of them on node `n`.
std::vector<core::Device> synthetic_cards(const SyntheticCards& kind, std::int64_t n,
                                          VendorId vendor = {0});

}  // namespace tessera::sim
