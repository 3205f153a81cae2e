/// The two seams where preference enters a decision. Implementations live in policies/, one per
/// file; the core knows none. A key is an exact integer and larger is better. Ties: the lowest rank
/// (node name order) and the lowest device index. Source: spec/decisions.md D3, D17, D18. Thread
/// rule: stateless, shared freely.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/device.h"

namespace tessera::core {

inline constexpr std::int64_t kPartsPerMillion = 1'000'000;

/// Whose order and choice count (D1): the corrected one, or that of HAMi 2.10 to the letter.
enum class ScoreMode : std::uint8_t { kCorrected, kHami };

/// How much each term counts in the load of a card; not all zero, none negative.
struct ScoreWeights {
  std::int64_t slots = 1, cores = 1, memory = 1;
  friend bool operator==(const ScoreWeights&, const ScoreWeights&) = default;
};

/// s of D3: mean of used/total over slots, cores, memory in parts per million (each term rounded
/// down; a term whose total is 0 is left out). A device without any total scores 0.
std::int64_t load_ppm(const Device& device, const Usage& used);
/// The same with weights, renormalised over the terms that are there.
std::int64_t weighted_load_ppm(const Device& device, const Usage& used,
                               const ScoreWeights& weights);
inline std::int64_t load_ppm(const Device& device, const Usage& used, const ScoreWeights& weights) {
  if (weights == ScoreWeights{}) return load_ppm(device, used);
  return weighted_load_ppm(device, used, weights);
}

/// A key speaks of the card's own figures. Its id, index and group are not told: which of equal
/// cards is taken is decided elsewhere, and a kept verdict is shared by all cards that are equal
/// otherwise.
struct DeviceView {
  const Device& device;
  const Usage& before;  ///< without the container that is being placed
  const Usage& after;   ///< with it
  ScoreWeights weights = {};
};

class DevicePolicy {
 public:
  virtual ~DevicePolicy() = default;
  virtual std::string_view name() const = 0;
  virtual std::int64_t key(const DeviceView& view) const = 0;
};

/// The node after the whole pod was placed on it; only devices of the vendors that the pod asks
/// for.
struct NodeView {
  struct Vendor {
    std::int64_t load_sum_ppm = 0;  ///< sum of load_ppm over the vendor's devices, after placement
    std::int64_t devices = 0;
  };
  std::span<const Vendor> vendors;
  std::int64_t label_priority = 0;  ///< NodeSpec::label_priority
  /// Mean over vendors of the mean over devices, parts per million, rounded down at each step.
  std::int64_t mean_load_ppm() const;
};

class NodePolicy {
 public:
  virtual ~NodePolicy() = default;
  virtual std::string_view name() const = 0;
  virtual std::int64_t key(const NodeView& view) const = 0;
};

}  // namespace tessera::core
