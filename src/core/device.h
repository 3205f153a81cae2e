/// What a node offers and what is taken of it. Source: spec/device-model.md section 3.
/// Thread rule: plain values.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_text.h"
#include "base/units.h"

namespace tessera::core {

/// Where an instance lies on a partitioned card, in memory slices: [start, start + size).
struct MigPlacement {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  std::uint64_t end() const { return std::uint64_t{start} + size; }
  bool overlaps(const MigPlacement& o) const { return start < o.end() && o.start < end(); }
  friend auto operator<=>(const MigPlacement&, const MigPlacement&) = default;
};

/// A kind of instance that a partitioned card offers (device page with MIG, section 14.1).
struct MigProfile {
  std::string name;
  MiB memory;
  CorePercent cores;
  std::int64_t slices = 0;
  std::vector<MigPlacement> placements;  ///< legal positions; sizes are above 0
  friend bool operator==(const MigProfile&, const MigProfile&) = default;
};
using MigProfiles = std::vector<MigProfile>;

/// One physical card as its agent registered it; scaling is already applied.
struct Device {
  static constexpr std::int64_t kNoGroup = std::numeric_limits<std::int64_t>::min();
  // What every check of every decision reads stands together; texts come last.
  std::uint32_t index = 0;
  VendorId vendor;
  bool healthy = false;
  std::int64_t slots = 0;  ///< how many containers may share it
  MiB memory;
  CorePercent cores;
  /// Set exactly when the card is shared by instances only; may be empty (then nothing fits).
  std::shared_ptr<const MigProfiles> mig;
  std::int64_t numa = 0;
  /// Cards of one group are linked closely; kNoGroup = the agent named none.
  std::int64_t group = kNoGroup;
  std::string id;
  SharedText model, mode;  ///< the same few for all cards of a cluster

  bool partitioned() const { return mig != nullptr; }
  friend bool operator==(const Device&, const Device&);  ///< profiles by value
};
/// Equal in everything but id, index and group.
bool same_make(const Device& a, const Device& b);

/// Part of the card's memory in percent, rounded down.
inline MiB memory_share(const Device& device, std::int64_t percent) {
  // Split so that no card is too large for 64 bits: (100 q + r) * p / 100 = q p + r p / 100.
  const std::int64_t total = device.memory.v;
  return {total / 100 * percent + total % 100 * percent / 100};
}

/// Taken of one device.
struct Usage {
  std::int64_t slots = 0;
  MiB memory;
  CorePercent cores;
  std::int64_t slices = 0;  ///< of instances; they stand for memory in the load of a card (D3)
  friend bool operator==(const Usage&, const Usage&) = default;
  Usage& operator+=(const Usage& o) {
    slots += o.slots;
    memory += o.memory;
    cores += o.cores;
    slices += o.slices;
    return *this;
  }
  Usage& operator-=(const Usage& o) {
    slots -= o.slots;
    memory -= o.memory;
    cores -= o.cores;
    slices -= o.slices;
    return *this;
  }
};

/// Element-wise maximum: the figures may come from different containers.
Usage larger(const Usage& a, const Usage& b);
/// Index of the device in the list, or devices.size().
std::size_t find_device(const std::vector<Device>& devices, VendorId vendor, std::string_view id);

class VendorHooks;

/// Which shared checks of fit apply to a vendor's devices. A row per vendor, indexed by VendorId;
/// no names here.
struct VendorRules {
  bool slots_count = true;    ///< a card with all slots taken is full
  bool cores_count = true;    ///< free cores must suffice
  bool honours_mutex = true;  ///< the policy "mutex" closes cards that somebody uses
  /// A card's cores are at least this in the accounts: some agents register units that are no
  /// percent, while shares are granted in percent.
  CorePercent least_core_capacity;
  bool whole_card_is_exclusive = true;  ///< 100 of 100 cores needs an unused card (fit rule 13)
  bool full_cores_close_card =
      true;  ///< a card with no cores left takes nobody, not even 0 cores (fit rule 14)
  const VendorHooks* hooks = nullptr;  ///< what data cannot say; null = nothing
  /// Type word of the vendor's requests. HAMi's scores count a request only on cards whose model is
  /// this very text.
  std::string word;
};
using VendorTable = std::vector<VendorRules>;

/// Memory slices that the profiles of a partitioned card reach; 0 for any other card.
std::int64_t mig_slices(const Device& device);
/// True when one of the card's profiles may lie there. An empty profile name asks any profile.
bool legal_placement(const Device& device, std::string_view profile, const MigPlacement& placement);

/// True when used fits into the device's slots, memory and cores, as far as the vendor counts them.
/// On a partitioned card the places of the instances decide, not the sums of their rounded figures
/// (N-10): only slots are compared.
bool within(const Device& device, const Usage& used, const VendorRules& rules = {});

}  // namespace tessera::core
