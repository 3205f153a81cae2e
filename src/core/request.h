/// What a pod asks for, once limits and annotations are read. Source: spec/device-model.md
/// sections 3.5, 7, 13.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/policy.h"
#include "core/quota.h"

namespace tessera::core {

/// Position = container index with init containers counted first.
enum class PositionKind : std::uint8_t { kInit, kSidecar, kApp };

struct DeviceAsk {
  static constexpr std::int64_t kNoPercent = 101;
  VendorId vendor;
  std::int64_t count = 0;  ///< distinct cards
  MiB memory;              ///< per card; 0 = not given in MiB
  std::int64_t memory_percent =
      kNoPercent;     ///< of each card's memory, 1..100; used when memory is 0
  CorePercent cores;  ///< per card; above 100 counts as 100
  friend bool operator==(const DeviceAsk&, const DeviceAsk&) = default;
};

struct Position {
  PositionKind kind = PositionKind::kApp;
  std::vector<DeviceAsk> asks;  ///< empty: the container uses no device
};

/// Per vendor, from the pod's annotations. Empty lists and nullopt = no constraint; entries are
/// trimmed and non-empty.
struct Constraints {
  VendorId vendor;
  std::vector<std::string> use_models,
      nouse_models;  ///< upper-case; match = substring of the upper-cased model
  std::vector<std::string> use_ids, nouse_ids;  ///< exact
  std::optional<std::string> modes;             ///< the card's mode must be a substring of it
  bool numa_bind = false;                       ///< all cards of one container from one NUMA node
  /// Bits that only the vendor's own hooks understand (what the pod wants of the node's agent).
  std::uint64_t traits = 0;
  CorePercent core_total;  ///< counts as the cores of every card; 0 = as registered
};

/// Raw policy words, for ScoreMode::kHami, where unknown words and blanks have a meaning
/// (spec/scheduler.md section 10.4, 10.6).
struct HamiPolicies {
  std::string device, node;
};

struct Request {
  PodUid uid;
  std::string pod_namespace, pod_name;
  std::vector<Position> positions;
  std::vector<Constraints> constraints;
  const NodePolicy* node_policy = nullptr;  ///< never null when given to place()
  /// What decides before everything else, and what decides when all else is equal; null = nothing.
  const NodePolicy* node_policy_before = nullptr;
  const NodePolicy* node_policy_after = nullptr;
  std::vector<const DevicePolicy*>
      device_policies;  ///< chain, most important first; never empty when given to place()
  ScoreWeights weights;
  bool mutex = false;     ///< only cards that nobody uses (policy word "mutex")
  bool topology = false;  ///< the set of cards with the best links (policy word "topology-aware")
  ScoreMode mode = ScoreMode::kCorrected;
  HamiPolicies hami;  ///< read in ScoreMode::kHami only
  QuotaSubject subject;

  /// Constraints::traits for this vendor, 0 without constraints.
  std::uint64_t traits_of(VendorId vendor) const {
    for (const Constraints& c : constraints)
      if (c.vendor == vendor) return c.traits;
    return 0;
  }

  bool asks_devices() const {
    for (const Position& p : positions)
      if (!p.asks.empty()) return true;
    return false;
  }
};

}  // namespace tessera::core
