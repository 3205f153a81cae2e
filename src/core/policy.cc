#include "core/policy.h"

namespace tessera::core {
namespace {

__extension__ using Wide = __int128;

/// used / total in parts per million, rounded down. Beyond this bound the product would not fit
/// into 64 bits.
std::int64_t share_ppm(std::int64_t used, std::int64_t total) {
  constexpr std::int64_t kBound = INT64_MAX / kPartsPerMillion;
  if (used >= -kBound && used <= kBound) return used * kPartsPerMillion / total;
  return static_cast<std::int64_t>(static_cast<Wide>(used) * kPartsPerMillion / total);
}

/// What stands for memory in the load of a card: the slices of instances where it is partitioned.
struct MemoryTerm {
  std::int64_t used = 0, total = 0;
};
MemoryTerm memory_term(const Device& device, const Usage& used) {
  if (!device.partitioned()) return {used.memory.v, device.memory.v};
  return {used.slices, mig_slices(device)};
}

}  // namespace

std::int64_t load_ppm(const Device& device, const Usage& used) {
  std::int64_t sum = 0;
  std::int64_t terms = 0;
  const auto add = [&](std::int64_t taken, std::int64_t total) {
    if (total <= 0) return;
    sum += share_ppm(taken, total);
    ++terms;
  };
  add(used.slots, device.slots);
  add(used.cores.v, device.cores.v);
  const MemoryTerm memory = memory_term(device, used);
  add(memory.used, memory.total);
  return terms == 0 ? 0 : sum / terms;
}

std::int64_t weighted_load_ppm(const Device& device, const Usage& used,
                               const ScoreWeights& weights) {
  Wide sum = 0;
  Wide total_weight = 0;
  const auto add = [&](std::int64_t weight, std::int64_t taken, std::int64_t total) {
    if (total <= 0) return;
    sum += static_cast<Wide>(weight) * share_ppm(taken, total);
    total_weight += weight;
  };
  add(weights.slots, used.slots, device.slots);
  add(weights.cores, used.cores.v, device.cores.v);
  const MemoryTerm memory = memory_term(device, used);
  add(weights.memory, memory.used, memory.total);
  return total_weight == 0 ? 0 : static_cast<std::int64_t>(sum / total_weight);
}

std::int64_t NodeView::mean_load_ppm() const {
  std::int64_t sum = 0;
  std::int64_t counted = 0;
  for (const Vendor& vendor : vendors) {
    if (vendor.devices == 0) continue;
    sum += vendor.load_sum_ppm / vendor.devices;
    ++counted;
  }
  return counted == 0 ? 0 : sum / counted;
}

}  // namespace tessera::core
