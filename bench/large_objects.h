/// Nodes and pods as large as those of a real cluster: a node of 14.5 KB, a pod of 2.4 KB, most of
/// it nothing that a scheduler of devices looks at. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::bench {

inline constexpr std::int64_t kLargeCards = 8, kLargeCardMemory = 81'920;
/// What a device pod holds of its card.
inline constexpr std::int64_t kHeldMemory = 2'000, kHeldCores = 10;

std::string large_node_name(std::int64_t n);
std::string large_namespace(std::int64_t n);

std::string large_node(std::int64_t n);
/// It runs on its node, with a share of one card there.
std::string large_device_pod(std::int64_t serial, std::int64_t node, std::int64_t card);
std::string large_plain_pod(std::int64_t serial, std::int64_t node);
/// {"status":…} of a heartbeat.
std::string node_heartbeat(std::int64_t beat);

}  // namespace tessera::bench
