/// Annotations and labels that the scheduler itself writes or reads, whatever the devices are.
/// Source: spec/scheduler.md sections 3.2, 3.3.
#pragma once

#include <string_view>

namespace tessera::service {

inline constexpr std::string_view kNodeLockKey = "hami.io/mutex.lock";
inline constexpr std::string_view kAssignedNodeKey = "hami.io/vgpu-node";  ///< annotation and label
inline constexpr std::string_view kAssignedTimeKey = "hami.io/vgpu-time";
inline constexpr std::string_view kBindPhaseKey = "hami.io/bind-phase";
inline constexpr std::string_view kBindTimeKey = "hami.io/bind-time";
inline constexpr std::string_view kPhaseAllocating = "allocating";

}  // namespace tessera::service
