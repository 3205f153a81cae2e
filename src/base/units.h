/// Quantities with their unit in the type, and strong ids. Nothing converts by itself; accounting
/// is 64-bit integer only.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace tessera {

/// Device memory in MiB (1024 * 1024 bytes).
struct MiB {
  std::int64_t v = 0;
  friend constexpr auto operator<=>(MiB, MiB) = default;
  friend constexpr MiB operator+(MiB a, MiB b) { return {a.v + b.v}; }
  friend constexpr MiB operator-(MiB a, MiB b) { return {a.v - b.v}; }
  constexpr MiB& operator+=(MiB o) {
    v += o.v;
    return *this;
  }
  constexpr MiB& operator-=(MiB o) {
    v -= o.v;
    return *this;
  }
};

/// Compute of one device in percent of a card: a whole card is 100 (more when the agent scales
/// cores).
struct CorePercent {
  std::int64_t v = 0;
  friend constexpr auto operator<=>(CorePercent, CorePercent) = default;
  friend constexpr CorePercent operator+(CorePercent a, CorePercent b) { return {a.v + b.v}; }
  friend constexpr CorePercent operator-(CorePercent a, CorePercent b) { return {a.v - b.v}; }
  constexpr CorePercent& operator+=(CorePercent o) {
    v += o.v;
    return *this;
  }
  constexpr CorePercent& operator-=(CorePercent o) {
    v -= o.v;
    return *this;
  }
};

/// Dense number of a node in the cluster state; never re-used for another name while the process
/// lives.
struct NodeId {
  std::uint32_t v = UINT32_MAX;
  friend constexpr auto operator<=>(NodeId, NodeId) = default;
  constexpr bool valid() const { return v != UINT32_MAX; }
};

/// Row of a vendor in the table that the edge hands to the core. The core never sees a vendor's
/// name.
struct VendorId {
  std::uint16_t v = UINT16_MAX;
  friend constexpr auto operator<=>(VendorId, VendorId) = default;
};

/// metadata.uid of a pod: the only key of everything that belongs to a pod.
struct PodUid {
  std::string v;
  friend auto operator<=>(const PodUid&, const PodUid&) = default;
};

}  // namespace tessera

template <>
struct std::hash<tessera::PodUid> {
  std::size_t operator()(const tessera::PodUid& uid) const noexcept {
    return std::hash<std::string>{}(uid.v);
  }
};
